/** What is kept of repositories that the app does not reach any more goes, by GitHub's word and not by an event's, and never under a run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { dropUnreached, type RepositoryCaches } from "#src/app/unreached.ts";
import { LABEL } from "#src/gate/label.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

interface Kept extends RepositoryCaches {
  readonly ids: Set<number>;
  /** Called in the middle of a drop, when nobody can begin to use it. */
  during: () => Promise<void>;
}

function kept(): Kept {
  const ids = new Set<number>();
  const caches: Kept = {
    ids,
    during: async () => undefined,
    cached: async () => [...ids],
    dropCached: async (id, isFree) => {
      await caches.during();
      return (await isFree()) && ids.delete(id);
    },
  };
  return caches;
}

/** A repository that a run has used, and that has ended unless `open`. */
async function used(caches: Kept, open = false): Promise<AppRig> {
  const rig = await appRig({ caches });
  await label(rig);
  if (!open) await rig.endRun();
  // Another repository of another owner, which stays.
  await rig.hub.createRepository({ owner: "other", name: "tool", files: {} });
  rig.hub.install({ repositories: ["other/tool"] });
  caches.ids.add(rig.repo.id);
  // A local checkout, which no run on GitHub used.
  caches.ids.add(3_000_000_000);
  return rig;
}

async function label(rig: AppRig): Promise<void> {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
}

const GONE: readonly (readonly [string, (rig: AppRig) => void])[] = [
  ["uninstalled", ({ hub, installation }) => hub.uninstall(installation)],
  ["taken out", ({ hub, installation }) => hub.removeFromInstallation(installation, REPO)],
  ["deleted", ({ hub }) => hub.deleteRepository(REPO, "maya")],
  ["transferred", ({ hub }) => hub.transferRepository(REPO, "new-owner", "maya")],
];

for (const [what, lose] of GONE)
  test(`${what}: what is kept of that repository is dropped when the event comes, and nothing else is`, async () => {
    const caches = kept();
    await using rig = await used(caches);
    lose(rig);
    await rig.settled();
    assert.deepEqual([...caches.ids], [3_000_000_000]);
    assert.deepEqual(rig.violations(), []);
  });

test("an event that was lost, and a drop that was cut off or failed, are made up for by the next look", async () => {
  const caches = kept();
  await using rig = await used(caches);
  rig.hub.webhooks.dropNext(9);
  rig.hub.uninstall(rig.installation);
  await rig.settled();
  assert.ok(caches.ids.has(rig.repo.id));
  caches.during = () => Promise.reject(new Error("killed"));
  assert.equal(await dropUnreached(rig.edge), false);
  assert.ok(caches.ids.has(rig.repo.id));
  caches.during = async () => undefined;
  assert.equal(await dropUnreached(rig.edge), true);
  assert.ok(!caches.ids.has(rig.repo.id));
});

test("nothing is dropped under a run that has not ended; soon after it has, it is", async () => {
  const caches = kept();
  await using rig = await used(caches, true);
  rig.hub.removeFromInstallation(rig.installation, REPO);
  await rig.settled();
  assert.ok(caches.ids.has(rig.repo.id));
  await rig.endRun();
  await rig.clock.advance(10_000);
  await rig.settled();
  assert.ok(!caches.ids.has(rig.repo.id));
});

test("a run that begins in the middle of a drop keeps what is there", async () => {
  const caches = kept();
  await using rig = await used(caches);
  rig.hub.webhooks.dropNext(9);
  rig.hub.removeFromInstallation(rig.installation, REPO);
  await rig.settled();
  rig.hub.webhooks.dropNext(-9);
  caches.during = async () => {
    rig.hub.addToInstallation(rig.installation, REPO);
    await label(rig);
  };
  assert.equal(await dropUnreached(rig.edge), false);
  assert.ok(caches.ids.has(rig.repo.id));
  await rig.endRun();
  assert.equal(await dropUnreached(rig.edge), true);
  assert.ok(caches.ids.has(rig.repo.id), "the repository is reached again");
});

test("what is suspended, archived, or not told by GitHub stays", async () => {
  const caches = kept();
  await using rig = await used(caches);
  const { hub, installation } = rig;
  hub.setArchived(REPO, true, "maya");
  hub.setSuspended(installation, true);
  await rig.settled();
  assert.equal(await dropUnreached(rig.edge), true);
  assert.ok(caches.ids.has(rig.repo.id));
  hub.setSuspended(installation, false);
  for (const path of [/app\/installations$/, /installation\/repositories$/]) {
    hub.fault({ method: "GET", path, times: 9, fault: { kind: "status", status: 404 } });
    assert.equal(await dropUnreached(rig.edge), true);
    hub.clearFaults();
  }
  assert.ok(caches.ids.has(rig.repo.id));
  assert.deepEqual(rig.violations(), []);
});
