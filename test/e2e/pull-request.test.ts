/** The conversation goes on on the pull request: revised there, approved there, never pushed over somebody else's work, closed on command. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { WireMessage } from "#src/demo/model-protocol.ts";
import { call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, outside, REPO, REPORTER } from "#test/support/outside.ts";
import { inTurn } from "#test/support/tier.ts";
import { tinyFiles } from "#test/support/tiny.ts";

/** Mends the sign; when the task asks for notes, writes what it is to note. */
function reviser(messages: readonly WireMessage[]) {
  const wish = messages.map(({ content }) => /note: (\w+)/.exec(content ?? "")?.[1]).find(Boolean);
  const asked = messages.some(({ tool_calls: calls }) => (calls ?? []).length > 0);
  if (asked) return say(wish === undefined ? "Add instead of subtracting" : `Note ${wish}\n\nAs asked.`);
  return wish === undefined
    ? call("edit_file", { path: "add.js", old: "a - b", new: "a + b" })
    : call("edit_file", { path: `NOTE-${wish}`, old: "", new: `${wish}\n` });
}

/** A pull request that was opened in the usual way. */
async function opened(world: Outside) {
  const { github } = world;
  const issue = world.openIssue();
  github.label(REPO, issue, MAINTAINER, LABEL);
  await world.untilState(issue, "awaiting_approval");
  github.comment(REPO, issue, MAINTAINER, "/approve");
  await world.untilState(issue, "published");
  const pull = await world.untilPull();
  return { issue, number: pull.number, branch: pull.pull?.head ?? "", first: pull.pull?.headSha ?? "" };
}

/** Asks for a revision on the pull request and waits for the run's plan. */
async function revise(world: Outside, { issue, number }: Awaited<ReturnType<typeof opened>>, text: string) {
  const before = world.run(issue)?.runId;
  const asked = text.startsWith("review")
    ? world.github.review(REPO, number, MAINTAINER, {
        state: "changes_requested",
        body: "Please:",
        comments: [{ path: "add.js", line: 1, body: text }],
      }).id
    : world.github.comment(REPO, number, MAINTAINER, `/revise ${text}`);
  const row = await world.until("the revision's plan", () => {
    const run = world.run(issue);
    return run !== null && run.runId !== before && ["awaiting_approval", "failed"].includes(run.state) && run;
  });
  const failed = world.events(row.runId).find(({ type }) => type === "failed");
  assert.equal(failed, undefined, JSON.stringify(failed));
  const plan = world.comments(number, "plan").findLast(({ marker }) => marker.runId === row.runId);
  assert.ok(plan !== undefined, "the plan stands on the pull request");
  // A bare /approve so soon after another plan could mean that one (FAULTS H03).
  const approve = `/approve ${digestIn(plan.body)}`;
  return { asked, plan, approve };
}

function digestIn(plan: string): string {
  return /Digest of exactly these bytes: `([0-9a-f]{12})`/.exec(plan)?.[1] ?? "no digest";
}

const options = { script: reviser, files: tinyFiles() };
/** Each story has its turn in the quick tier. */
const story = (turn: number) => (inTurn(4 * turn + 1, 12) ? test : test.skip);

story(0)("a revision asked for on the pull request is planned there and pushed forward once approved", () =>
  outside(options, async (world) => {
    const { github } = world;
    const pull = await opened(world);
    const { issue, number, branch, first } = pull;
    const writesBefore = refWrites(world);
    const stranger = github.comment(REPO, number, REPORTER, "/revise note: evil");
    const { asked, plan, approve } = await revise(world, pull, "note: sign");
    assert.match(plan.body, /`\/approve` pushes it to this pull request/);
    assert.match(plan.body, /NOTE-sign/);
    assert.doesNotMatch(plan.body, /add\.js/, "the base is the pull request's head");
    assert.equal(refWrites(world), writesBefore, "nothing is written before the approval");
    github.comment(REPO, number, MAINTAINER, approve);
    await world.untilState(issue, "published");
    const git = github.git(REPO);
    const head = (await git.refSha(`refs/heads/${branch}`)) ?? "";
    const commit = await git.readCommit(head);
    assert.deepEqual(commit?.parents, [first]);
    const tree = (await git.readTree(commit?.tree ?? "", true)) ?? [];
    assert.ok(tree.some(({ path }) => path === "NOTE-sign"));
    assert.equal(github.pullRequests(REPO).length, 1);
    assert.equal(world.comments(issue, "plan").length, 1, "the revision speaks on the pull request only");
    const concluded = await world.untilComment(number, "plan", { text: /Pushed to #/ });
    assert.match(concluded.body, new RegExp(head.slice(0, 12)));
    const reactions = (id: number) => github.comments(REPO, number).find((one) => one.id === id)?.reactions;
    await world.until(
      "the answers",
      () => reactions(asked)?.includes("+1") && reactions(stranger)?.includes("confused"),
    );
    await github.mergePullRequest(REPO, number, MAINTAINER);
    await world.until("the outcome of both runs", () =>
      world
        .runs()
        .every(({ runId }) =>
          world.events(runId).some((event) => event.type === "outcome" && event.outcome === "merged"),
        ),
    );
  }),
);

story(1)("E07, H03: what somebody else pushed meanwhile is never pushed over", () =>
  outside(options, async (world) => {
    const { github } = world;
    const pull = await opened(world);
    const { issue, number, branch } = pull;
    const { approve } = await revise(world, pull, "note: sign");
    const theirs = await github.pushCommit(REPO, { by: MAINTAINER, branch, files: { MINE: "mine\n" } });
    github.comment(REPO, number, MAINTAINER, approve);
    const row = await world.untilState(issue, "failed");
    assert.equal(await github.git(REPO).refSha(`refs/heads/${branch}`), theirs);
    await world.untilComment(number, "answer", { text: /Somebody has pushed to/ });
    assert.equal(world.events(row.runId).filter(({ type }) => type === "publish_started").length, 0);
    // Asked again, it builds on what stands there now.
    const again = await revise(world, pull, "review note: again");
    github.comment(REPO, number, MAINTAINER, again.approve);
    await world.untilState(issue, "published");
    const head = (await github.git(REPO).refSha(`refs/heads/${branch}`)) ?? "";
    assert.deepEqual((await github.git(REPO).readCommit(head))?.parents, [theirs]);
    // The line that the review commented is answered once, and a stranger's review asks for nothing.
    github.review(REPO, number, REPORTER, { state: "changes_requested", body: "note: evil" });
    const answers = () => github.reviewComments(REPO, number).filter(({ replyTo }) => replyTo !== null);
    await world.until("the answer on the line", () => answers().length > 0);
    assert.match(answers()[0]?.body ?? "", new RegExp(`Taken up in ${head}: Note again`));
    // The head is ours again, but /cancel by somebody without rights does nothing.
    github.comment(REPO, number, REPORTER, "/cancel");
    github.comment(REPO, number, MAINTAINER, "/cancel");
    await world.until("the pull request closed", () => github.issue(REPO, number).state === "closed");
    await world.until("the outcome", () =>
      world.events(world.run(issue)?.runId ?? "").some((event) => event.type === "outcome"),
    );
    assert.equal(await github.git(REPO).refSha(`refs/heads/${branch}`), null);
    assert.equal(answers().length, 1);
    assert.equal(world.runs().length, 3, "opened, failed, revised");
  }),
);

story(2)(
  "closing the pull request ends a revision, and /cancel keeps a branch with somebody else's commit",
  () =>
    outside(options, async (world) => {
      const { github } = world;
      const pull = await opened(world);
      const { issue, number, branch } = pull;
      const { approve } = await revise(world, pull, "note: sign");
      github.closeIssue(REPO, number, MAINTAINER);
      await world.untilState(issue, "cancelled");
      await world.untilComment(number, "plan", { text: /Withdrawn/ });
      assert.equal(world.comments(number, "plan").length, 1);
      github.comment(REPO, number, MAINTAINER, approve);
      await world.untilComment(number, "answer", { text: /nothing to approve/ });
      github.reopenIssue(REPO, number, MAINTAINER);
      const theirs = await github.pushCommit(REPO, { by: MAINTAINER, branch, files: { MINE: "mine\n" } });
      github.comment(REPO, number, MAINTAINER, "/cancel");
      await world.untilComment(number, "answer", { text: /left the branch/ });
      assert.equal(github.issue(REPO, number).state, "closed");
      assert.equal(await github.git(REPO).refSha(`refs/heads/${branch}`), theirs);
    }),
);

/** Requests that changed a reference, and pushes. */
function refWrites({ github }: Outside): number {
  const calls = github.calls().filter(({ method, path }) => method !== "GET" && path.includes("/git/"));
  return calls.length + github.pushes().length;
}
