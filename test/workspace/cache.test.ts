/** Package caches: kept per repository, never shared with one that is being filled, and evicted only when no run needs them. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createCaches } from "#src/workspace/cache.ts";
import { createLocks } from "#src/workspace/lock.ts";
import { placesUnder } from "#src/workspace/places.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const DAY_MS = 24 * 60 * 60_000;

async function world(capBytes = 1_000_000) {
  const dir = await tempDir("cache-");
  let now = systemClock.now();
  const clock = { ...systemClock, now: () => now };
  const places = placesUnder(dir.path, null);
  mkdirSync(places.runs);
  const make = () =>
    createCaches({
      ...{ places, clock, log: silentLog, capBytes },
      locks: createLocks(places.caches, clock, systemIds),
    });
  return {
    caches: make(),
    other: make(),
    path: (id: number) => join(places.caches, String(id)),
    /** A run has a workspace as long as its directory holds something. */
    startRun: (runId: string) => mkdirSync(join(places.runs, runId, "base"), { recursive: true }),
    pass: (ms: number) => {
      now += ms;
    },
    [Symbol.asyncDispose]: () => dir.remove(),
  };
}

test("a repository finds what its last set-up left, and no other repository does", async () => {
  await using at = await world();
  const first = await at.caches.with("run1", 1, async (directory) => {
    writeFileSync(join(directory, "package"), "1");
    return directory;
  });
  await at.caches.with("run2", 1, async (directory) => {
    assert.equal(directory, first);
    assert.deepEqual(readdirSync(directory), ["package"]);
  });
  await at.caches.with("run3", 2, async (directory) => assert.deepEqual(readdirSync(directory), []));
  assert.equal(lstatSync(first).mode & 0o777, 0o700);
});

test("a second set-up at the same time waits for nobody and gets an empty directory of its own", async () => {
  await using at = await world();
  await at.caches.with("run1", 1, async (mine) => {
    writeFileSync(join(mine, "half"), "");
    for (const caches of [at.caches, at.other])
      await caches.with("run2", 1, async (directory) => {
        assert.notEqual(directory, mine);
        assert.deepEqual(readdirSync(directory), []);
      });
  });
});

test("what fails in a set-up is told to its caller, and the cache can be used again", async () => {
  await using at = await world();
  await assert.rejects(
    at.caches.with("run1", 1, async () => {
      throw new Error("broken");
    }),
    /broken/,
  );
  assert.equal(await at.caches.with("run2", 1, async () => "again"), "again");
});

test("over the cap the least recently used cache goes, but none that a run still has a workspace for", async () => {
  await using at = await world(250);
  const fill = (runId: string, id: number) =>
    at.caches.with(runId, id, async (directory) => writeFileSync(join(directory, "x"), "x".repeat(100)));
  at.startRun("run1");
  for (const [run, id] of [
    ["run1", 1],
    ["run2", 2],
    ["run3", 3],
  ] as const) {
    await fill(run, id);
    at.pass(1_000);
  }
  await fill("run4", 4);
  assert.deepEqual(
    [1, 2, 3, 4].map((id) => existsSync(at.path(id))),
    [true, false, true, true],
  );
});

test("a cache unused for a month goes, whatever its size", async () => {
  await using at = await world();
  await at.caches.with("run1", 1, async () => undefined);
  at.pass(31 * DAY_MS);
  await at.caches.with("run2", 2, async () => undefined);
  assert.equal(existsSync(at.path(1)), false);
});

test("links and odd things that a set-up left in its cache are counted by what they are, and nothing outside is touched", async () => {
  await using at = await world(10);
  const outside = `${at.path(1)}-outside`;
  await at.caches.with("run1", 1, async (directory) => {
    writeFileSync(outside, "kept");
    symlinkSync(outside, join(directory, "file"));
    symlinkSync("/", join(directory, "root"));
    mkdirSync(join(directory, "closed"));
    chmodSync(join(directory, "closed"), 0o000);
    writeFileSync(join(directory, "big"), "x".repeat(50));
  });
  at.pass(1_000);
  await at.caches.with("run2", 2, async () => undefined);
  assert.equal(existsSync(at.path(1)), false);
  assert.equal(readFileSync(outside, "utf8"), "kept");
});

test("names that are no text are counted like any other, files and directories alike", async () => {
  await using at = await world();
  const odd = Buffer.from([0x61, 0xff]);
  await at.caches.with("run1", 1, async (directory) => {
    const below = Buffer.concat([Buffer.from(`${directory}/`), odd]);
    mkdirSync(below);
    writeFileSync(Buffer.concat([below, Buffer.from("/"), odd]), "12345");
  });
  assert.equal(readFileSync(`${at.path(1)}.size`, "utf8"), "5");
});
