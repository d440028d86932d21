/** A maintainer who asks for more while the result is being checked: the agent takes it up, and the plan that is posted has it. */

import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WireMessage } from "#src/demo/model-protocol.ts";
import { call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, outside, REPO } from "#test/support/outside.ts";
import { testPart } from "#test/support/tier.ts";
import { tinyFiles } from "#test/support/tiny.ts";

const WISH = "Please say so in NOTES too.";

/** Mends the sign; once the wish has been said, writes the note. */
function wishful(messages: readonly WireMessage[]) {
  const heard = messages.some(({ role, content }) => role === "user" && content?.includes(WISH));
  const asked = (tool: string) =>
    messages.some(({ tool_calls: calls }) => JSON.stringify(calls ?? "").includes(tool));
  if (!asked("add.js")) return call("edit_file", { path: "add.js", old: "a - b", new: "a + b" });
  if (heard && !asked("NOTES"))
    return call("edit_file", { path: "NOTES", old: "", new: "The sign was wrong.\n" });
  return say("Add instead of subtracting\n\nThe sign was wrong.");
}

/** The suite of the mended tree waits for a file `go` in its own copy, until the note is there. */
const WAITS = "grep -q 'a - b' add.js || [ -e NOTES ] || until [ -e go ]; do sleep 0.05; done";

function copiesOf(world: Outside, runId: string): readonly string[] {
  const directory = join(world.dataDir, "runs", runId);
  return readdirSync(directory)
    .filter((name) => name.startsWith("verify-"))
    .map((name) => join(directory, name));
}

testPart(0.5)(
  "/revise while the result is checked is taken as an instruction, and the one plan posted has it",
  () =>
    outside({ script: wishful, files: tinyFiles({ test: WAITS }) }, async (world) => {
      const { github } = world;
      const issue = world.openIssue();
      github.label(REPO, issue, MAINTAINER, LABEL);
      const { runId } = await world.untilState(issue, "verifying");
      const comment = github.comment(REPO, issue, MAINTAINER, `/revise ${WISH}`);
      await world.untilComment(issue, "answer", { forComment: comment, text: /Understood/ });
      await world.until("the checks going on", () => {
        for (const copy of copiesOf(world, runId)) writeFileSync(join(copy, "go"), "");
        return world.run(issue)?.state !== "verifying";
      });
      await world.untilState(issue, "awaiting_approval");
      const plans = world.comments(issue, "plan");
      assert.equal(plans.length, 1);
      assert.match(plans[0]?.body ?? "", /NOTES/);
      const rounds = world.events(runId).filter(({ type }) => type === "sent_back");
      assert.deepEqual(rounds, [{ type: "sent_back", round: 1, feedback: "" }]);
      assert.equal(world.runs().length, 1);
      github.comment(REPO, issue, MAINTAINER, "/cancel");
      await world.untilState(issue, "cancelled");
    }),
);
