/** What becomes of installations, repositories and issues reaches the runs that stand on them, over HTTP; where the app lost its right, nothing is sent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

async function withRun(): Promise<AppRig & { readonly number: number }> {
  const rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents", body: "x" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  // A token is kept from here on.
  assert.ok((await rig.github("read").issue(number)).ok);
  return { ...rig, number };
}

/** Calls sent by `work`. */
async function sent(rig: AppRig, work: () => Promise<unknown>): Promise<number> {
  const before = rig.hub.calls().length;
  await work();
  return rig.hub.calls().length - before;
}

const LOSSES: readonly {
  readonly why: string;
  readonly by?: string;
  readonly lose: (rig: AppRig & { readonly number: number }) => void;
  /** What a call says from then on; null: calls are still sent. */
  readonly code: string | null;
}[] = [
  { why: "app_uninstalled", lose: ({ hub, installation }) => hub.uninstall(installation), code: "not_found" },
  {
    why: "app_suspended",
    lose: ({ hub, installation }) => hub.setSuspended(installation, true),
    code: "suspended",
  },
  {
    why: "repository_removed",
    lose: ({ hub, installation }) => hub.removeFromInstallation(installation, REPO),
    code: "not_found",
  },
  {
    why: "repository_archived",
    by: "maya",
    lose: ({ hub }) => hub.setArchived(REPO, true, "maya"),
    code: "suspended",
  },
  {
    why: "repository_deleted",
    by: "maya",
    lose: ({ hub }) => hub.deleteRepository(REPO, "maya"),
    code: "not_found",
  },
  {
    why: "repository_transferred",
    by: "maya",
    lose: ({ hub }) => hub.transferRepository(REPO, "new-owner", "maya"),
    code: "not_found",
  },
  {
    why: "issue_deleted",
    by: "maya",
    lose: ({ hub, number }) => hub.deleteIssue(REPO, number, "maya"),
    code: null,
  },
];

for (const { why, by = "acme", lose, code } of LOSSES)
  test(`${why.replace("_", " ")}: the run is told, and no call is sent without a right`, async () => {
    await using rig = await withRun();
    lose(rig);
    await rig.settled();
    const [first] = await rig.facts();
    assert.deepEqual(first, { type: "ground_lost", why, by });
    assert.equal(rig.pushed.at(-1)?.lane, "desk");
    if (code === null) return;
    const count = await sent(rig, async () => {
      for (const phase of ["read", "write"] as const) {
        const refused = await rig.github(phase).issue(rig.number);
        assert.equal(refused.ok ? "" : refused.error.code, code);
        assert.match(refused.ok ? "" : refused.error.message, /nothing was sent/);
      }
      assert.ok(!(await rig.app.gitToken(rig.installation, rig.repo, false)).ok);
    });
    assert.equal(count, 0);
    assert.deepEqual(rig.violations(), []);
    for (const delivery of rig.hub.webhooks.deliveries())
      assert.ok(delivery.statusCode < 300, delivery.event);
  });

test("an issue that moves to another repository ends its run there, and starts none", async () => {
  await using rig = await withRun();
  await rig.hub.createRepository({ owner: "acme", name: "other", files: {} });
  rig.hub.transferIssue(REPO, rig.number, "acme/other", "maya");
  await rig.settled();
  assert.deepEqual(await rig.facts(), [{ type: "ground_lost", why: "issue_transferred", by: "maya" }]);
  assert.equal((await rig.runs()).length, 1);
  assert.deepEqual(rig.violations(), []);
});

for (const [what, lose, regain] of [
  [
    "unsuspended",
    ({ hub, installation }: AppRig) => hub.setSuspended(installation, true),
    ({ hub, installation }: AppRig) => hub.setSuspended(installation, false),
  ],
  [
    "unarchived",
    ({ hub }: AppRig) => hub.setArchived(REPO, true, "maya"),
    ({ hub }: AppRig) => hub.setArchived(REPO, false, "maya"),
  ],
  [
    "added again",
    ({ hub, installation }: AppRig) => hub.removeFromInstallation(installation, REPO),
    ({ hub, installation }: AppRig) => hub.addToInstallation(installation, REPO),
  ],
] as const)
  test(`${what}: calls are sent again at once, and what was not told yet is taken up`, async () => {
    await using rig = await withRun();
    lose(rig);
    await rig.settled();
    const before = rig.pushed.length;
    regain(rig);
    await rig.settled();
    assert.ok((await rig.github("write").createComment(rig.number, "hello")).ok);
    if (what !== "added again") assert.equal(rig.pushed.length, before + 1);
    assert.deepEqual(rig.violations(), []);
  });

for (const [what, lose, regain] of [
  [
    "archived",
    ({ hub }: AppRig) => hub.setArchived(REPO, true, "maya"),
    ({ hub }: AppRig) => hub.setArchived(REPO, false, "maya"),
  ],
  [
    "suspended",
    ({ hub, installation }: AppRig) => hub.setSuspended(installation, true),
    ({ hub, installation }: AppRig) => hub.setSuspended(installation, false),
  ],
  [
    "removed",
    ({ hub, installation }: AppRig) => hub.removeFromInstallation(installation, REPO),
    ({ hub, installation }: AppRig) => hub.addToInstallation(installation, REPO),
  ],
] as const)
  test(`${what}, told after it was taken back: what GitHub says now counts, and not the order of events`, async () => {
    await using rig = await withRun();
    rig.hub.webhooks.hold();
    lose(rig);
    regain(rig);
    rig.hub.webhooks.release((held) => held.toReversed());
    await rig.settled();
    const [first] = await rig.facts();
    assert.equal(first?.type, "ground_lost");
    const { installation: installationId, repo } = rig;
    const where = { installationId, repositoryId: repo.id };
    assert.deepEqual(await rig.app.standing(where), { ok: true, value: "stands" });
    assert.ok((await rig.github("write").createComment(rig.number, "hello")).ok, "calls are sent");
    // And the other way round: taken back only by a late word.
    lose(rig);
    await rig.settled();
    assert.ok(!(await rig.github("write").createComment(rig.number, "hello")).ok);
    const standing = await rig.app.standing(where);
    assert.equal(standing.ok && standing.value, what === "removed" ? "not_found" : "suspended");
    assert.deepEqual(rig.violations(), []);
  });

test("a suspension that no webhook told of is remembered from the first refusal, for ten minutes", async () => {
  await using rig = await withRun();
  rig.hub.setWebhookUrl(null);
  rig.hub.setSuspended(rig.installation, true);
  const first = await rig.github("write").issue(rig.number);
  assert.equal(first.ok ? "" : first.error.code, "suspended");
  const none = await sent(rig, async () => {
    for (let time = 0; time < 5; time++) await rig.github("write").issue(rig.number);
  });
  assert.equal(none, 0);
  rig.hub.setSuspended(rig.installation, false);
  await rig.clock.advance(11 * 60_000);
  assert.ok((await rig.github("write").issue(rig.number)).ok);
});

test("a renamed repository is called by its new name, and by GitHub's redirect until that is known", async () => {
  await using rig = await withRun();
  rig.hub.setWebhookUrl(null);
  rig.hub.renameRepository(REPO, "gadget", "maya");
  const github = rig.github("write");
  assert.ok((await github.issue(rig.number)).ok);
  assert.ok((await github.createComment(rig.number, "hello")).ok);
  rig.hub.setWebhookUrl(`${rig.url}/api/github/webhooks`);
  rig.hub.comment("acme/gadget", rig.number, "maya", "/status");
  await rig.settled();
  assert.equal((await rig.facts()).length, 1, "its run is found by the repository's id");
  assert.equal(rig.app.placeOf(rig.repo.id)?.name, "gadget");
  assert.match(rig.app.placeOf(rig.repo.id)?.cloneUrl ?? "", /acme\/gadget\.git$/);
  const before = rig.hub.calls().length;
  assert.ok((await rig.github("write").createComment(rig.number, "hello")).ok);
  const last = rig.hub.calls().slice(before);
  assert.deepEqual(
    last.map(({ status }) => status),
    [201],
  );
  // The old name may be another repository's by now: the token does not reach it.
  await rig.hub.createRepository({ owner: "acme", name: "widget", private: true, files: {} });
  assert.ok((await rig.github("write").issue(rig.number)).ok);
});

test("locking an issue, installing the app and pinning an issue change nothing", async () => {
  await using rig = await withRun();
  const before = rig.pushed.length;
  rig.hub.lock(REPO, rig.number, "maya");
  rig.hub.unlock(REPO, rig.number, "maya");
  await rig.hub.createRepository({ owner: "acme", name: "second", files: {} });
  rig.hub.install({ repositories: ["acme/second"] });
  await rig.settled();
  assert.deepEqual(await rig.facts(), []);
  assert.equal(rig.pushed.length, before);
});

test("an event about another installation or repository ends nothing here", async () => {
  await using rig = await withRun();
  await rig.hub.createRepository({ owner: "acme", name: "second", files: {} });
  const second = rig.hub.install({ repositories: ["acme/second"] });
  rig.hub.setArchived("acme/second", true, "maya");
  rig.hub.removeFromInstallation(second, "acme/second");
  rig.hub.uninstall(second);
  await rig.settled();
  assert.deepEqual(await rig.facts(), []);
  assert.ok((await rig.github("read").issue(rig.number)).ok);
});
