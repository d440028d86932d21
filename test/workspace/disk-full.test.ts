/** A full disk is one clear failure, and what was there before stays usable. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { skipUnless } from "#test/support/tier.ts";
import { commit } from "./repository.ts";
import { createWorld, failure, never, noToken, REPOSITORY_ID, value } from "./world.ts";

test("fetching onto a full disk is disk_full, and goes on when there is room", {
  skip: skipUnless(process.getuid?.() === 0, "only root can mount a small file system to fill"),
}, async () => {
  await using world = await createWorld();
  const small = join(world.directory, "small");
  mkdirSync(small);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs", small]);
  try {
    const workspaces = world.again({ dataDir: small });
    const first = commit(world.bare, { "a.txt": "1\n" });
    const fetch = () => workspaces.fetch(world.source, "main", noToken, never);
    assert.equal(value(await fetch()).headSha, first);
    commit(world.bare, { "big.bin": randomBytes(3_000_000) });
    assert.equal(failure(await fetch()).code, "disk_full");
    assert.equal((await workspaces.files(REPOSITORY_ID, first).list()).length, 1);
    execFileSync("mount", ["-o", "remount,size=20m", small]);
    const full = value(await fetch()).headSha;
    execFileSync("mount", ["-o", "remount,size=5m", small]);
    const refused = await workspaces.checkout("run1", REPOSITORY_ID, full, "work", never);
    assert.equal(failure(refused).code, "disk_full");
  } finally {
    execFileSync("umount", [small]);
  }
});
