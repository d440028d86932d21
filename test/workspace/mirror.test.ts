/** Fetching into the mirror cache: from a real server, with refusals, odd names and damage. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { sample, testPart } from "#test/support/tier.ts";
import { commit, createBare, git, link } from "./repository.ts";
import { createWorld, failure, never, noToken, REPOSITORY_ID, value, type World } from "./world.ts";

const test = testPart(0.5);

const mirrorOf = (world: World, id = REPOSITORY_ID) => join(world.dataDir, "mirrors", `${id}.git`);

test("a fetch brings the branch and tags, a second one only what is new", async () => {
  await using world = await createWorld();
  const first = commit(world.bare, { "a.txt": "1\n" });
  git(world.bare, ["tag", "v1", first]);
  git(world.bare, ["update-ref", "refs/heads/other", first]);
  git(world.bare, ["update-ref", "refs/pull/1/head", commit(world.bare, { "pr.txt": "1\n" }, "pr")]);
  git(world.bare, ["update-ref", "-d", "refs/heads/pr"]);
  assert.equal(await world.fetch(), first);
  const refs = git(mirrorOf(world), ["for-each-ref", "--format=%(refname)"]).split("\n");
  assert.equal(refs.length, 3);
  assert.ok(refs.includes("refs/tags/v1"));

  const second = commit(world.bare, { "a.txt": "2\n" });
  assert.equal(await world.fetch(), second);
  const files = world.workspaces.files(REPOSITORY_ID, second);
  assert.equal(Buffer.from((await files.read("a.txt")) ?? []).toString(), "2\n");
});

test("files of a commit are read by exact name, bounded, and never through links", async () => {
  await using world = await createWorld();
  commit(world.bare, {
    "a*b": "star\n",
    axb: "x\n",
    "dir/ü": "u\n",
    l: link("/etc/passwd"),
    big: "x".repeat(100),
  });
  const files = world.workspaces.files(REPOSITORY_ID, await world.fetch());
  const read = async (path: string, max?: number) => {
    const bytes = await files.read(path, max);
    return bytes === null ? null : Buffer.from(bytes).toString();
  };
  assert.equal(await read("a*b"), "star\n");
  assert.equal(await read("dir/ü"), "u\n");
  for (const path of ["l", "dir", "missing", "../a", ":(glob)*"]) assert.equal(await read(path), null, path);
  assert.equal(await read("big", 99), null);
  assert.deepEqual(
    (await files.list()).map(({ path, mode }) => `${mode} ${path}`),
    ["100644 a*b", "100644 axb", "100644 big", "100644 dir/ü", "120000 l"],
  );
});

test("E13: a repository without commits, or without the branch, is said so in one clear failure", async () => {
  await using world = await createWorld();
  createBare(join(world.server.root, "owner", "empty.git"), "trunk");
  const empty = { id: 7, cloneUrl: `${world.server.url}/owner/empty.git` };
  const none = failure(await world.workspaces.fetch(empty, "trunk", noToken, never));
  assert.equal(none.code, "empty_repository");
  assert.match(none.message, /no commits yet/);

  const sha = commit(world.bare, { "a.txt": "1\n" }, "develop");
  assert.equal(await world.fetch("develop"), sha, "an unborn default branch does not hide another");
  const missing = failure(await world.workspaces.fetch(world.source, "main", noToken, never));
  assert.equal(missing.code, "not_found");
  assert.match(missing.message, /no branch "main"/);
});

test("H08: branch names that a shell would run are fetched, or refused in words", async () => {
  await using world = await createWorld();
  const marker = join(world.directory, "marker");
  const names = [`main;touch\${IFS}${marker}`, `$(touch${marker})`, "--upload-pack=touch", "a'b\"c", "-x"];
  const base = commit(world.bare, { "a.txt": "1\n" });
  for (const name of names) git(world.bare, ["update-ref", `refs/heads/${name}`, base]);
  for (const name of names) assert.equal(await world.fetch(name), base, name);
  for (const name of ["a b", "x:refs/heads/y", "*", ""])
    assert.equal(failure(await world.workspaces.fetch(world.source, name, noToken, never)).code, "not_found");
  assert.equal(existsSync(marker), false);
});

test("a branch that becomes a directory of branches is fetched all the same", async () => {
  await using world = await createWorld();
  const first = commit(world.bare, { "a.txt": "1\n" }, "a");
  assert.equal(await world.fetch("a"), first);
  git(world.bare, ["update-ref", "-d", "refs/heads/a"]);
  const second = commit(world.bare, { "b.txt": "1\n" }, "a/b");
  assert.equal(await world.fetch("a/b"), second);
});

test("a force-pushed branch and a moved tag follow, and the old commit stays readable", async () => {
  await using world = await createWorld();
  const old = commit(world.bare, { "a.txt": "1\n" });
  git(world.bare, ["tag", "v1", old]);
  await world.fetch();
  git(world.bare, ["update-ref", "-d", "refs/heads/main"]);
  const fresh = commit(world.bare, { "a.txt": "2\n" });
  git(world.bare, ["tag", "-f", "v1", fresh]);
  assert.equal(await world.fetch(), fresh);
  assert.equal(git(mirrorOf(world), ["rev-parse", "v1"]), fresh);
  assert.equal((await world.workspaces.files(REPOSITORY_ID, old).list()).length, 1);
});

const DAMAGES: Readonly<Record<string, (mirror: string) => void>> = {
  "an empty HEAD": (mirror) => writeFileSync(join(mirror, "HEAD"), ""),
  "no HEAD": (mirror) => rmSync(join(mirror, "HEAD")),
  "an empty pack": (mirror) => replacePacks(mirror, /\.(pack|idx)$/, () => Buffer.alloc(0)),
  "a pack cut short": (mirror) => replacePacks(mirror, /\.pack$/, (bytes) => bytes.subarray(0, -30)),
  "a lost index of a pack": (mirror) => replacePacks(mirror, /\.idx$/, () => null),
  "no pack at all": (mirror) => replacePacks(mirror, /./, () => null),
  "packed references that are none": (mirror) => writeFileSync(join(mirror, "packed-refs"), "nonsense\n"),
  "an empty reference": (mirror) => writeFileSync(join(mirror, "refs/agent-fix/default"), ""),
  "a tag that is garbage": (mirror) => writeFileSync(join(mirror, "refs/tags/v1"), "garbage\n"),
  "a reference to nothing": (mirror) => writeFileSync(join(mirror, "refs/tags/v1"), `${"1".repeat(40)}\n`),
  "locks of a killed git": (mirror) => {
    for (const name of ["packed-refs.lock", "HEAD.lock", "config.lock", "shallow.lock", "refs/tags/v1.lock"])
      writeFileSync(join(mirror, name), "");
  },
  "the start of a pack": (mirror) => writeFileSync(join(mirror, "objects/pack/tmp_pack_abc"), "PACK"),
  "a configuration that is none": (mirror) => writeFileSync(join(mirror, "config"), "[core\n"),
  "no objects": (mirror) => rmSync(join(mirror, "objects"), { recursive: true }),
  "a state that is none": (mirror) => writeFileSync(join(mirror, "agent-fix-state.json"), "{"),
};

for (const [name, damage] of sample(Object.entries(DAMAGES), 3)) {
  test(`a damaged mirror is fetched anew: ${name}`, async () => {
    await using world = await createWorld();
    const sha = commit(world.bare, { "a.txt": "1\n" });
    git(world.bare, ["tag", "v1", sha]);
    await world.fetch();
    damage(mirrorOf(world));
    assert.equal(await world.fetch(), sha);
    const { directory } = await world.checkout();
    assert.equal(readFileSync(join(directory, "a.txt"), "utf8"), "1\n");
    assert.equal(git(mirrorOf(world), ["fsck", "--full"]), "");
    assert.equal(git(mirrorOf(world), ["rev-parse", "v1"]), sha);
  });
}

test("a bit that flipped in a pack is never handed out, and the next fetch heals it", async () => {
  await using world = await createWorld();
  const sha = commit(world.bare, { "a.txt": "some text that is long enough\n".repeat(20) });
  await world.fetch();
  const packs = join(mirrorOf(world), "objects", "pack");
  const pack = join(packs, readdirSync(packs).find((name) => name.endsWith(".pack")) ?? "");
  // A disk that rots changes no time: the pack gets one that can be set again exactly, and is remembered with it.
  const SECONDS = 1_700_000_000;
  utimesSync(pack, SECONDS, SECONDS);
  rmSync(join(mirrorOf(world), "agent-fix-state.json"));
  await world.fetch();
  const bytes = readFileSync(pack);
  const IN_THE_LAST_OBJECT = bytes.length - 30;
  bytes[IN_THE_LAST_OBJECT] = 255 - (bytes[IN_THE_LAST_OBJECT] ?? 0);
  chmodSync(pack, 0o644);
  writeFileSync(pack, bytes);
  utimesSync(pack, SECONDS, SECONDS);
  await world.fetch();
  const refused = await world.workspaces.checkout("run1", REPOSITORY_ID, sha, "work", never);
  assert.equal(failure(refused).code, "git_failed");
  assert.equal((await world.checkout()).sha, sha);
});

/** Packs are read-only files: replaced, not written to. */
function replacePacks(mirror: string, names: RegExp, change: (bytes: Buffer) => Buffer | null): void {
  const packs = join(mirror, "objects", "pack");
  for (const name of readdirSync(packs)) {
    if (!names.test(name)) continue;
    const bytes = change(readFileSync(join(packs, name)));
    rmSync(join(packs, name));
    if (bytes !== null) writeFileSync(join(packs, name), bytes);
  }
}

test("the least recently used mirrors go when the cache is over its cap", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  let now = systemClock.now();
  const workspaces = world.again({ mirrorCapBytes: 1, clock: { ...systemClock, now: () => now } });
  for (const id of [1, 2, 3]) value(await workspaces.fetch({ ...world.source, id }, "main", noToken, never));
  assert.equal(existsSync(mirrorOf(world, 1)), true, "one that a run may still read is kept");
  now += 2 * 60 * 60_000;
  value(await workspaces.fetch({ ...world.source, id: 3 }, "main", noToken, never));
  assert.deepEqual(
    [1, 2, 3].map((id) => existsSync(mirrorOf(world, id))),
    [false, false, true],
  );
});

test("a mirror that nobody used for a month goes, with the checkout kept beside it; a run's own copy stays", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  let now = systemClock.now();
  const workspaces = world.again({ clock: { ...systemClock, now: () => now } });
  const get = (id: number) => workspaces.fetch({ ...world.source, id }, "main", noToken, never);
  const sha = value(await get(1)).headSha;
  const directory = value(await workspaces.checkout("run1", 1, sha, "work", never));
  const kept = join(world.dataDir, "mirrors", "1.ready");
  assert.equal(existsSync(kept), true);
  now += 31 * 24 * 60 * 60_000;
  // The spare checkout may still be on its way: as long as somebody works on a mirror, it stays.
  while (existsSync(mirrorOf(world, 1))) await get(2);
  assert.equal(existsSync(kept), false);
  const told = await world.shell(directory, "git log --format=%s; git fsck --full; cat a.txt");
  assert.equal(told.stdout.head, "change\n1\n");
});

test("a local repository is fetched by a file address only when it was named", async () => {
  await using world = await createWorld();
  const sha = commit(world.bare, { "a.txt": "1\n" });
  const source = { id: 5, cloneUrl: `file://${world.bare}` };
  assert.equal(failure(await world.workspaces.fetch(source, "main", noToken, never)).code, "refused_url");
  const workspaces = world.again({ localRepositories: [world.bare] });
  assert.equal(value(await workspaces.fetch(source, "main", noToken, never)).headSha, sha);
});

test("E11: hostile submodules do not stop the fetch and start nothing", async () => {
  await using world = await createWorld();
  const marker = join(world.directory, "marker");
  const other = "1".repeat(40);
  commit(world.bare, {
    "a.txt": "1\n",
    ".gitmodules": `[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch% ${marker}"\n[submodule "y"]\n\tpath = -x\n\turl = -u./payload\n\tupdate = !touch ${marker}\n`,
    x: { mode: "160000", content: other },
    "-x": { mode: "160000", content: other },
  });
  const at = await world.checkout();
  assert.deepEqual(readdirSync(at.directory).sort(), ["-x", ".git", ".gitmodules", "a.txt", "x"]);
  assert.deepEqual(readdirSync(join(at.directory, "x")), []);
  assert.equal(statSync(join(at.directory, "a.txt")).size, 2);
  await world.shell(at.directory, "echo 2 > a.txt; rmdir x; echo file > x");
  const built = value(
    await world.workspaces.buildTree({
      runId: "run1",
      repositoryId: REPOSITORY_ID,
      baseSha: at.sha,
      directory: at.directory,
      edited: ["x"],
      noise: [],
    }),
  );
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["a.txt"],
  );
  assert.equal(existsSync(marker), false);
});
