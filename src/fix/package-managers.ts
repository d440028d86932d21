/** Where package managers keep what they fetch, and how each is told that it has, or has no longer, a network. */

import type { Mount, SessionSpec } from "#src/sandbox/sandbox.ts";

/** The repository's package cache inside: writable during set-up, read-only afterwards. */
const INSIDE = "/cache";

/**
 * In every session: what is installed outside the workspace is found again, environments are made inside it, and nothing that
 * a download could replace is a link into the cache.
 */
const ALWAYS: Readonly<Record<string, string>> = {
  CARGO_HOME: `${INSIDE}/cargo`,
  GOMODCACHE: `${INSIDE}/go/mod`,
  // Directories of the module cache stay writable, so that the cache can be removed.
  GOFLAGS: "-modcacherw",
  MAVEN_OPTS: `-Dmaven.repo.local=${INSIDE}/maven`,
  BUNDLE_PATH: `${INSIDE}/bundle`,
  COREPACK_HOME: `${INSIDE}/corepack`,
  YARN_GLOBAL_FOLDER: `${INSIDE}/yarn-berry`,
  YARN_ENABLE_TELEMETRY: "0",
  npm_config_store_dir: `${INSIDE}/pnpm`,
  pnpm_config_store_dir: `${INSIDE}/pnpm`,
  POETRY_VIRTUALENVS_IN_PROJECT: "true",
  POETRY_NO_INTERACTION: "1",
  UV_PYTHON_DOWNLOADS: "never",
  COMPOSER_NO_INTERACTION: "1",
};

const FILLING: Readonly<Record<string, string>> = {
  // pip, uv, Poetry, Yarn 1 and many more keep their downloads below it.
  XDG_CACHE_HOME: `${INSIDE}/xdg`,
  // Composer has it there too, unless its own home is named, as the operator's repositories do.
  COMPOSER_CACHE_DIR: `${INSIDE}/composer`,
  npm_config_cache: `${INSIDE}/npm`,
  npm_config_package_import_method: "copy",
  pnpm_config_package_import_method: "copy",
  GRADLE_USER_HOME: `${INSIDE}/gradle`,
  UV_LINK_MODE: "copy",
  COREPACK_ENABLE_DOWNLOAD_PROMPT: "0",
};

/** Without a network a client fails at once and says so, where it would else try again for minutes. */
const OFFLINE: Readonly<Record<string, string>> = {
  npm_config_offline: "true",
  pnpm_config_verify_deps_before_run: "false",
  YARN_ENABLE_NETWORK: "0",
  COREPACK_ENABLE_NETWORK: "0",
  PIP_NO_INDEX: "1",
  UV_OFFLINE: "1",
  UV_NO_SYNC: "1",
  CARGO_NET_OFFLINE: "true",
  GOPROXY: "off",
  MAVEN_ARGS: "--offline",
  GRADLE_RO_DEP_CACHE: `${INSIDE}/gradle/caches`,
  COMPOSER_DISABLE_NETWORK: "1",
};

type Parts = Pick<SessionSpec, "mounts" | "env">;

/** Of the set-up session: `cache` is the host's directory that package managers may fill. */
export function fillingPackages(cache: string): Parts {
  return { mounts: [mount(cache, "rw")], env: { ...ALWAYS, ...FILLING } };
}

/** Of every later session; null: no set-up ran, and nothing was fetched. */
export function fetchedPackages(cache: string | null): Parts {
  if (cache === null) return { mounts: [], env: {} };
  return { mounts: [mount(cache, "ro")], env: { ...ALWAYS, ...OFFLINE } };
}

function mount(source: string, mode: Mount["mode"]): Mount {
  return { source, target: INSIDE, mode };
}
