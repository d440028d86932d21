/** With `SANDBOX=none`, asked for by name, the same scripts work on the host's own paths. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createNone } from "#src/sandbox/none.ts";
import { skipUnless } from "#test/support/tier.ts";
import { commit } from "./repository.ts";
import { createWorld, never, noToken, PATH, REPOSITORY_ID, RUN, value } from "./world.ts";

test("trees are built, applied and copied without a sandbox, in a directory with a space", {
  skip: skipUnless(process.getuid?.() !== 0, "SANDBOX=none never runs as root"),
}, async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n", "b.txt": "1\n" });
  const dataDir = join(world.directory, "data of none");
  mkdirSync(dataDir);
  const sandbox = createNone({ dataDir, clock: systemClock, ids: systemIds, log: silentLog, hostPath: PATH });
  const workspaces = world.again({ dataDir, sandbox, owner: null });
  const sha = value(await workspaces.fetch(world.source, "main", noToken, never)).headSha;
  const directory = value(await workspaces.checkout(RUN, REPOSITORY_ID, sha, "work", never));
  writeFileSync(join(directory, "a.txt"), "2\n");
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: sha, directory };
  const built = value(await workspaces.buildTree({ ...request, edited: [], noise: [] }));
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["a.txt"],
  );
  const copy = value(await workspaces.copy(RUN, directory, "copy"));
  value(await workspaces.applyTree({ ...request, directory: copy, treeId: built.treeId, except: ["a.txt"] }));
  assert.deepEqual(value(await workspaces.dirtyPaths({ ...request, directory: copy })), []);
});
