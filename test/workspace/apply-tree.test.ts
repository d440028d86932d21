/** Built trees put into fresh checkouts, and merged: identical bytes, and nothing written elsewhere. */

import assert from "node:assert/strict";
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { FULL, testPart } from "#test/support/tier.ts";
import { commit, executable, type Files, git, link } from "./repository.ts";
import { createWorld, failure, never, REPOSITORY_ID, RUN, value, type World } from "./world.ts";

const test = testPart(0.5);

interface At {
  readonly sha: string;
  readonly directory: string;
}

async function build(world: World, at: At, edited: readonly string[] = []) {
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha, directory: at.directory };
  return value(await world.workspaces.buildTree({ ...request, edited, noise: [] }));
}

async function again(world: World, sha: string, name: string): Promise<string> {
  return value(await world.workspaces.checkout(RUN, REPOSITORY_ID, sha, name, never));
}

/** Applies a tree built on `at` to another checkout of the same commit. */
async function apply(
  world: World,
  at: { readonly sha: string; readonly treeId: string },
  directory: string,
  except: readonly string[] = [],
) {
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, directory, baseSha: at.sha };
  return world.workspaces.applyTree({ ...request, treeId: at.treeId, except });
}

/** Every file and link outside `.git`: kind, executable bit and bytes. */
function snapshot(directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(directory.length + 1);
    if (name === ".git" || name.startsWith(".git/") || entry.isDirectory()) continue;
    found[name] = entry.isSymbolicLink()
      ? `link ${readlinkSync(path)}`
      : `${lstatSync(path).mode & 0o100 ? "x" : "-"} ${readFileSync(path, "hex")}`;
  }
  return found;
}

test("a tree over a set-up checkout: tracked files equal it, set-up results stay", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.js": "1\n", "gone/x.js": "1\n", "dist/app.css": "a\n", "test/t.js": "old\n" });
  const at = await world.checkout("work");
  await world.shell(
    at.directory,
    "echo 2 > a.js; rm -r gone; mkdir new; echo 1 > new/b.js; chmod +x new/b.js; ln -s a.js alias; echo new > test/t.js; echo n > test/n.js",
  );
  const built = await build(world, at, ["new/b.js", "alias", "test/n.js"]);
  const fresh = await again(world, at.sha, "verify");
  await world.shell(fresh, "mkdir node_modules; echo 1 > node_modules/m; echo built > dist/app.css");
  value(await apply(world, { ...at, ...built }, fresh));
  const { "node_modules/m": module, ...tracked } = snapshot(fresh);
  assert.equal(module, "- 310a");
  assert.deepEqual(tracked, snapshot(at.directory));
  assert.equal(readdirSync(fresh).includes("gone"), false);

  const originalTests = await again(world, at.sha, "original");
  value(await apply(world, { ...at, ...built }, originalTests, ["test/t.js", "test/n.js"]));
  assert.equal(readFileSync(join(originalTests, "test/t.js"), "utf8"), "old\n");
  assert.deepEqual(readdirSync(join(originalTests, "test")), ["t.js"]);
  assert.equal(readFileSync(join(originalTests, "a.js"), "utf8"), "2\n");
});

test("links and directories that set-up planted are replaced, and nothing is written through them", async () => {
  await using world = await createWorld();
  const outside = join(world.directory, "outside");
  mkdirSync(outside);
  chmodSync(outside, 0o777);
  commit(world.bare, {
    "src/a.js": "1\n",
    "src/b.js": "1\n",
    "old/c.js": "1\n",
    "keep/c.js": "1\n",
    "f.txt": "1\n",
  });
  const at = await world.checkout("work");
  await world.shell(
    at.directory,
    "echo 2 > src/a.js; rm old/c.js; echo 2 > f.txt; mkdir deep; echo 1 > deep/n.js",
  );
  const built = await build(world, at, ["deep/n.js"]);
  const fresh = await again(world, at.sha, "verify");
  await world.shell(
    fresh,
    `rm -r src old f.txt; ln -s ${outside} src; ln -s keep old; mkdir -p f.txt/sub; echo 1 > f.txt/sub/x; ln -s ${outside} deep; chmod 000 keep`,
  );
  value(await apply(world, { ...at, ...built }, fresh));
  assert.deepEqual(readdirSync(outside), []);
  assert.equal(lstatSync(join(fresh, "src")).isDirectory(), true);
  assert.equal(readFileSync(join(fresh, "src/a.js"), "utf8"), "2\n");
  assert.equal(readFileSync(join(fresh, "f.txt"), "utf8"), "2\n");
  assert.equal(readFileSync(join(fresh, "deep/n.js"), "utf8"), "1\n");
  assert.equal(
    readFileSync(join(fresh, "keep/c.js"), "utf8"),
    "1\n",
    "a file reached through a planted link is put back",
  );
});

test("a merge joins changes of both sides, and a conflict names the paths", async () => {
  await using world = await createWorld();
  const lines = ["1", "2", "3", "4", "5", "6", "7", "8"];
  const file = (changes: Record<number, string>) =>
    lines.map((line, at) => `${changes[at] ?? line}\n`).join("");
  commit(world.bare, {
    ".gitattributes": "* merge=evil\n",
    a: file({}),
    b: "b\n",
    "c d": "c\n",
    run: executable("x\n"),
  });
  const at = await world.checkout();
  await world.shell(at.directory, "sed -i s/1/ONE/ a; echo mine > b; echo mine > 'c d'");
  const built = await build(world, at);
  commit(world.bare, { a: file({ 7: "EIGHT" }), run: executable("y\n"), n: link("a") });
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha, treeId: built.treeId };
  const clean = value(await world.workspaces.merge({ ...request, ontoSha: await world.fetch() }));
  const listing = git(join(world.dataDir, "runs", RUN, "pristine.git"), ["ls-tree", "-r", clean.treeId]);
  assert.match(listing, /^120000 .*\tn$/m);
  assert.match(listing, /^100755 .*\trun$/m);
  const a = await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, clean.treeId, "a");
  assert.equal(Buffer.from(a ?? []).toString(), file({ 0: "ONE", 7: "EIGHT" }));
  const repeated = value(await world.workspaces.merge({ ...request, ontoSha: await world.fetch() }));
  assert.deepEqual(repeated, { treeId: clean.treeId, adds: true });
  commit(world.bare, { a: file({ 0: "ONE", 7: "EIGHT" }), b: "mine\n", "c d": "mine\n", later: "x\n" });
  const landed = value(await world.workspaces.merge({ ...request, ontoSha: await world.fetch() }));
  assert.equal(landed.adds, false, "the branch holds the change already");

  commit(world.bare, { b: "theirs\n", "c d": null });
  const conflict = failure(await world.workspaces.merge({ ...request, ontoSha: await world.fetch() }));
  assert.equal(conflict.code, "conflict");
  assert.match(conflict.message, /in b, c d\./);
});

const NAMES = ["a", "b.txt", "d/e", "d/f g", "d/deep/ü.js", 'x"y', "x\ny", "-n", "$(id)", ":m"];
const content = fc.oneof(
  fc.constantFrom("", "a\n", "a\r\nb\r\n", "no end", "\ufeffbom\n", "$Id$\n"),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);
const entry = fc.oneof(
  { weight: 4, arbitrary: content.map((bytes) => ({ mode: "100644" as const, content: bytes })) },
  { weight: 2, arbitrary: content.map((bytes) => ({ mode: "100755" as const, content: bytes })) },
  { weight: 1, arbitrary: fc.constantFrom("a", "../x", "/etc").map((target) => link(target)) },
);
const tree = fc.dictionary(fc.constantFrom(...NAMES), entry);

/** Makes the directory hold exactly these files, as an edit tool of the sandbox's user would. */
function writeFiles(world: World, directory: string, files: Files): void {
  for (const name of readdirSync(directory))
    if (name !== ".git") rmSync(join(directory, name), { recursive: true });
  for (const [name, file] of Object.entries(files)) {
    if (file === null || typeof file === "string" || Buffer.isBuffer(file)) continue;
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    if (file.mode === "120000") symlinkSync(String(file.content), path);
    else writeFileSync(path, file.content, { mode: file.mode === "100755" ? 0o755 : 0o644 });
  }
  const { owner } = world.sandbox;
  if (owner === null) return;
  for (const made of readdirSync(directory, { recursive: true, withFileTypes: true }))
    lchownSync(join(made.parentPath, made.name), owner.uid, owner.gid);
}

test("any edits: the tree applied to a fresh checkout gives identical bytes and modes", async () => {
  await using world = await createWorld();
  let number = 0;
  await fc.assert(
    fc.asyncProperty(tree, tree, async (before, after) => {
      number++;
      const branch = `case-${number}`;
      const sha = commit(world.bare, { ...before, anchor: "x" }, branch);
      await world.fetch(branch);
      const directory = await again(world, sha, "work");
      writeFiles(world, directory, { ...after, anchor: { mode: "100644", content: "x" } });
      const built = await build(world, { sha, directory }, NAMES);
      const fresh = await again(world, sha, "fresh");
      value(await apply(world, { sha, ...built }, fresh));
      assert.deepEqual(snapshot(fresh), snapshot(directory));
      assert.deepEqual(built.leftOut, []);
    }),
    { numRuns: FULL ? 300 : 2 },
  );
});
