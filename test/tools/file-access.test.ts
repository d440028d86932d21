import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createFiles } from "#src/tools/files.ts";
import { parsePath } from "#src/tools/paths.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL } from "#test/support/tier.ts";
import { openWorkspace } from "./fixture.ts";

const FORBIDDEN = [
  "/proc/self/environ",
  "/proc/1/environ",
  "/etc/passwd",
  "../../.env",
  "src/../../x",
  "~/.netrc",
  "~",
  ".git/config",
  ".GIT/config",
  "sub/.git/hooks/pre-commit",
  "/workspace/.git/config",
  "/workspace/../etc/passwd",
  "/workspaces/x",
  "a\0b",
  `${"x".repeat(300)}`,
];

test("H06: paths outside the repository and in .git are refused by every tool, for reading and writing", async () => {
  await using space = await openWorkspace({ ".git/config": "[core]\n", "src/a.js": "a\n" });
  for (const path of FORBIDDEN) {
    for (const [name, args] of [
      ["read_file", { path }],
      ["list_dir", { path }],
      ["search", { path, pattern: "." }],
      ["edit_file", { path, old: "", new: "x" }],
      ["edit_file", { path, old: "core", new: "x" }],
    ] as const) {
      const result = await space.run(name, args);
      assert.equal(result.status, "error", `${name} ${path}`);
    }
  }
  assert.equal(String(await space.bytes(".git/config")), "[core]\n");
  assert.deepEqual((await readdir(space.directory)).sort(), [".git", "src"]);
});

test("paths are taken from the root, with or without /workspace, a leading ./ or a slash at the end", () => {
  for (const path of ["src/a", "./src/a", "/workspace/src/a", "src//a/", "src/./a"])
    assert.deepEqual(parsePath(path), { ok: true, value: ["src", "a"] });
  for (const path of ["", ".", "/workspace", "/workspace/"])
    assert.deepEqual(parsePath(path), { ok: true, value: [] });
  assert.ok(parsePath(".github/workflows/ci.yml").ok && parsePath(".gitignore").ok && parsePath("a..b").ok);
});

test("C05: links that lead out are refused for reading and writing, as file and as directory", async () => {
  await using space = await openWorkspace();
  await writeFile(join(space.outside, "secret"), "TOP SECRET");
  await symlink(join(space.outside, "secret"), join(space.directory, "notes.txt"));
  await symlink(space.outside, join(space.directory, "dir"));
  for (const [name, args] of [
    ["read_file", { path: "notes.txt" }],
    ["edit_file", { path: "notes.txt", old: "TOP", new: "NO" }],
    ["edit_file", { path: "notes.txt", old: "", new: "NO" }],
    ["read_file", { path: "dir/secret" }],
    ["edit_file", { path: "dir/new", old: "", new: "NO" }],
    ["edit_file", { path: "dir/sub/new", old: "", new: "NO" }],
    ["list_dir", { path: "dir" }],
    ["search", { path: "dir", pattern: "SECRET" }],
    ["search", { path: "notes.txt", pattern: "SECRET" }],
  ] as const) {
    const result = await space.run(name, args);
    assert.equal(result.status, "error", `${name} ${JSON.stringify(args)}: ${result.text}`);
    assert.ok(!result.text.includes("TOP SECRET"));
  }
  assert.match((await space.run("read_file", { path: "dir/secret" })).text, /symbolic link/);
  assert.deepEqual(await readdir(space.outside), ["secret"]);
  assert.equal(String(await readFile(join(space.outside, "secret"))), "TOP SECRET");
});

test("pipes, sockets and devices neither block nor are read", async () => {
  await using space = await openWorkspace();
  await space.run("run_command", { command: "mkfifo pipe; ln -s /dev/zero zero" });
  const server = createServer().listen(join(space.directory, "sock"));
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    for (const path of ["pipe", "sock"]) {
      assert.match((await space.run("read_file", { path })).text, /not a regular file/);
      assert.match((await space.run("edit_file", { path, old: "a", new: "b" })).text, /not a regular file/);
      assert.equal((await space.run("search", { path, pattern: "a" })).status, "error");
    }
    assert.match((await space.run("read_file", { path: "zero" })).text, /symbolic link/);
  } finally {
    server.close();
  }
});

test("a process that swaps a directory for a link to the outside never makes a read or a write leave the workspace", async () => {
  await using root = await tempDir();
  const workspace = join(root.path, "workspace");
  const outside = join(root.path, "outside");
  await mkdir(join(workspace, "dir"), { recursive: true });
  await mkdir(outside);
  await writeFile(join(workspace, "dir", "file"), "inside");
  await writeFile(join(outside, "file"), "outside");
  const files = createFiles(workspace, null);
  const tries = FULL ? 5_000 : 400;
  let finished = false;
  const swap = async () => {
    const dir = join(workspace, "dir");
    const aside = join(workspace, "aside");
    // The tool may have made a directory of that name in between; every step may fail, and the next round goes on.
    const attempt = (step: Promise<unknown>) => step.catch(() => undefined);
    while (!finished) {
      await attempt(rename(dir, aside));
      await attempt(symlink(outside, dir));
      await attempt(rm(dir, { recursive: true, force: true }));
      await attempt(rename(aside, dir));
    }
  };
  const swapping = swap();
  const seen = { inside: 0, refused: 0 };
  for (let n = 0; n < tries; n++) {
    const read = await files.read(["dir", "file"]);
    if (read.ok) assert.match(String(read.value.bytes), /^inside/);
    const created = await files.create(["dir", `new${n}`], Buffer.from("x"));
    const replaced = await files.replace(["dir", "file"], Buffer.from(`inside ${n}`));
    for (const result of [read, created, replaced]) seen[result.ok ? "inside" : "refused"]++;
  }
  finished = true;
  await swapping;
  assert.deepEqual(await readdir(outside), ["file"]);
  assert.equal(String(await readFile(join(outside, "file"))), "outside");
  assert.ok(seen.inside > 0 && seen.refused > 0, JSON.stringify(seen));
  await rm(workspace, { recursive: true });
});

test("a file swapped for a link right before it is replaced is itself replaced, not what it points to", async () => {
  await using root = await tempDir();
  const workspace = join(root.path, "workspace");
  await mkdir(workspace);
  await writeFile(join(root.path, "secret"), "outside");
  const files = createFiles(workspace, null);
  const tries = FULL ? 2_000 : 200;
  for (let n = 0; n < tries; n++) {
    await writeFile(join(workspace, "file"), "inside");
    const replacing = files.replace(["file"], Buffer.from("new"));
    await rm(join(workspace, "file"), { force: true });
    await symlink(join(root.path, "secret"), join(workspace, "file")).catch((error: unknown) => {
      // The replacement won the race, which is as good.
      assert.equal((error as NodeJS.ErrnoException).code, "EEXIST");
    });
    await replacing;
    await rm(join(workspace, "file"), { force: true });
  }
  assert.equal(String(await readFile(join(root.path, "secret"))), "outside");
});
