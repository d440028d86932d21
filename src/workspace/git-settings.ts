/** The whole environment and configuration that git runs with, built purely, so that every call gets the same safe set. */

/** Names that may come from the host: where git is, and what a proxy or a private certificate authority in front of a GitHub server needs. */
const FROM_HOST = [
  "PATH",
  "http_proxy",
  "https_proxy",
  "HTTPS_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "no_proxy",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "GIT_SSL_CAPATH",
] as const;

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Objects of real, old repositories that break these rules are harmless to us: old mailers and importers wrote them, and
 * `.gitmodules` is never acted upon (FAULTS E11: a hostile one must not stop the clone of the repository it is in).
 */
const TOLERATED_OBJECT_FAULTS = [
  "zeroPaddedFilemode",
  "badTimezone",
  "missingSpaceBeforeDate",
  "missingSpaceBeforeEmail",
  "missingNameBeforeEmail",
  "missingEmail",
  "badEmail",
  "badName",
  "gitmodulesUrl",
  "gitmodulesPath",
  "gitmodulesName",
  "gitmodulesUpdate",
  "gitmodulesParse",
  "gitmodulesBlob",
] as const;

/** Nothing that a configuration could run is left on, no conversion changes a byte, and nothing is cleaned up behind our back. */
const SAFE_CONFIG: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.askPass", ""],
  ["core.pager", "cat"],
  ["core.autocrlf", "false"],
  ["core.safecrlf", "false"],
  ["core.symlinks", "true"],
  ["core.fileMode", "true"],
  ["core.ignoreCase", "false"],
  ["core.precomposeUnicode", "false"],
  ["core.protectHFS", "true"],
  ["core.protectNTFS", "true"],
  ["core.quotePath", "false"],
  ["credential.helper", ""],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["fetch.unpackLimit", "1"],
  ["fetch.writeCommitGraph", "false"],
  ["transfer.fsckObjects", "true"],
  ...TOLERATED_OBJECT_FAULTS.map((id) => [`fetch.fsck.${id}`, "ignore"] as const),
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["init.defaultBranch", "main"],
  ["advice.detachedHead", "false"],
  // A redirect would carry the token's header to wherever it points.
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "1000"],
  ["http.lowSpeedTime", "60"],
  ["diff.renames", "false"],
  ["diff.noprefix", "false"],
  ["diff.mnemonicPrefix", "false"],
  ["filter.lfs.smudge", ""],
  ["filter.lfs.clean", ""],
  ["filter.lfs.process", ""],
  ["filter.lfs.required", "false"],
];

/** What one call needs beyond the safe set. */
export interface GitScope {
  readonly gitDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Transports this call may use; none when left out. */
  readonly protocol?: "https" | "http" | "file";
  /** Further configuration, e.g. the token's header; never visible in a process list. */
  readonly config?: readonly (readonly [string, string])[];
}

/** Configuration as `GIT_CONFIG_COUNT` variables: an argument would be readable in every process list. */
function configVariables(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(pairs.length) };
  pairs.forEach(([key, value], index) => {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return variables;
}

/** The part of the safe set that holds wherever git runs, on the host or in a sandbox. */
export function safeVariables(scope: GitScope): Record<string, string> {
  return {
    ...configVariables([...SAFE_CONFIG, ...(scope.config ?? [])]),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_ALLOW_PROTOCOL: scope.protocol ?? "none",
    LC_ALL: "C",
    TZ: "UTC",
    ...(scope.gitDir === undefined ? {} : { GIT_DIR: scope.gitDir }),
    ...(scope.workTree === undefined ? {} : { GIT_WORK_TREE: scope.workTree }),
    ...(scope.indexFile === undefined ? {} : { GIT_INDEX_FILE: scope.indexFile }),
  };
}

/** The complete environment of one host git process. `host` may be the whole environment of the app: only `FROM_HOST` is taken. */
export function hostEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  home: string,
  scope: GitScope,
): Record<string, string> {
  const taken: Record<string, string> = { PATH: DEFAULT_PATH };
  for (const name of FROM_HOST) {
    const value = host[name];
    if (value !== undefined && value !== "") taken[name] = value;
  }
  // What Node is told to trust besides the known authorities, git is told too, unless it was told something of its own.
  const extra = host.NODE_EXTRA_CA_CERTS ?? "";
  if (extra !== "" && taken.GIT_SSL_CAINFO === undefined) taken.GIT_SSL_CAINFO = extra;
  return { ...taken, HOME: home, ...safeVariables(scope) };
}

/** The configuration pair that sends a token to one origin and to no other. */
export function tokenHeader(url: string, token: string): readonly [string, string] {
  const basic = Buffer.from(`x-access-token:${token}`, "utf8").toString("base64");
  return [`http.${new URL(url).origin}/.extraHeader`, `Authorization: Basic ${basic}`];
}
