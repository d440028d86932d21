/** Decides which directories of the operator's PATH commands may see, and what else of the host they need for that. */

import { basename, dirname, join } from "node:path";
import { INSIDE, isWithin } from "#src/sandbox/policy.ts";

/** The questions asked of the file system, so that the rules can be tried on made-up hosts. */
export interface HostFiles {
  /** The path without links; null when it does not exist. */
  real(path: string): Promise<string | null>;
  isDirectory(path: string): Promise<boolean>;
  isExecutable(path: string): Promise<boolean>;
  /** Text of a small file; null when it cannot be read. */
  text(path: string): Promise<string | null>;
  /** Names in a directory; empty when it cannot be read. */
  list(path: string): Promise<readonly string[]>;
  /** True when the sandbox's user may enter and list this directory itself, whatever its parents allow. */
  isOpenToSandbox(path: string): Promise<boolean>;
}

export interface Toolchains {
  /** PATH inside, in the operator's order. */
  readonly path: readonly string[];
  /** Directories shown read-only at the same path. */
  readonly directories: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Why something on the operator's PATH is not there inside. */
  readonly notes: readonly string[];
}

interface Found {
  readonly path: string;
  readonly directories: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}
type Rule = (directory: string, files: HostFiles) => Promise<Found | string | null>;

const SYSTEM_PATH = ["/usr/local/bin", "/usr/bin", "/bin"];
/** Places where commands write: whatever the host has there is covered. */
const COVERED = [INSIDE.home, INSIDE.tmp, INSIDE.workspace];
const SYSTEM_ROOTS = ["/usr", "/bin", "/sbin"];

/**
 * Goes through the directories of a PATH in order. A directory is left out with a note when nothing is known about what
 * lies around it: a whole home, or a folder of private scripts, is never shown. Nor is what holds `dataDir` or lies in it.
 */
export async function resolveToolchains(
  pathDirectories: readonly string[],
  files: HostFiles,
  dataDir: string,
): Promise<Toolchains> {
  const path: string[] = [];
  const directories = new Set<string>();
  const notes: string[] = [];
  let env: Record<string, string> = {};
  for (const directory of new Set(pathDirectories)) {
    if (!directory.startsWith("/") || directory.endsWith("/node_modules/.bin")) continue;
    if (!(await files.isDirectory(directory))) continue;
    const found = await firstMatch(directory, files);
    if (typeof found === "string") {
      notes.push(`${directory}: ${found}`);
      continue;
    }
    const closed = await closedOnes(found.directories, files);
    if (closed.length > 0) {
      notes.push(`${directory}: ${closed.join(", ")} cannot be read by the sandbox's user`);
      continue;
    }
    if (found.directories.some((shown) => COVERED.some((place) => isWithin(shown, place)))) {
      notes.push(
        `${directory}: not shown, since the sandbox has its own files at that path; install it elsewhere`,
      );
      continue;
    }
    if (found.directories.some((shown) => isWithin(dataDir, shown) || isWithin(shown, dataDir))) {
      notes.push(
        `${directory}: not shown, since the data of agent-fix (DATA_DIR) is there; move one of them`,
      );
      continue;
    }
    if (!path.includes(found.path)) path.push(found.path);
    for (const shown of found.directories) directories.add(shown);
    env = { ...env, ...found.env };
  }
  for (const directory of SYSTEM_PATH) if (!path.includes(directory)) path.push(directory);
  return { path, directories: outermost([...directories]), env, notes };
}

async function firstMatch(directory: string, files: HostFiles): Promise<Found | string> {
  for (const rule of RULES) {
    const found = await rule(directory, files);
    if (found !== null) return found;
  }
  return "not shown inside: no toolchain was recognised here";
}

async function closedOnes(directories: readonly string[], files: HostFiles): Promise<readonly string[]> {
  const open = await Promise.all(directories.map((directory) => files.isOpenToSandbox(directory)));
  return directories.filter((_, index) => !open[index]);
}

/** /usr and its kin are shown anyway. */
const system: Rule = async (directory) =>
  SYSTEM_ROOTS.some((root) => isWithin(directory, root)) ? { path: directory, directories: [] } : null;

/** pyenv, rbenv, nodenv, goenv: `shims` beside `versions`. The version chosen globally is shown in the shims' stead. */
const shims: Rule = async (directory, files) => {
  if (basename(directory) !== "shims") return null;
  const root = dirname(directory);
  const versions = join(root, "versions");
  if (!(await files.isDirectory(versions))) return "shims of an unknown version manager are not followed";
  const wanted = ((await files.text(join(root, "version"))) ?? "").split(/\s+/).filter(Boolean);
  const installed = await files.list(versions);
  const name = wanted
    .map((version) => (installed.includes(version) ? version : newest(installed, `${version}.`)))
    .find((version) => version !== undefined);
  if (name === undefined) return "no global version is chosen; set one (for example `pyenv global 3.12`)";
  const real = await files.real(join(versions, name));
  if (real === null) return `version ${name} is missing`;
  return { path: join(real, "bin"), directories: [real] };
};

/** The managers themselves, whose shims are handled above. */
const manager: Rule = async (directory, files) =>
  basename(directory) === "bin" && (await files.isDirectory(join(dirname(directory), "shims")))
    ? "a version manager's own programs are not needed inside"
    : null;

/** rustup's programs and the toolchains they start; registries and credentials of `.cargo` stay out. */
const cargo: Rule = async (directory, files) => {
  if (basename(directory) !== "bin" || basename(dirname(directory)) !== ".cargo") return null;
  const rustup = join(dirname(dirname(directory)), ".rustup");
  if (!(await files.isDirectory(join(rustup, "toolchains"))))
    return { path: directory, directories: [directory] };
  return { path: directory, directories: [directory, rustup], env: { RUSTUP_HOME: rustup } };
};

/** volta's shims ask a running volta; the default Node's image is shown instead. */
const volta: Rule = async (directory, files) => {
  const root = dirname(directory);
  if (basename(directory) !== "bin" || basename(root) !== ".volta") return null;
  const platform = (await files.text(join(root, "tools/user/platform.json"))) ?? "";
  const version = /"runtime"\s*:\s*"([\w.+-]+)"/.exec(platform)?.[1];
  if (version === undefined) return "volta has no default Node; run `volta install node`";
  const image = join(root, "tools/image/node", version);
  return { path: join(image, "bin"), directories: [image] };
};

/** Prefixes with programs only, below a home: `.bun/bin`, `.deno/bin`, `go/bin`. */
const PROGRAM_FOLDERS = [".bun/bin", ".deno/bin", "go/bin", ".dotnet"];
const programFolder: Rule = async (directory, files) => {
  const real = await files.real(directory);
  if (real === null) return null;
  const home = homeOf(real);
  return home !== null && PROGRAM_FOLDERS.some((folder) => real === `${home}/${folder}`)
    ? { path: real, directories: [real] }
    : null;
};

/** Folders below a home that version managers fill, each version a prefix of its own (nvm, fnm, sdkman, mise, asdf, pyenv). */
const VERSION_FOLDERS = [
  "/.nvm/versions/",
  "/fnm/node-versions/",
  "/.sdkman/candidates/",
  "/mise/installs/",
  "/.asdf/installs/",
  "/.pyenv/versions/",
  "/.rbenv/versions/",
  "/.nodenv/versions/",
  "/.goenv/versions/",
];

/** `<prefix>/bin` with libraries beside it. Below a home only visible folders and the version managers' own. */
const prefix: Rule = async (directory, files) => {
  const real = await files.real(directory);
  if (real === null || !/^s?bin$/.test(basename(real))) return null;
  const root = dirname(real);
  const home = homeOf(root);
  const managed = VERSION_FOLDERS.some((folder) => `${root}/`.includes(folder));
  if (home !== null && !managed) {
    const below = root.slice(home.length + 1);
    if (below === "" || below.startsWith(".")) return null;
  }
  const names = await files.list(root);
  if (managed || names.some((name) => ["lib", "libexec", "pkg", "jre"].includes(name))) {
    return root === "/" || root === home ? null : { path: real, directories: [root] };
  }
  return home === null ? { path: real, directories: [real] } : null;
};

const RULES: readonly Rule[] = [system, shims, manager, cargo, volta, programFolder, prefix];

/** The home directory that a path lies in, by where systems keep homes. */
function homeOf(path: string): string | null {
  return /^(?:\/root|\/home\/[^/]+|\/Users\/[^/]+)(?=\/|$)/.exec(path)?.[0] ?? null;
}

function newest(names: readonly string[], start: string): string | undefined {
  return names
    .filter((name) => name.startsWith(start))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);
}

/** Without directories that lie in another one of the list. */
function outermost(directories: readonly string[]): readonly string[] {
  return directories.filter((path) => !directories.some((other) => other !== path && isWithin(path, other)));
}
