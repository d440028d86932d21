/** The sandbox policy as data: fixed places inside, the base environment, visible parts of /etc, sizes. */

import { normalize } from "node:path";
import type { SessionSpec } from "#src/sandbox/sandbox.ts";

/** Where things are inside the sandbox. */
export const INSIDE = {
  workspace: "/workspace",
  home: "/home/agent",
  tmp: "/tmp",
  user: "agent",
  uid: 1000,
  gid: 1000,
  hostname: "sandbox",
  /** Socket of the proxy outside; only in sessions that have a network. */
  proxySocket: "/run/agent-fix/proxy.sock",
  /** Loopback port at which programs find that proxy. */
  proxyPort: 3128,
  /** Certificates named by the host's registry settings. */
  caBundle: "/run/agent-fix/ca.pem",
  /** The app's own Node, shown when the host has no other. */
  nodeDirectory: "/opt/node",
  /** Programs the app brings along (ripgrep). */
  toolDirectory: "/opt/agent-fix/bin",
} as const;

/** Targets that a caller may not mount on or below: the sandbox's own, and places whose content hostile code controls. */
export const RESERVED_TARGETS = [
  INSIDE.workspace,
  "/home",
  "/tmp",
  "/proc",
  "/dev",
  "/usr",
  "/etc",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/run",
  "/var",
  "/opt/node",
  "/opt/agent-fix",
] as const;

/** True for a path that is the root or lies below it. */
export function isWithin(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`);
}

export function isReserved(target: string): boolean {
  return RESERVED_TARGETS.some((place) => isWithin(target, place));
}

/**
 * The whole environment of a command, before what the session adds. No terminal, pager, editor or prompt can wait for
 * a person, and `CI` is `true` as text (test runners leave their watch modes by it).
 */
export const BASE_ENV: Readonly<Record<string, string>> = {
  LANG: "C.UTF-8",
  TERM: "dumb",
  CI: "true",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  EDITOR: "true",
  VISUAL: "true",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  GCM_INTERACTIVE: "never",
  DEBIAN_FRONTEND: "noninteractive",
  npm_config_yes: "true",
  npm_config_update_notifier: "false",
  npm_config_fund: "false",
  npm_config_audit: "false",
  PIP_NO_INPUT: "1",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  PYTHONDONTWRITEBYTECODE: "1",
  RUSTUP_AUTO_INSTALL: "0",
  GOTOOLCHAIN: "local",
};

/** Entries of the host's /etc that programs need and that hold nothing private (each costs every command a mount); a trailing `*` stands for any ending. */
export const ETC_VISIBLE: readonly string[] = [
  "ld.so.cache",
  "alternatives",
  "ssl/certs",
  "ssl/openssl.cnf",
  "pki/tls/certs",
  "pki/ca-trust",
  "crypto-policies",
  "localtime",
  "mime.types",
  "services",
  "protocols",
  "os-release",
  "fonts",
  "java-*",
  "maven",
  "php",
];

/** Stand-ins for files of /etc that name the host's users or network. There is no resolv.conf: names are not resolved inside. */
export const ETC_STUBS: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\n${INSIDE.user}:x:${INSIDE.uid}:${INSIDE.gid}:agent:${INSIDE.home}:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
  group: `root:x:0:\n${INSIDE.user}:x:${INSIDE.gid}:\nnogroup:x:65534:\n`,
  hosts: `127.0.0.1 localhost ${INSIDE.hostname}\n::1 localhost ip6-localhost ip6-loopback\n`,
  "nsswitch.conf":
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n",
  hostname: `${INSIDE.hostname}\n`,
};

/** Bytes of /dev/shm: counts as memory, so it is small and fixed. */
export const SHARED_MEMORY_BYTES = 256 * 1024 * 1024;

/** The unprivileged user that commands run as when the app is root. Outside the range distributions give to people and services. */
export const DEFAULT_UID = 61_000;

/**
 * Environment of a session with a network: every client is pointed at the forwarder on loopback in its own way. curl, pip, uv,
 * Poetry, Go, Bundler and Composer read the common variables; npm, pnpm and both Yarns have their own, Cargo has one, and
 * a Java machine knows only its properties.
 */
export function proxyEnv(loopbackIsListed: boolean): Record<string, string> {
  const proxy = `http://127.0.0.1:${INSIDE.proxyPort}`;
  const direct = loopbackIsListed ? "" : "localhost,127.0.0.1,::1";
  const java = ["http", "https"].flatMap((scheme) => [
    `-D${scheme}.proxyHost=127.0.0.1`,
    `-D${scheme}.proxyPort=${INSIDE.proxyPort}`,
  ]);
  // Java's own default keeps loopback off the proxy; an empty list sends everything there.
  const javaDirect = loopbackIsListed ? ["-Dhttp.nonProxyHosts="] : [];
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    no_proxy: direct,
    NO_PROXY: direct,
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: direct,
    pnpm_config_proxy: proxy,
    pnpm_config_https_proxy: proxy,
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
    CARGO_HTTP_PROXY: proxy,
    JAVA_TOOL_OPTIONS: [...java, ...javaDirect].join(" "),
  };
}

const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Why no backend opens such a session; null: nothing speaks against it. */
export function specRefusal(spec: SessionSpec): string | null {
  if (!SAFE_NAME.test(spec.runId))
    return `the run id ${JSON.stringify(spec.runId)} cannot be a directory's name`;
  for (const { target } of spec.mounts) {
    if (!target.startsWith("/") || target === "/" || normalize(target) !== target || isReserved(target)) {
      return `nothing may be mounted at ${target}: choose a directory of its own at the top, such as /reports`;
    }
  }
  return null;
}
