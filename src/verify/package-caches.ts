/** Where set-up keeps what package managers fetch: in the workspace, since that alone travels from set-up to the copies that tests run in. */

/** A path that no tree takes: what set-up leaves is noise. */
export const CACHES = "/workspace/.agent-fix";

const DIRECTORIES = {
  CARGO_HOME: "cargo",
  GOMODCACHE: "go",
  MAVEN_USER_HOME: "maven",
  GRADLE_USER_HOME: "gradle",
  BUNDLE_PATH: "gems",
  NUGET_PACKAGES: "nuget",
  MIX_HOME: "mix",
  HEX_HOME: "hex",
  DENO_DIR: "deno",
} as const;

export type Cache = keyof typeof DIRECTORIES;

/** A set-up command that fills these caches. */
export function filling(caches: readonly Cache[], command: string): string {
  const settings = caches.map((name) => `${name}=${CACHES}/${DIRECTORIES[name]}`);
  return `export ${settings.join(" ")} && ${command}`;
}

/** Shell text before a test command: the caches that are there are used, and nothing is asked of a network that is not there. */
export function usingCaches(): string {
  const settings = Object.entries(DIRECTORIES).map(
    ([name, folder]) => `if [ -d ${CACHES}/${folder} ]; then export ${name}=${CACHES}/${folder}; fi`,
  );
  return [
    `if [ -d ${CACHES} ]; then`,
    ...settings,
    "export CARGO_NET_OFFLINE=true GOPROXY=off GOFLAGS=-modcacherw BUNDLE_FROZEN=true",
    `if [ -d ${CACHES}/perl ]; then export PERL5LIB="${CACHES}/perl/lib/perl5\${PERL5LIB:+:$PERL5LIB}"; fi`,
    "fi",
  ].join("\n");
}
