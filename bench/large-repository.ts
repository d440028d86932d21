/** Makes a bare repository of any size by `git fast-import`: many files in nested folders, and a long history of small commits. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { promisify } from "node:util";

export interface RepositorySize {
  readonly files: number;
  readonly commits: number;
}

const ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};
const FILES_PER_FOLDER = 25;
const FOLDERS_PER_PART = 20;
const LINES = 60;
const START_SECONDS = 1_600_000_000;

const run = promisify(execFile);

function pathOf(file: number): string {
  const folder = Math.floor(file / FILES_PER_FOLDER);
  const part = Math.floor(folder / FOLDERS_PER_PART);
  return `packages/part-${part}/src/folder-${folder % FOLDERS_PER_PART}/file-${file % FILES_PER_FOLDER}.js`;
}

/** About 2.5 kB that compresses as source code does; each change of a file moves one line. */
function textOf(file: number, change: number): string {
  const lines = Array.from({ length: LINES }, (_, line) => {
    const value = (file * 7_919 + line * 104_729 + (line === change % LINES ? change * 31 : 0)) % 1_000_003;
    return `export const value_${line}_${value % 97} = compute(${value}, "${(value * 17).toString(36)}");`;
  });
  return `${lines.join("\n")}\n`;
}

function commitOf(number: number, files: readonly (readonly [file: number, change: number])[]): string {
  const message = `Change ${number}`;
  const entries = files.map(([file, change]) => {
    const text = textOf(file, change);
    return `M 100644 inline ${pathOf(file)}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
  });
  return [
    "commit refs/heads/main\n",
    `committer Bench <bench@localhost> ${START_SECONDS + number * 600} +0000\n`,
    `data ${message.length}\n${message}\n`,
    ...entries,
  ].join("");
}

/** Three files change with each commit, all over the tree. */
function changed(number: number, files: number): readonly (readonly [number, number])[] {
  return [1, 2, 3].map((part) => [(number * 7_907 * part + part) % files, number * 3 + part] as const);
}

/** Writes the repository, packs it as a server would, and answers with the id of `main`. */
export async function makeLargeRepository(path: string, size: RepositorySize): Promise<string> {
  await mkdir(path, { recursive: true });
  await run("git", ["init", "-q", "--bare", "--template=", "-b", "main", path], { env: ENV });
  const child = spawn("git", [`--git-dir=${path}`, "fast-import", "--quiet", "--force"], {
    env: ENV,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "close");
  const all = Array.from({ length: size.files }, (_, file) => [file, 0] as const);
  child.stdin.write(commitOf(0, all));
  for (let number = 1; number < size.commits; number++) {
    if (!child.stdin.write(commitOf(number, changed(number, size.files)))) await once(child.stdin, "drain");
  }
  child.stdin.end();
  const [code] = (await ended) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  await run("git", [`--git-dir=${path}`, "-c", "pack.threads=2", "repack", "-a", "-d", "-q"], { env: ENV });
  const { stdout } = await run("git", [`--git-dir=${path}`, "rev-parse", "main"], { env: ENV });
  return stdout.trim();
}

/** One more small commit on `main`, as between two runs. */
export async function addCommit(path: string, number: number, files: number): Promise<void> {
  const { stdout } = await run("git", [`--git-dir=${path}`, "rev-parse", "main"], { env: ENV });
  const child = spawn("git", [`--git-dir=${path}`, "fast-import", "--quiet"], {
    env: ENV,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const [head = "", ...rest] = commitOf(number, changed(number, files)).split("M 100644 ");
  child.stdin.end([`${head}from ${stdout.trim()}\n`, ...rest.map((entry) => `M 100644 ${entry}`)].join(""));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
}
