/** Checkouts: exact bytes, history of their own, no way back to the cache, and their removal. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { skipUnless, testPart } from "#test/support/tier.ts";
import { commit, executable, git, link } from "./repository.ts";
import { createWorld, failure, never, REPOSITORY_ID, RUN, value } from "./world.ts";

const test = testPart(0.5);

test("a checkout has the commit's bytes, modes and links, and belongs to the sandbox's owner", async () => {
  await using world = await createWorld();
  commit(world.bare, {
    ".gitattributes": "*.txt text eol=crlf\n*.bin filter=lfs diff=lfs\n*.c ident\n",
    "crlf.txt": "a\r\nb\n",
    "lf.txt": "a\nb\n",
    "x.c": "$Id$\n",
    "x.bin": "version https://git-lfs.github.com/spec/v1\n",
    "bin/run": executable("#!/bin/sh\n"),
    "to-dir": link("bin"),
    dangling: link("/nowhere"),
  });
  const { directory } = await world.checkout();
  const read = (path: string) => readFileSync(join(directory, path), "latin1");
  assert.equal(read("crlf.txt"), "a\r\nb\n");
  assert.equal(read("lf.txt"), "a\nb\n");
  assert.equal(read("x.c"), "$Id$\n");
  assert.match(read("x.bin"), /^version/);
  assert.equal(lstatSync(join(directory, "bin/run")).mode & 0o111, 0o111);
  assert.equal(lstatSync(join(directory, "lf.txt")).mode & 0o111, 0);
  assert.equal(readlinkSync(join(directory, "to-dir")), "bin");
  assert.equal(readlinkSync(join(directory, "dangling")), "/nowhere");
  const uid = world.sandbox.owner?.uid ?? process.getuid?.();
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const found = lstatSync(join(entry.parentPath, entry.name));
    assert.equal(found.uid, uid, entry.name);
    if (found.isFile()) assert.equal(found.nlink, 1, `${entry.name} is a hard link`);
  }
});

test("C05: a link out of the checkout stays a link, and nothing is written through it", async () => {
  await using world = await createWorld();
  const outside = join(world.directory, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "outside-secret\n");
  commit(world.bare, { "notes.txt": link(join(outside, "secret")), dir: link(outside), "a.txt": "1\n" });
  const at = await world.checkout();
  assert.equal(readlinkSync(join(at.directory, "dir")), outside);
  await world.shell(at.directory, "ln -sf /etc/hostname a.txt");
  const built = value(
    await world.workspaces.buildTree({
      runId: RUN,
      repositoryId: REPOSITORY_ID,
      baseSha: at.sha,
      directory: at.directory,
      edited: ["dir/new", "notes.txt", "../outside/secret"],
      noise: [],
    }),
  );
  assert.deepEqual(
    built.changes.map(({ path, mode }) => [path, mode]),
    [["a.txt", "120000"]],
  );
  assert.doesNotMatch(built.diff, /outside-secret/);
  assert.deepEqual(readdirSync(outside), ["secret"]);
  const notes = await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, built.treeId, "notes.txt");
  assert.equal(
    Buffer.from(notes ?? []).toString(),
    join(outside, "secret"),
    "the link's target, not its content",
  );
});

test("the agent's .git has history and tags, is clean, and has no remote or path to the cache", async () => {
  await using world = await createWorld();
  const first = commit(world.bare, { "a.txt": "1\n" }, "main", "first");
  git(world.bare, ["tag", "v1", first]);
  commit(world.bare, { "a.txt": "2\n" }, "main", "second");
  const { directory } = await world.checkout();
  const shown = await world.shell(
    directory,
    "git status --porcelain; git log --format=%s; git blame -s a.txt | cut -d' ' -f1 | wc -l; git describe --tags; git remote; git fsck --full",
  );
  assert.deepEqual(shown.stdout.head.trim().split("\n").slice(0, 3), ["second", "first", "1"]);
  assert.match(shown.stdout.head, /^v1-1-g/m);
  assert.equal(existsSync(join(directory, ".git/objects/info/alternates")), false);
  for (const name of ["config", "packed-refs", "HEAD"])
    assert.doesNotMatch(readFileSync(join(directory, ".git", name), "utf8"), /mirrors|127\.0\.0\.1|http/);
  await world.shell(directory, "echo 3 > a.txt; git commit -qam third; git stash list; git gc -q");
});

test("E16: long history is cut off, and what the app compares does not depend on it", async () => {
  await using world = await createWorld();
  const stream = Array.from(
    { length: 250 },
    (_, number) =>
      `commit refs/heads/main\ncommitter T <t@localhost> ${1_700_000_000 + number} +0000\ndata 1\nx\nM 100644 inline n\ndata <<E\n${number}\nE\n\n`,
  );
  git(world.bare, ["fast-import", "--quiet"], stream.join(""));
  commit(world.bare, { a: "1\n2\n3\n4\n5\n" });
  const at = await world.checkout();
  const count = await world.shell(
    at.directory,
    "git rev-list --count HEAD; git rev-parse --is-shallow-repository",
  );
  assert.equal(count.stdout.head, "200\ntrue\n");
  await world.shell(at.directory, "sed -i s/1/ONE/ a");
  const built = value(
    await world.workspaces.buildTree({
      runId: RUN,
      repositoryId: REPOSITORY_ID,
      baseSha: at.sha,
      directory: at.directory,
      edited: [],
      noise: [],
    }),
  );
  commit(world.bare, { a: "1\n2\n3\n4\nFIVE\n" });
  commit(world.bare, { b: "new\n" });
  const ontoSha = await world.fetch();
  const merged = value(
    await world.workspaces.merge({
      runId: RUN,
      repositoryId: REPOSITORY_ID,
      baseSha: at.sha,
      treeId: built.treeId,
      ontoSha,
    }),
  );
  const a = await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, merged.treeId, "a");
  assert.equal(Buffer.from(a ?? []).toString(), "ONE\n2\n3\n4\nFIVE\n");
});

test("a copy has everything, set-up results too, and shares no file with its origin", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const { directory } = await world.checkout("base");
  await world.shell(
    directory,
    "mkdir -p node_modules/.bin node_modules/x; echo 1 > node_modules/x/i.js; chmod 755 node_modules/x/i.js; ln -s ../x/i.js node_modules/.bin/i; mkdir ro; echo 1 > ro/f; chmod 555 ro",
  );
  const copy = value(await world.workspaces.copy(RUN, directory, "copy"));
  assert.equal(readlinkSync(join(copy, "node_modules/.bin/i")), "../x/i.js");
  assert.equal(lstatSync(join(copy, "node_modules/x/i.js")).mode & 0o777, 0o755);
  for (const path of ["a.txt", "node_modules/x/i.js", "ro/f", ".git/HEAD"]) {
    const [from, to] = [lstatSync(join(directory, path)), lstatSync(join(copy, path))];
    assert.notEqual(from.ino, to.ino);
    assert.equal(from.uid, to.uid);
    assert.equal(to.nlink, 1);
  }
  await world.shell(copy, "git status --porcelain | grep -q node_modules; echo 2 > a.txt");
  assert.equal(readFileSync(join(directory, "a.txt"), "utf8"), "1\n");
});

test("removal takes everything, or keeps what publishing needs, whatever the agent left", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const at = await world.checkout();
  const scratch = await world.workspaces.scratch(RUN, "reports");
  assert.deepEqual(readdirSync(scratch), []);
  await world.shell(
    at.directory,
    "echo 2 > a.txt; mkdir -p ro/in; echo 1 > ro/in/f; chmod -R a-w ro; for i in $(seq 60); do d=$(printf 'x%.0s' $(seq 200)); mkdir $d; cd $d; done",
  );
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha, directory: at.directory };
  const built = value(await world.workspaces.buildTree({ ...request, edited: [], noise: [] }));
  assert.deepEqual(await world.workspaces.leftovers(), [RUN]);
  await world.workspaces.remove(RUN, true);
  assert.deepEqual(readdirSync(join(world.dataDir, "runs", RUN)), ["pristine.git"]);
  // Eviction of the mirror must not matter any more.
  rmSync(join(world.dataDir, "mirrors"), { recursive: true });
  const bytes = await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, built.treeId, "a.txt");
  assert.equal(Buffer.from(bytes ?? []).toString(), "2\n");
  assert.equal(await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, built.treeId, "nope"), null);
  await world.workspaces.remove(RUN, false);
  await world.workspaces.remove(RUN, false);
  assert.deepEqual(await world.workspaces.leftovers(), []);
  assert.equal(await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, built.treeId, "a.txt"), null);
});

test("a data directory that only the app's user may enter serves all the same", {
  skip: skipUnless(process.getuid?.() === 0, "only root runs the sandbox as another user"),
}, async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n", "dir/link": "x" });
  const sha = await world.fetch();
  chmodSync(world.dataDir, 0o700);
  const directory = value(await world.workspaces.checkout(RUN, REPOSITORY_ID, sha, "work", never));
  const copy = value(await world.workspaces.copy(RUN, directory, "copy"));
  assert.equal(readFileSync(join(copy, "a.txt"), "utf8"), "1\n");
  assert.equal(lstatSync(join(copy, "a.txt")).uid, world.sandbox.owner?.uid);
});

test("a commit that was never fetched, and a cancelled checkout, are failures in words", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const sha = await world.fetch();
  const checkout = (id: number, commitId: string, signal = never) =>
    world.workspaces.checkout(RUN, id, commitId, "work", signal);
  assert.equal(failure(await checkout(REPOSITORY_ID, "1".repeat(40))).code, "not_found");
  assert.equal(failure(await checkout(99, sha)).code, "not_found");
  assert.equal(failure(await checkout(REPOSITORY_ID, "--upload-pack=x")).code, "not_found");
  assert.equal(failure(await checkout(REPOSITORY_ID, sha, AbortSignal.abort())).code, "cancelled");
});

test("names of files, directories and tags that are no text stand in nobody's way", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  // Octal in quotes is how fast-import takes bytes.
  const stream = `commit refs/heads/main\ncommitter T <t@localhost> 1700000000 +0000\ndata 1\nx\nfrom refs/heads/main^0
M 100644 inline "d\\377/f\\376"\ndata 2\n1\n\n`;
  git(world.bare, ["fast-import", "--quiet", "--force"], stream);
  const tag = Buffer.from("update refs/tags/v\xe9/1 refs/heads/main\n", "latin1");
  git(world.bare, ["update-ref", "--stdin"], tag);
  const first = await world.checkout("first");
  const second = await world.checkout("second");
  const names = (directory: string) => readdirSync(directory, "latin1").filter((name) => name !== ".git");
  assert.deepEqual(names(first.directory).sort(), ["a.txt", "d\xff"]);
  assert.deepEqual(names(second.directory).sort(), ["a.txt", "d\xff"]);
  const copied = value(await world.workspaces.copy(RUN, second.directory, "third"));
  assert.deepEqual(names(copied).sort(), ["a.txt", "d\xff"]);
  await world.workspaces.remove(RUN, false);
  assert.deepEqual(await world.workspaces.leftovers(), []);
});
