/** The app hears its own writes back from GitHub as webhooks: a storm of them is answered at the door and causes no work. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { FULL } from "#test/support/tier.ts";
import { appRig, REPO } from "./rig.ts";

const EDITS = FULL ? 500 : 60;

test(`F05: ${EDITS} edits of the app's own comment, its comments, labels and branches cause no record, no hint and no call`, async () => {
  const work = { records: 0, reads: 0 };
  await using rig = await appRig({
    commits: true,
    wrapStore: (store) => ({
      ...store,
      receive: (...values) => {
        work.records++;
        return store.receive(...values);
      },
      latestRun: (...values) => {
        work.reads++;
        return store.latestRun(...values);
      },
    }),
  });
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents", body: "x" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const before = { ...work, pushed: rig.pushed.length, sent: rig.hub.webhooks.deliveries().length };
  const github = rig.github("write");
  const made = await github.createComment(number, "/approve\n\n/cancel");
  assert.ok(made.ok);
  for (let at = 0; at < EDITS; at++) assert.ok((await github.editComment(made.value.id, `/cancel ${at}`)).ok);
  assert.ok((await github.addLabels(number, ["helped"])).ok);
  assert.ok((await github.reactToIssue(number, "eyes")).ok);
  assert.ok((await github.createBranch("agent-fix/issue-1-x", rig.headSha)).ok);
  const calls = rig.hub.calls().length;
  await rig.settled();
  const events = rig.hub.webhooks.deliveries().slice(before.sent);
  assert.ok(events.length > EDITS, "GitHub told of them");
  assert.ok(events.every(({ statusCode }) => statusCode === 200));
  assert.equal(rig.hub.calls().length, calls, "no call");
  assert.equal(rig.pushed.length, before.pushed, "no hint");
  assert.deepEqual(work, { records: before.records, reads: before.reads }, "no look at the store");
  assert.deepEqual(await rig.facts(), []);
});
