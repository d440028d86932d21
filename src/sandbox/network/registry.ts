/** Finds which package registries and certificates the host itself uses, so that set-up can use them too; credentials stay behind. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { isErrno } from "#src/sandbox/command/processes.ts";
import {
  bundlerMirror,
  cargoConfig,
  cargoMirror,
  composerConfig,
  composerRepositories,
  mavenMirrors,
  mavenSettings,
  parseIni,
  scopedRegistries,
} from "#src/sandbox/network/host-clients.ts";
import { INSIDE, isReserved, isWithin } from "#src/sandbox/policy.ts";
import type { Mount, SessionSpec } from "#src/sandbox/sandbox.ts";

export interface RegistrySettings {
  /** For sessions with a network. */
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  /** Those of the mounts that later sessions need too: what was fetched from a mirror is only found under the mirror's name. */
  readonly lasting: readonly Mount[];
  /** Hosts as the allow-list writes them, with a port where they are not on the usual one. */
  readonly hosts: readonly string[];
  /** What was left behind and why. */
  readonly notes: readonly string[];
}

export const NO_REGISTRY_SETTINGS: RegistrySettings = {
  ...{ env: {}, mounts: [], lasting: [], hosts: [], notes: [] },
};

/** What a session gets of the settings: all with a network, the lasting files without one, and nothing for git. */
export function settingsFor(
  settings: RegistrySettings | undefined,
  spec: Pick<SessionSpec, "phase" | "network">,
): RegistrySettings {
  if (settings === undefined || spec.phase === "git") return NO_REGISTRY_SETTINGS;
  if (spec.network.kind === "allow") return settings;
  return { ...NO_REGISTRY_SETTINGS, mounts: settings.lasting };
}

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
const CA_INSIDE = [
  ...CA_VARIABLES,
  ...["npm_config_cafile", "YARN_HTTPS_CA_FILE_PATH", "CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO"],
  ...["BUNDLE_SSL_CA_CERT", "COMPOSER_CAFILE"],
];

/**
 * `env` is the app's environment as the configuration read it; `homeDir` the operator's home. Unreadable files count as absent.
 * What a client only takes from a file is written anew, without credentials, below `directory`; without one it is left out.
 */
export async function hostRegistrySettings(
  env: Env,
  homeDir: string,
  directory: string | null = null,
): Promise<RegistrySettings> {
  const home = (path: string) => textOf(join(homeDir, path));
  const npmrc = { ...parseIni(await textOf("/etc/npmrc")), ...parseIni(await home(".npmrc")) };
  const pip = {
    ...parseIni(await textOf("/etc/pip.conf")),
    ...parseIni(await home(".pip/pip.conf")),
    ...parseIni(await home(".config/pip/pip.conf")),
  };
  const go = parseIni(await home(".config/go/env"));
  const bundle = CA_VARIABLES.map((name) => env[name]).find(Boolean) ?? npmrc.cafile ?? pip.cert ?? null;
  const withCa = bundle === null ? NO_REGISTRY_SETTINGS : await certificates(bundle);
  const npm = env.npm_config_registry ?? env.NPM_CONFIG_REGISTRY ?? npmrc.registry;
  const yarn = env.YARN_NPM_REGISTRY_SERVER ?? npm;
  const plain = collect(
    [
      ["npm_config_registry", npm],
      ["YARN_NPM_REGISTRY_SERVER", yarn?.replace(/\/$/, "")],
      ...scopedRegistries(npmrc),
      ["PIP_INDEX_URL", env.PIP_INDEX_URL ?? pip["index-url"]],
      ["UV_DEFAULT_INDEX", env.UV_DEFAULT_INDEX ?? env.PIP_INDEX_URL ?? pip["index-url"]],
      ["PIP_EXTRA_INDEX_URL", env.PIP_EXTRA_INDEX_URL ?? pip["extra-index-url"]],
      ["PIP_FIND_LINKS", env.PIP_FIND_LINKS || pip["find-links"]],
      ["GOPROXY", (env.GOPROXY ?? go.GOPROXY)?.replace(GO_LOOPBACK, "$1localhost.")],
      ["GOSUMDB", env.GOSUMDB ?? go.GOSUMDB],
      ["GONOSUMDB", env.GONOSUMDB ?? go.GONOSUMDB],
    ],
    withCa,
    homeDir,
  );
  const cargo = cargoMirror(await home(".cargo/config.toml")) ?? cargoMirror(await home(".cargo/config"));
  const composer = await home(".config/composer/config.json");
  return withFiles(plain, directory, {
    cargo,
    maven: mavenMirrors(await home(".m2/settings.xml")),
    composer: composerRepositories(composer === "" ? await home(".composer/config.json") : composer),
    bundler: env[GEM_MIRROR] ?? bundlerMirror(await home(".bundle/config"), GEM_MIRROR),
  });
}

/** Go never asks a proxy for a loopback address, and knows one by its spelling. */
const GO_LOOPBACK = /(\/\/(?:[^/@,|]*@)?)(?:localhost|127\.[\d.]+|\[::1\])(?=[:/,|]|$)/g;

/** Bundler's own spelling of the setting that has a mirror stand in for rubygems.org; a shell drops a variable of such a name. */
const GEM_MIRROR = "BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/";

interface FileSettings {
  readonly cargo: string | null;
  readonly maven: ReturnType<typeof mavenMirrors>;
  readonly composer: readonly string[];
  readonly bundler: string | null;
}

/** Cargo looks in every directory above the workspace, Maven in the home, Composer and Bundler where their variables say. */
async function withFiles(
  start: RegistrySettings,
  directory: string | null,
  { cargo, maven, composer, bundler }: FileSettings,
): Promise<RegistrySettings> {
  const env = { ...start.env };
  const lasting: Mount[] = [];
  const notes = [...start.notes];
  const hosts = new Set(start.hosts);
  const bare = (name: string, text: string) => {
    const sparse = text.startsWith("sparse+") ? "sparse+" : "";
    const kept = withoutCredentials(text.slice(sparse.length));
    if (kept.hadCredentials) notes.push(credentialsNote(name));
    if (kept.host !== null) hosts.add(kept.host);
    return `${sparse}${kept.text}`;
  };
  const place = async (name: string, text: string, target: string) => {
    if (directory === null) return;
    await mkdir(directory, { recursive: true, mode: 0o755 });
    await writeFile(join(directory, name), text, { mode: 0o644 });
    lasting.push({ source: join(directory, name), target, mode: "ro" });
  };
  if (cargo !== null)
    await place("cargo.toml", cargoConfig(bare("Cargo's source", cargo)), "/.cargo/config.toml");
  if (maven.length > 0) {
    const mirrors = maven.map(({ of, url }) => ({ of, url: bare("Maven's mirror", url) }));
    await place("settings.xml", mavenSettings(mirrors), `${INSIDE.home}/.m2/settings.xml`);
  }
  if (composer.length > 0) {
    const urls = composer.map((url) => bare("Composer's repository", url));
    await place("composer.json", composerConfig(urls), `${COMPOSER_HOME}/config.json`);
    if (directory !== null) env.COMPOSER_HOME = COMPOSER_HOME;
  }
  if (bundler !== null) {
    const text = `---\n${GEM_MIRROR}: ${JSON.stringify(bare("Bundler's mirror", bundler))}\n`;
    await place("bundle-config", text, BUNDLE_CONFIG);
    if (directory !== null) env.BUNDLE_USER_CONFIG = BUNDLE_CONFIG;
  }
  return { env, mounts: [...start.mounts, ...lasting], lasting, hosts: [...hosts], notes };
}

const BUNDLE_CONFIG = "/run/agent-fix/bundle-config";
const COMPOSER_HOME = "/run/agent-fix/composer";

function credentialsNote(name: string): string {
  return `${name} has credentials, which commands do not get: packages behind a login cannot be installed`;
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
    env[name] = kept.map((entry) => entry.text).join(name.startsWith("GO") ? "," : " ");
    for (const entry of kept) {
      if (entry.host !== null) hosts.add(entry.host);
      const directory = localDirectory(entry.text, homeDir);
      if (directory === null || mounts.some((mount) => mount.target === directory)) continue;
      mounts.push({ source: directory, target: directory, mode: "ro" });
    }
    if (kept.some((entry) => entry.hadCredentials)) notes.push(credentialsNote(name));
  }
  return { env, mounts, lasting: [], hosts: [...hosts], notes };
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

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "EISDIR")) return "";
    throw error;
  }
}
