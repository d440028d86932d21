/** Webhook deliveries that come twice, at once, later, and after a restart. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Delivery } from "#src/github/sim/webhooks.ts";
import { LABEL, MAINTAINER, type Outside, REPO } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { inTurn } from "#test/support/tier.ts";

const suite = inTurn(1, 4) ? describe : () => undefined;

suite("deliveries from outside", () => {
  const shared = sharedWorld({ script: smallJob, files: SMALL_FILES });

  test("F01: every delivery sent twice, and again after a restart, makes one run, one comment of each kind, one pull request", async () => {
    const world = shared.get();
    const { github } = world;
    const issue = world.openIssue();
    github.webhooks.duplicateNext(1);
    github.label(REPO, issue, MAINTAINER, LABEL);
    const label = deliveryOf(world, "labeled");
    github.webhooks.redeliver(label.id);
    await world.untilComment(issue, "plan");
    await world.untilState(issue, "awaiting_approval");
    github.webhooks.redeliver(label.id);
    await github.settled();
    assert.equal(world.runs().length, 1);

    await world.stop();
    await world.restart();
    github.webhooks.redeliver(label.id);
    github.webhooks.duplicateNext(1);
    github.comment(REPO, issue, MAINTAINER, "/approve unverified");
    const approval = deliveryOf(world, "created");
    await world.untilState(issue, "published");
    github.webhooks.redeliver(approval.id);
    await world.untilComment(issue, "status", { text: /done: pull request/ });
    // A delivery that is under way when the server stops is lost, as on GitHub.
    await github.settled();

    await world.stop();
    await world.restart();
    for (const { id } of [label, approval]) github.webhooks.redeliver(id);
    await github.settled();
    // The answer to a command that was taken twice would come after this one's.
    const last = github.comment(REPO, issue, MAINTAINER, "/status");
    await world.untilComment(issue, "answer", { forComment: last });

    assert.equal(world.runs().length, 1);
    assert.equal(github.pullRequests(REPO).length, 1);
    const kinds = world.comments(issue).map((comment) => comment.marker.kind);
    assert.deepEqual(kinds, ["status", "plan", "answer"]);
    assert.equal((await github.git(REPO).refs()).size, 2, "main and one branch");
    const guids = [label.guid, approval.guid];
    const sents = github.webhooks.deliveries().filter((one) => guids.includes(one.guid));
    assert.equal(sents.length, 10);
    for (const sent of sents) {
      assert.equal(sent.statusCode, 200, `${sent.event}.${sent.action}: ${sent.status}`);
      assert.ok(sent.duration < 10);
    }
    assert.match(world.output(), /a delivery came again; ignored/);
  });
});

function deliveryOf(world: Outside, action: string): Delivery {
  const found = world.github.webhooks
    .deliveries()
    .findLast((one) => one.action === action && !one.redelivery);
  assert.ok(found !== undefined, `no delivery ${action}`);
  return found;
}
