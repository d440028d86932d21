/** What hostile code leaves in a checkout runs nothing and reveals nothing when the app's git looks at it. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { attackedBackends } from "#test/attacks/backends.ts";
import { GIT, type GitAttack } from "#test/attacks/list/git.ts";
import { sample, skipUnless } from "#test/support/tier.ts";
import { commit } from "#test/workspace/repository.ts";
import { createWorld, REPOSITORY_ID, RUN, value, type World } from "#test/workspace/world.ts";

const QUICK = 2;
const SECRET = "CANARY-of-the-host";
const MARK = "touch /workspace/pwned";

for (const backend of await attackedBackends())
  describe(`git over a hostile workspace on ${backend.name}`, {
    skip: skipUnless(backend.missing === null, backend.missing ?? ""),
  }, () => {
    let world: World;
    let outside: string;
    before(async () => {
      world = await createWorld({}, backend.make);
      outside = join(world.directory, "outside");
      mkdirSync(join(outside, "directory"), { recursive: true, mode: 0o777 });
      for (const name of ["file", "directory/file"])
        writeFileSync(join(outside, name), SECRET, { mode: 0o666 });
      commit(world.bare, {
        "a.txt": "1\n",
        "c.txt": "1\n",
        "dir/file": "1\n",
        ".gitattributes": "* text=auto\n",
      });
    });
    after(() => world[Symbol.asyncDispose]());
    for (const [index, attack] of sample(GIT, QUICK).entries())
      test(`${attack.fault === undefined ? "" : `${attack.fault}: `}${attack.name}`, () =>
        play(attack, { world, outside, name: `w${index}` }));
  });

async function play(
  attack: GitAttack,
  at: { readonly world: World; readonly outside: string; readonly name: string },
): Promise<void> {
  const { world, outside, name } = at;
  const { workspaces } = world;
  const { sha, directory } = await world.checkout(name);
  const ours = repositoriesOf(world);
  await world.shell(
    directory,
    `mark=${JSON.stringify(MARK)} OUTSIDE=${JSON.stringify(outside)} DATA_DIR=${JSON.stringify(world.dataDir)}; echo 2 > a.txt; ${attack.plant}\nrm -f /workspace/pwned`,
  );
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: sha, directory };
  await workspaces.dirtyPaths(request);
  const built = await workspaces.buildTree({ ...request, edited: attack.edited ?? [], noise: [] });
  assert.equal(existsSync(join(directory, "pwned")), false, "a command of the attacker ran");
  assert.deepEqual(repositoriesOf(world), ours, "a repository of the app has changed");
  if (attack.refused !== undefined) {
    assert.ok(!built.ok && built.error.code === attack.refused, JSON.stringify(built));
    return;
  }
  const tree = value(built);
  const changed = tree.changes.map(({ path }) => path);
  assert.ok(changed.includes("a.txt"), changed.join(", "));
  assert.ok(!JSON.stringify(tree).includes(SECRET), "something of the host is in the tree");
  for (const { path } of tree.changes) {
    assert.doesNotMatch(path, /(?:^|\/)(?:\.git|git~1)[ .]*(?:\/|$)/i);
    const bytes = await workspaces.readTreeFile(RUN, REPOSITORY_ID, tree.treeId, path);
    assert.ok(!Buffer.from(bytes ?? []).includes(SECRET), `${path} holds something of the host`);
  }
  const copy = value(
    await workspaces.checkout(RUN, REPOSITORY_ID, sha, `${name}-again`, new AbortController().signal),
  );
  value(await workspaces.applyTree({ ...request, directory: copy, treeId: tree.treeId, except: [] }));
  const clone = await workspaces.copy(RUN, directory, `${name}-copy`);
  assert.equal(clone.ok, attack.uncopyable !== true, JSON.stringify(clone).slice(0, 500));
  for (const place of [directory, copy, clone.ok ? clone.value : directory])
    assert.equal(existsSync(join(place, "pwned")), false, place);
  for (const file of ["file", "directory/file"])
    assert.equal(readFileSync(join(outside, file), "utf8"), SECRET);
  assert.equal(readFileSync(join(copy, "a.txt"), "utf8"), "2\n");
}

/** Settings, hooks and references of the mirror and of the run's repository. */
function repositoriesOf(world: World): readonly string[] {
  return [join(world.dataDir, "mirrors"), join(world.dataDir, "runs", RUN, "pristine.git")].flatMap((root) =>
    !existsSync(root)
      ? []
      : readdirSync(root, { recursive: true, withFileTypes: true })
          .filter(
            (entry) => entry.isFile() && !/objects/.test(entry.parentPath) && !/lock|used/.test(entry.name),
          )
          .map((entry) => join(entry.parentPath, entry.name))
          .sort()
          .map((path) => `${path}: ${readFileSync(path, "latin1").slice(0, 2_000)}`),
  );
}
