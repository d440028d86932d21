/** Makes bare repositories with any content: odd names, links, modes, submodules and hostile files, by `git fast-import`. */

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

export interface Entry {
  readonly mode: "100644" | "100755" | "120000" | "160000";
  /** File content, link target, or the commit id of a submodule. */
  readonly content: string | Buffer;
}

/** A path's new content; null deletes it. Names are bytes when they are not UTF-8. */
export type Files = Readonly<Record<string, string | Buffer | Entry | null>>;

export function link(target: string): Entry {
  return { mode: "120000", content: target };
}

export function executable(content: string): Entry {
  return { mode: "100755", content };
}

const ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
};

/** Runs git in a repository of the test's own; its output without the last line end. */
export function git(gitDir: string, args: readonly string[], input: Buffer | string = ""): string {
  const output = execFileSync("git", [`--git-dir=${gitDir}`, ...args], {
    env: ENV,
    input,
    maxBuffer: 1 << 28,
    stdio: ["pipe", "pipe", "pipe"],
  });
  return output.toString("utf8").replace(/\n$/, "");
}

export function createBare(path: string, defaultBranch = "main"): string {
  mkdirSync(path, { recursive: true });
  execFileSync("git", ["init", "-q", "--bare", "--template=", "-b", defaultBranch, path], { env: ENV });
  return path;
}

function quoted(path: string): string {
  return `"${path.replace(/["\\]/g, (char) => `\\${char}`).replaceAll("\n", "\\n")}"`;
}

function commands(files: Files): Buffer[] {
  return Object.entries(files).flatMap(([path, value]) => {
    if (value === null) return [Buffer.from(`D ${quoted(path)}\n`)];
    const entry =
      typeof value === "string" || Buffer.isBuffer(value) ? { mode: "100644", content: value } : value;
    if (entry.mode === "160000") return [Buffer.from(`M 160000 ${entry.content} ${quoted(path)}\n`)];
    const bytes = Buffer.from(entry.content as string);
    return [
      Buffer.from(`M ${entry.mode} inline ${quoted(path)}\ndata ${bytes.length}\n`),
      bytes,
      Buffer.from("\n"),
    ];
  });
}

/** Commits on top of a branch (or starts it) and returns the commit's id. */
export function commit(bare: string, files: Files, branch = "main", message = "change"): string {
  const ref = `refs/heads/${branch}`;
  const before = git(bare, ["for-each-ref", "--format=%(objectname)", "--", ref]);
  const head = [
    `commit ${ref}`,
    "committer Tester <tester@localhost> 1700000000 +0000",
    `data ${Buffer.byteLength(message)}`,
    message,
    ...(before === "" ? [] : [`from ${before}`]),
    "",
  ].join("\n");
  git(bare, ["fast-import", "--quiet", "--force"], Buffer.concat([Buffer.from(head), ...commands(files)]));
  return git(bare, ["rev-parse", ref]);
}
