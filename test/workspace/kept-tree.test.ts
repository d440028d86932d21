/** A tree that outlives its run's workspace: packed, and put into another run's repository onto whatever the branch is by then. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { testPart } from "#test/support/tier.ts";
import { commit, executable, git } from "./repository.ts";
import { createWorld, failure, never, REPOSITORY_ID, RUN, value, type World } from "./world.ts";

const test = testPart(0.25);
const NEXT = "run2";

async function change(world: World, command: string, edited: readonly string[] = []) {
  const at = await world.checkout();
  await world.shell(at.directory, command);
  const of = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha };
  const request = { ...of, directory: at.directory, edited, noise: [] };
  const { treeId } = value(await world.workspaces.buildTree(request));
  const pack = value(await world.workspaces.packTree({ ...of, treeId }));
  await world.workspaces.remove(RUN, false);
  assert.equal(existsSync(join(world.dataDir, "runs", RUN)), false);
  return { repositoryId: REPOSITORY_ID, baseSha: at.sha, treeId, pack };
}

const adopt = (world: World, kept: Awaited<ReturnType<typeof change>>, ontoSha: string) =>
  world.workspaces.adoptTree({ runId: NEXT, ...kept, ontoSha });

const BASE = { "a.js": "1\n2\n3\n4\n5\n6\n7\n8\n", "b.js": "b\n", run: executable("x\n"), gone: "x\n" };

test("another run has the very tree: changed, new, deleted, modes, links, binary and odd names", async () => {
  await using world = await createWorld();
  commit(world.bare, BASE);
  const kept = await change(
    world,
    "sed -i s/1/ONE/ a.js; rm gone; chmod -x run; ln -s a.js l; mkdir -p d/ü; printf '\\000\\377' > 'd/ü/x y'",
    ["l", "d/ü/x y"],
  );
  const adopted = value(await adopt(world, kept, kept.baseSha));
  assert.equal(adopted.treeId, kept.treeId);
  assert.deepEqual([...adopted.paths].sort(), ["a.js", "d/ü/x y", "gone", "l", "run"].sort());
  const at = { runId: NEXT, repositoryId: REPOSITORY_ID };
  const copy = value(await world.workspaces.checkout(NEXT, REPOSITORY_ID, kept.baseSha, "work-0", never));
  value(
    await world.workspaces.applyTree({
      ...{ ...at, directory: copy, baseSha: kept.baseSha, treeId: adopted.treeId, except: [] },
    }),
  );
  const again = { ...at, baseSha: kept.baseSha, directory: copy, edited: adopted.paths, noise: [] };
  assert.equal(value(await world.workspaces.buildTree(again)).treeId, kept.treeId);
});

test("on a base that has moved it is merged; a conflict names the paths; what the base has already is no change", async () => {
  await using world = await createWorld();
  commit(world.bare, BASE);
  const kept = await change(world, "sed -i s/1/ONE/ a.js");
  commit(world.bare, { "b.js": "theirs\n", "a.js": "1\n2\n3\n4\n5\n6\n7\nEIGHT\n" });
  const moved = value(await adopt(world, kept, await world.fetch()));
  assert.deepEqual(moved.paths, ["a.js"]);
  const listing = git(join(world.dataDir, "runs", NEXT, "pristine.git"), ["show", `${moved.treeId}:a.js`]);
  assert.equal(listing, "ONE\n2\n3\n4\n5\n6\n7\nEIGHT");
  commit(world.bare, { "a.js": "uno\n2\n3\n4\n5\n6\n7\nEIGHT\n" });
  const conflict = failure(await adopt(world, kept, await world.fetch()));
  assert.equal(conflict.code, "conflict");
  assert.match(conflict.message, /in a\.js\./);
  commit(world.bare, { "a.js": "ONE\n2\n3\n4\n5\n6\n7\nEIGHT\n" });
  assert.deepEqual(value(await adopt(world, kept, await world.fetch())).paths, []);
});

test("a patch of nothing is kept too; a torn pack, and a base that is gone, are failures and no crash", async () => {
  await using world = await createWorld();
  commit(world.bare, BASE);
  const nothing = await change(world, "true");
  assert.deepEqual(value(await adopt(world, nothing, nothing.baseSha)).paths, []);
  const kept = await change(world, "echo c > b.js");
  const torn = { ...kept, pack: kept.pack.subarray(0, kept.pack.length - 5) };
  assert.notEqual(failure(await adopt(world, torn, kept.baseSha)).code, "conflict");
  const lost = { ...kept, baseSha: "1".repeat(40) };
  assert.notEqual(failure(await adopt(world, lost, kept.baseSha)).code, "conflict");
  const strange = { ...kept, treeId: "HEAD --output=/x" };
  assert.equal(failure(await adopt(world, strange, kept.baseSha)).code, "git_failed");
});

test("more than a patch weighs is not kept, and the failure says so", async () => {
  await using world = await createWorld();
  commit(world.bare, BASE);
  await assert.rejects(
    change(world, "head -c 20000000 /dev/urandom > big.bin", ["big.bin"]),
    /git_failed|more than|limit|output/i,
  );
});
