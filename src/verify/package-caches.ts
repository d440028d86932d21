/** Where set-up keeps what the less common package managers fetch: in the workspace, which travels from set-up to the copies that tests run in. */

/** A path that no tree takes: what set-up leaves is noise. */
export const CACHES = "/workspace/.agent-fix";

/** Managers whose place is not already set for every session of a run. */
const DIRECTORIES = {
  MAVEN_USER_HOME: "maven",
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

/** Shell text before a test command: the caches that are there are used. */
export function usingCaches(): string {
  const settings = Object.entries(DIRECTORIES).map(
    ([name, folder]) => `if [ -d ${CACHES}/${folder} ]; then export ${name}=${CACHES}/${folder}; fi`,
  );
  return [
    `if [ -d ${CACHES} ]; then`,
    ...settings,
    `if [ -d ${CACHES}/perl ]; then export PERL5LIB="${CACHES}/perl/lib/perl5\${PERL5LIB:+:$PERL5LIB}"; fi`,
    "fi",
    // Gradle's wrapper locks the distribution it starts, which a read-only cache does not let it.
    "if [ -d /cache/gradle/wrapper ] && [ ! -e ~/.gradle/wrapper ]; then mkdir -p ~/.gradle && cp -r /cache/gradle/wrapper ~/.gradle/; fi",
  ].join("\n");
}
