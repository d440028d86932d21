/** Dropping what is kept of a repository: mirror, kept checkout and package cache, never under a user, and found again when it was cut off. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testPart } from "#test/support/tier.ts";
import { commit } from "./repository.ts";
import { createWorld, never, REPOSITORY_ID, RUN, value, type World } from "./world.ts";

const test = testPart(0.7);

const yes = async () => true;

async function used(): Promise<World> {
  const world = await createWorld();
  commit(world.bare, { a: "1" });
  const { sha } = await world.checkout("base");
  await world.workspaces.withCache(RUN, REPOSITORY_ID, async (directory) => {
    writeFileSync(join(directory, "package"), "1");
  });
  assert.ok(sha !== "");
  return world;
}

/** What of the repository lies there. */
function lying({ dataDir }: World, id = REPOSITORY_ID): readonly string[] {
  return ["mirrors", "caches"].flatMap((place) =>
    existsSync(join(dataDir, place))
      ? readdirSync(join(dataDir, place)).filter(
          (name) => name.split(".")[0] === String(id) && !/lock/.test(name),
        )
      : [],
  );
}

test("all that is kept of a repository goes, another's stays, and the next fetch makes it anew", async () => {
  await using world = await used();
  const { workspaces, source } = world;
  value(await workspaces.fetch({ ...source, id: 43 }, "main", async () => null, never));
  const other = lying(world, 43);
  assert.deepEqual((await workspaces.cached()).toSorted(), [REPOSITORY_ID, 43]);
  await workspaces.remove(RUN, false);
  assert.equal(await workspaces.dropCached(REPOSITORY_ID, yes), true);
  assert.deepEqual(lying(world), []);
  assert.deepEqual(lying(world, 43), other);
  assert.deepEqual(await workspaces.cached(), [43]);
  assert.equal(await workspaces.dropCached(REPOSITORY_ID, yes), true, "again is no harm");
  assert.ok((await world.fetch()) !== "");
});

test("it is not dropped while a run has a workspace, works on the mirror or fills the cache, nor when somebody says no", async () => {
  await using world = await used();
  const { workspaces } = world;
  const drop = (isFree = yes) => world.again({}).dropCached(REPOSITORY_ID, isFree);
  assert.equal(await drop(async () => false), false);
  assert.ok(existsSync(join(world.dataDir, "mirrors", `${REPOSITORY_ID}.git`, "HEAD")));
  assert.equal(await drop(), false, "a run has a workspace in which the cache is read");
  assert.ok(existsSync(join(world.dataDir, "caches", String(REPOSITORY_ID), "package")));
  await world.fetch();
  await workspaces.remove(RUN, false);
  await workspaces.withCache("run2", REPOSITORY_ID, async () => {
    assert.equal(await drop(), false);
    assert.ok(existsSync(join(world.dataDir, "caches", String(REPOSITORY_ID), "package")));
  });
  const held = Promise.withResolvers<void>();
  const holding = Promise.withResolvers<void>();
  await world.fetch();
  const fetching = workspaces.fetch(
    world.source,
    "main",
    async () => {
      holding.resolve();
      await held.promise;
      return null;
    },
    never,
  );
  await holding.promise;
  assert.equal(await drop(), false, "somebody fetches");
  held.resolve();
  value(await fetching);
  assert.equal(await drop(), true);
  assert.deepEqual(lying(world), []);
});

test("a drop that was cut off is seen, and the next one takes the rest", async () => {
  await using world = await used();
  await world.workspaces.remove(RUN, false);
  assert.equal(await world.workspaces.dropCached(REPOSITORY_ID, yes), true);
  const rests = [
    ...[
      `mirrors/${REPOSITORY_ID}.git.gone`,
      `mirrors/${REPOSITORY_ID}.git.new`,
      `mirrors/${REPOSITORY_ID}.ready`,
    ],
    ...[`caches/${REPOSITORY_ID}`, `caches/${REPOSITORY_ID}.users`],
  ];
  for (const rest of rests) {
    mkdirSync(join(world.dataDir, rest), { recursive: true });
    assert.deepEqual(await world.workspaces.cached(), [REPOSITORY_ID], rest);
    assert.equal(await world.workspaces.dropCached(REPOSITORY_ID, yes), true);
    assert.deepEqual(lying(world), []);
  }
});
