/** The whole job, driven only from outside: signed webhooks, REST, git and the model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptOf } from "#src/demo/scripts.ts";
import { LABEL, MAINTAINER, outside, REPO } from "#test/support/outside.ts";

test("a labelled issue becomes a plan, and an approved plan a pull request", async () => {
  await outside({ script: scriptOf("good") }, async (world) => {
    const { github } = world;
    const issue = world.openIssue();
    github.label(REPO, issue, MAINTAINER, LABEL);
    const plan = await world.untilComment(issue, "plan");
    assert.match(plan.body, /proven/);
    github.comment(REPO, issue, MAINTAINER, "/approve");
    await world.untilPull();
    await world.untilState(issue, "published");
  });
});
