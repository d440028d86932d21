/** Which hosts set-up may reach unless the operator says otherwise: the public registries of each stack, each with its reason. */

interface Registry {
  readonly host: string;
  /** What a package manager fetches there. */
  readonly because: string;
}

export const REGISTRIES: Readonly<Record<string, readonly Registry[]>> = {
  javascript: [
    { host: "registry.npmjs.org", because: "npm, pnpm, bun and Yarn 2+: packages and their index" },
    { host: "registry.yarnpkg.com", because: "Yarn: the addresses that its lock files carry" },
  ],
  python: [
    { host: "pypi.org", because: "pip, uv and Poetry: the index" },
    { host: "files.pythonhosted.org", because: "pip, uv and Poetry: the packages" },
  ],
  rust: [
    { host: "index.crates.io", because: "Cargo: the sparse index" },
    { host: "static.crates.io", because: "Cargo: the crates" },
    { host: "crates.io", because: "Cargo before 1.70: its download address" },
  ],
  go: [
    { host: "proxy.golang.org", because: "Go: modules" },
    { host: "sum.golang.org", because: "Go: the checksums that modules are held against" },
  ],
  java: [
    { host: "repo.maven.apache.org", because: "Maven and Gradle: Maven Central" },
    { host: "repo1.maven.org", because: "Maven Central under its other name" },
    { host: "plugins.gradle.org", because: "Gradle: the plugin portal" },
    { host: "plugins-artifacts.gradle.org", because: "Gradle: where the portal sends for plugins" },
    { host: "services.gradle.org", because: "the Gradle wrapper: distributions" },
    { host: "downloads.gradle.org", because: "the Gradle wrapper: where distributions are sent from" },
  ],
  ruby: [
    { host: "rubygems.org", because: "Bundler: gems" },
    { host: "index.rubygems.org", because: "Bundler: the compact index" },
  ],
  php: [
    { host: "packagist.org", because: "Composer: its address in lock files" },
    { host: "repo.packagist.org", because: "Composer: the index" },
    { host: "api.github.com", because: "Composer: archives of packages, which Packagist only names" },
    { host: "codeload.github.com", because: "Composer: where GitHub sends for these archives" },
  ],
  dotnet: [{ host: "api.nuget.org", because: "NuGet: packages and their index" }],
};

/** The word that closes the built-in list. */
const NONE = "none";

/** The word for the built-in list alone: what an unset NETWORK_ALLOW means. */
const BUILT_IN = "registries";

/** The operator's NETWORK_ALLOW read: names are added to the built-in list; after `none` they stand alone, and nothing at all means no network. */
export function allowedRegistries(networkAllow: readonly string[]): readonly string[] {
  const named = networkAllow.filter((host) => host !== NONE && host !== BUILT_IN);
  if (networkAllow.length === 0 || networkAllow.includes(NONE)) return named;
  const builtIn = Object.values(REGISTRIES).flatMap((list) => list.map(({ host }) => host));
  return [...new Set([...builtIn, ...named])];
}
