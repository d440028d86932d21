/** Finds which package registries and certificates the host itself uses, so that set-up can use them too; credentials stay behind. */

import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { INSIDE, isReserved, isWithin } from "#src/sandbox/policy.ts";
import { isErrno } from "#src/sandbox/processes.ts";
import type { Mount } from "#src/sandbox/sandbox.ts";

export interface RegistrySettings {
  /** For sessions with a network. */
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** Hosts as the allow-list writes them, with a port where they are not on the usual one. */
  readonly hosts: readonly string[];
  /** What was left behind and why. */
  readonly notes: readonly string[];
}

export const NO_REGISTRY_SETTINGS: RegistrySettings = { env: {}, mounts: [], hosts: [], notes: [] };

type Env = Readonly<Record<string, string | undefined>>;

/** Variables that name a bundle of certificates, most specific first. */
const CA_VARIABLES = [
  "NODE_EXTRA_CA_CERTS",
  "PIP_CERT",
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
];
/** The clients' own names for such a bundle inside. */
const CA_INSIDE = [...CA_VARIABLES, "npm_config_cafile", "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO"];

/** `env` is the app's environment as the configuration read it; `homeDir` the operator's home. Unreadable files count as absent. */
export async function hostRegistrySettings(env: Env, homeDir: string): Promise<RegistrySettings> {
  const npmrc = parseIni(await textOf(join(homeDir, ".npmrc")));
  const pip = {
    ...parseIni(await textOf("/etc/pip.conf")),
    ...parseIni(await textOf(join(homeDir, ".pip/pip.conf"))),
    ...parseIni(await textOf(join(homeDir, ".config/pip/pip.conf"))),
  };
  const bundle = CA_VARIABLES.map((name) => env[name]).find(Boolean) ?? npmrc.cafile ?? pip.cert ?? null;
  const withCa = bundle === null ? NO_REGISTRY_SETTINGS : await certificates(bundle);
  return collect(
    [
      ["npm_config_registry", env.npm_config_registry ?? env.NPM_CONFIG_REGISTRY ?? npmrc.registry],
      ["PIP_INDEX_URL", env.PIP_INDEX_URL ?? pip["index-url"]],
      ["UV_DEFAULT_INDEX", env.UV_DEFAULT_INDEX ?? env.PIP_INDEX_URL ?? pip["index-url"]],
      ["PIP_EXTRA_INDEX_URL", env.PIP_EXTRA_INDEX_URL ?? pip["extra-index-url"]],
      ["PIP_FIND_LINKS", env.PIP_FIND_LINKS || pip["find-links"]],
      ["GOPROXY", env.GOPROXY],
    ],
    withCa,
    homeDir,
  );
}

function collect(
  settings: readonly (readonly [string, string | undefined])[],
  start: RegistrySettings,
  homeDir: string,
): RegistrySettings {
  const env: Record<string, string> = { ...start.env };
  const mounts = [...start.mounts];
  const hosts = new Set(start.hosts);
  const notes = [...start.notes];
  for (const [name, value] of settings) {
    const kept = (value ?? "")
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(withoutCredentials);
    if (kept.length === 0) continue;
    env[name] = kept.map((entry) => entry.text).join(name === "GOPROXY" ? "," : " ");
    for (const entry of kept) {
      if (entry.host !== null) hosts.add(entry.host);
      const directory = localDirectory(entry.text, homeDir);
      if (directory === null || mounts.some((mount) => mount.target === directory)) continue;
      mounts.push({ source: directory, target: directory, mode: "ro" });
    }
    if (kept.some((entry) => entry.hadCredentials)) {
      notes.push(
        `${name} has credentials, which commands do not get: packages behind a login cannot be installed`,
      );
    }
  }
  return { env, mounts, hosts: [...hosts], notes };
}

function withoutCredentials(text: string) {
  if (!URL.canParse(text) || !/^https?:/.test(text)) return { text, host: null, hadCredentials: false };
  const url = new URL(text);
  const hadCredentials = url.username !== "" || url.password !== "";
  url.username = "";
  url.password = "";
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return { text: url.href, host: `${url.hostname}:${port}`, hadCredentials };
}

/** A directory that stands in for a registry, with the files a `simple` index links to beside it; never one around or in a home. */
function localDirectory(text: string, homeDir: string): string | null {
  const path = text.startsWith("file:///") && URL.canParse(text) ? fileURLToPath(text) : text;
  const directory = path.replace(/\/simple\/?$/, "").replace(/\/$/, "");
  if (!/^\/[^/]+\/[^/]+/.test(directory) || normalize(directory) !== directory) return null;
  return isWithin(directory, homeDir) || isWithin(homeDir, directory) || isReserved(directory)
    ? null
    : directory;
}

async function certificates(path: string): Promise<RegistrySettings> {
  if ((await textOf(path)) === "") {
    return {
      ...NO_REGISTRY_SETTINGS,
      notes: ["the file of certificates named by the environment cannot be read"],
    };
  }
  return {
    ...NO_REGISTRY_SETTINGS,
    env: Object.fromEntries(CA_INSIDE.map((name) => [name, INSIDE.caBundle])),
    mounts: [{ source: path, target: INSIDE.caBundle, mode: "ro" }],
  };
}

/** The `name = value` lines of an ini file, sections ignored; later ones win. Names with tokens or passwords are never kept. */
export function parseIni(text: string): Record<string, string> {
  const entries = text.split("\n").flatMap((line): [string, string][] => {
    const match = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line);
    const name = match?.[1] ?? "";
    return match === null || /auth|token|password|secret/i.test(name) ? [] : [[name, match[2] ?? ""]];
  });
  return Object.fromEntries(entries);
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "EISDIR")) return "";
    throw error;
  }
}
