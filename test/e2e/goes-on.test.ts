/** Runs that go on from what an earlier one left: `/revise` from its patch, `/retry budget=` from its last checkpoint, also when the branch has moved or a crash comes between. */

import assert from "node:assert/strict";
import { describe } from "node:test";
import type { WireMessage } from "#src/demo/model-protocol.ts";
import type { ModelScript } from "#src/demo/model-server.ts";
import { byIssue, call, HANG, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, REPO } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { testPart } from "#test/support/tier.ts";
import { tinyFiles } from "#test/support/tiny.ts";

const test = testPart(0.3);

const WISH = "say so in NOTES";
const MEND = call("edit_file", { path: "add.js", old: "a - b", new: "a + b" });
const DONE = say("Add instead of subtracting\n\nThe sign was wrong.");
const NOTE = call("edit_file", { path: "NOTES", old: "", new: "The sign was wrong.\n" });

const calledFor = (messages: readonly WireMessage[], path: string) =>
  messages.some(({ tool_calls: calls }) => JSON.stringify(calls ?? "").includes(path));
const told = (messages: readonly WireMessage[], text: string | RegExp) =>
  messages.some(({ role, content }) => role === "user" && (content ?? "").search(text) >= 0);

/** Mends the sign only in a tree that nobody has told it holds the change already. */
const mender: ModelScript = (messages) => {
  const has = told(messages, "earlier attempt is in the working tree");
  if (!has && !calledFor(messages, "add.js")) return MEND;
  if (told(messages, WISH) && !calledFor(messages, "NOTES")) return NOTE;
  return DONE;
};

/** Uses up a run of three turns after its first edit; with more it comes to an end. */
const slow: ModelScript = (messages) => {
  if (!calledFor(messages, "add.js")) return MEND;
  return told(messages, "given it more money") ? DONE : call("list_dir", { path: "." });
};

/** Breaks the suite, insists on it, and mends it once there is more money. */
const breaker: ModelScript = (messages) => {
  if (!calledFor(messages, "add.js"))
    return call("edit_file", { path: "add.js", old: "a - b", new: "a * b" });
  if (told(messages, "given it more money") && !calledFor(messages, "a + b"))
    return call("edit_file", { path: "add.js", old: "a * b", new: "a + b" });
  return DONE;
};

const stuck = { now: false };
const stuckAtTimes: ModelScript = (messages, tools) =>
  stuck.now && told(messages, WISH) ? HANG : mender(messages, tools);

function label(world: Outside, title: string): number {
  const issue = world.openIssue({ title });
  world.github.label(REPO, issue, MAINTAINER, LABEL);
  return issue;
}

async function says(world: Outside, issue: number, text: string, state = "awaiting_approval") {
  const before = world.run(issue)?.runId;
  const comment = world.github.comment(REPO, issue, MAINTAINER, text);
  return world.until(`a run that follows ${text}`, () => {
    const run = world.run(issue);
    return run?.runId !== before && run?.state === state ? { ...run, comment } : null;
  });
}

function filesOf(world: Outside, runId: string): readonly string[] {
  const proposed = world.events(runId).findLast(({ type }) => type === "proposed");
  return proposed?.type === "proposed" ? proposed.proposal.files.map(({ path }) => path) : [];
}

const planOf = (world: Outside, issue: number, runId: string) =>
  world.comments(issue, "plan").findLast(({ marker }) => marker.runId === runId)?.body ?? "";

/** What the model was sent for the issue since request number `since`. */
function sent(world: Outside, title: string, since: number): string {
  const bodies = world.model.requests().slice(since);
  return bodies
    .map(({ body }) => JSON.stringify(body))
    .filter((text) => text.includes(title))
    .join("\n");
}

describe("going on from earlier work", { concurrency: 1 }, () => {
  const shared = sharedWorld({
    script: byIssue({ "is slow": slow, "that breaks": breaker, "hangs at times": stuckAtTimes }, mender),
    files: { ...tinyFiles(), "other.js": "1\n" },
  });

  test("/revise builds on the patch of the plan that waits, and again on that, with all that was asked", async () => {
    const world = shared.get();
    const issue = label(world, "a sign, revised");
    const first = await world.untilState(issue, "awaiting_approval");
    const second = await says(world, issue, `/revise ${WISH}`);
    assert.deepEqual(filesOf(world, second.runId), ["NOTES", "add.js"]);
    assert.match(planOf(world, issue, second.runId), new RegExp(`from the patch of run .${first.runId}`));
    const since = world.model.requests().length;
    const third = await says(world, issue, "/revise shorter please");
    assert.deepEqual(filesOf(world, third.runId), ["NOTES", "add.js"]);
    const prompt = sent(world, "a sign, revised", since);
    assert.match(prompt, /say so in NOTES[\s\S]*shorter please/);
    world.github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
    const fourth = await says(world, issue, "/revise go on after all");
    assert.deepEqual(filesOf(world, fourth.runId), ["NOTES", "add.js"], "also from a run that was cancelled");
    const fifth = await says(world, issue, "/retry");
    assert.deepEqual(filesOf(world, fifth.runId), ["add.js"], "a plain /retry starts afresh");
    assert.doesNotMatch(planOf(world, issue, fifth.runId), /Goes on/);
    world.github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
  });

  test("on a branch that has moved the patch is merged; where it conflicts the run says so and begins afresh with the old diff to read", async () => {
    const world = shared.get();
    const { github } = world;
    const issue = label(world, "a sign on a moving branch");
    await world.untilState(issue, "awaiting_approval");
    await github.pushCommit(REPO, { by: MAINTAINER, message: "elsewhere", files: { "other.js": "2\n" } });
    const merged = await says(world, issue, `/revise ${WISH}`);
    assert.deepEqual(filesOf(world, merged.runId), ["NOTES", "add.js"]);
    await github.pushCommit(REPO, {
      by: MAINTAINER,
      message: "the same line",
      files: { "add.js": "export const add = (x, a, b) => a - b;\n" },
    });
    const since = world.model.requests().length;
    const afresh = await says(world, issue, `/revise ${WISH}`);
    assert.deepEqual(filesOf(world, afresh.runId), ["NOTES", "add.js"]);
    assert.match(planOf(world, issue, afresh.runId), /cannot be put onto the newest .*add\.js.*began afresh/);
    assert.match(sent(world, "moving branch", since), /earlier attempt made the change below[\s\S]*\+export/);
    await github.pushCommit(REPO, {
      by: MAINTAINER,
      message: "back",
      files: { "add.js": tinyFiles()["add.js"] ?? "" },
    });
    github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
  });

  test("/retry budget= goes on with the conversation and the files of a run that ran out", async () => {
    const world = shared.get();
    const { github } = world;
    await github.pushCommit(REPO, {
      by: MAINTAINER,
      message: "three turns",
      files: { ".github/agent-fix.yml": "test: sh test.sh\nbudget: { turns: 3 }\n" },
    });
    const issue = label(world, "a sign that is slow");
    const first = await world.untilState(issue, ["awaiting_approval", "failed"]);
    const spent = world.model.requests().length;
    const second = await says(world, issue, "/retry budget=3");
    assert.deepEqual(filesOf(world, second.runId), ["add.js"]);
    assert.match(planOf(world, issue, second.runId), new RegExp(`last checkpoint of run .${first.runId}`));
    const requests = world.model.requests().slice(spent);
    assert.equal(requests.length, 1, "one reply ended it: nothing was done twice");
    assert.match(JSON.stringify(requests[0]?.body), /"tool_calls"[\s\S]*given it more money/);
    github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
    await github.pushCommit(REPO, {
      by: MAINTAINER,
      message: "back",
      files: { ".github/agent-fix.yml": "test: sh test.sh\n" },
    });
  });

  test("/retry budget= after a refuted result tells the agent what refuted it", async () => {
    const world = shared.get();
    const issue = label(world, "a sign that breaks");
    await world.untilState(issue, "failed");
    const since = world.model.requests().length;
    const { runId } = await says(world, issue, "/retry budget=3");
    assert.deepEqual(filesOf(world, runId), ["add.js"]);
    assert.match(sent(world, "a sign that breaks", since), /given it more money[\s\S]*It is refuted/);
    world.github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
  });

  test("/retry budget= from a run before the last tells the agent what the last was asked for and never did", async () => {
    const world = shared.get();
    const { github } = world;
    const issue = label(world, "a sign that hangs at times, cancelled");
    await world.untilState(issue, "awaiting_approval");
    stuck.now = true;
    const since = world.model.requests().length;
    github.comment(REPO, issue, MAINTAINER, `/revise ${WISH}`);
    await world.until("the model being asked", () => world.model.requests().length > since);
    github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
    stuck.now = false;
    const { runId } = await says(world, issue, "/retry budget=3");
    assert.deepEqual(filesOf(world, runId), ["NOTES", "add.js"]);
    github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
  });

  test("killed in the middle of it, the run begins once more on the same patch", async () => {
    const world = shared.get();
    const { github } = world;
    const issue = label(world, "a sign that hangs at times");
    await world.untilState(issue, "awaiting_approval");
    stuck.now = true;
    const since = world.model.requests().length;
    github.comment(REPO, issue, MAINTAINER, `/revise ${WISH}`);
    await world.until("the model being asked", () => world.model.requests().length > since);
    await world.kill9();
    stuck.now = false;
    await world.restart();
    const { runId } = await world.untilState(issue, "awaiting_approval");
    assert.deepEqual(filesOf(world, runId), ["NOTES", "add.js"]);
    github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
  });
});
