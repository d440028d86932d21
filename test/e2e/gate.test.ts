/** The gate from outside: an intent before the work where the repository asks for one, and what others have done about an issue. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ModelScript } from "#src/demo/model-server.ts";
import { shortDigest } from "#src/run/proposal.ts";
import { byTurns, call, HANG, say, taskOf } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { inTurn, sample } from "#test/support/tier.ts";
import { MEND, tinyFiles } from "#test/support/tiny.ts";

const LOOK: ModelScript = byTurns(
  call("read_file", { path: "add.js" }),
  // Tools that it was not given are refused, whatever it asks for.
  call("run_command", { command: "echo hacked > add.js" }),
  call("edit_file", { path: "add.js", old: "a - b", new: "a * b" }),
  say("The sign is wrong; I would add.\n\nFiles: add.js\nProof: the suite\nTurns: 3"),
);

const SCRIPT: ModelScript = (messages, tools) => {
  const task = taskOf(messages);
  if (!task.startsWith("Say what")) return MEND(messages, tools);
  return task.includes("look hangs") ? HANG : LOOK(messages, tools);
};

interface Story {
  readonly world: Outside;
  readonly repo: string;
  readonly issue: number;
}

const INTENTS = { concurrency: 3, skip: !inTurn(4, 8) && "its turn comes with another seed" };
const CLAIMS = { skip: !inTurn(7, 8) && "its turn comes with another seed" };

describe("gates: [intent, change]", INTENTS, () => {
  const shared = sharedWorld({ script: SCRIPT, files: tinyFiles(), env: { CONCURRENCY: "8" } });
  let repositories = 0;

  const begin = async (title = "add subtracts"): Promise<Story> => {
    const world = shared.get();
    const repo = `${OWNER}/intent-${repositories++}`;
    const files = tinyFiles();
    const settings = `${files[".github/agent-fix.yml"]}gates: [intent, change]\n`;
    await world.addRepository({
      name: repo.slice(OWNER.length + 1),
      files: { ...files, ".github/agent-fix.yml": settings },
    });
    const issue = world.openIssue({ title: `${title} in ${repo}` }, repo);
    world.github.label(repo, issue, MAINTAINER, LABEL);
    return { world, repo, issue };
  };
  const say = ({ world, repo, issue }: Story, words: string) =>
    world.github.comment(repo, issue, MAINTAINER, words);
  const intended = async (story: Story) => {
    const { world, repo, issue } = story;
    const { runId } = await world.untilState(issue, "awaiting_intent", repo);
    const event = world.events(runId).findLast(({ type }) => type === "intended");
    assert.ok(event?.type === "intended");
    return { runId, ...event };
  };

  test("a run first says what it would do, having only read; its digest begins the work, within that budget, and the plan needs an approval of its own", async () => {
    const story = await begin();
    const { world, repo, issue } = story;
    const { runId, digest, intent } = await intended(story);
    const [comment] = world.comments(issue, "intent", repo);
    assert.match(comment?.body ?? "", /So far I have only read[\s\S]*`add\.js`[\s\S]*the suite/);
    assert.match(comment?.body ?? "", new RegExp(`/approve ${shortDigest(digest)}`));
    const asked = world.model.requests().filter(({ body }) => JSON.stringify(body).includes(repo));
    const tools = asked.flatMap(({ body }) => (body as { tools: { function: { name: string } }[] }).tools);
    assert.deepEqual([...new Set(tools.map((tool) => tool.function.name))].toSorted(), [
      ...["find_definition", "list_dir", "read_file", "search"],
    ]);
    await world.until("the lease given back", () => world.run(issue, repo)?.worker === null);
    assert.equal(
      existsSync(join(world.dataDir, "runs", runId)),
      false,
      "nothing is held while a person decides",
    );
    const early = say(story, "/approve 000000000000");
    await world.untilComment(issue, "answer", { repo, forComment: early, text: /not the newest intent's/ });
    say(story, `/approve ${shortDigest(digest)}`);
    await world.untilState(issue, "awaiting_approval", repo);
    await world.untilComment(issue, "intent", {
      repo,
      text: /\*\*Approved by maya; the plan follows below\*\*/,
    });
    assert.equal(world.github.pullRequests(repo).length, 0, "an approved intent publishes nothing");
    const bare = say(story, "/approve");
    await world.untilComment(issue, "answer", { repo, forComment: bare, text: /less than a minute old/ });
    const plan = world.events(runId).findLast(({ type }) => type === "proposed");
    assert.ok(plan?.type === "proposed" && intent.budget.tokens > 0);
    say(story, `/approve ${shortDigest(plan.digest)}`);
    await world.untilState(issue, "published", repo);
    const kinds = world.comments(issue, undefined, repo).map(({ marker }) => marker.kind);
    assert.deepEqual(kinds.filter((kind) => kind !== "answer").toSorted(), ["intent", "plan", "status"]);
    const read = await world.github.git(repo).readCommit(plan.proposal.baseSha);
    assert.notEqual(read?.tree, plan.proposal.treeId);
  });

  const ways = ["/cancel", "/revise look at the tests too", "/retry", "unlabel"] as const;
  for (const way of sample(ways, 1))
    test(`${way} while an intent waits withdraws it, and nothing of the work has begun`, async () => {
      const story = await begin();
      const { world, repo, issue } = story;
      const { runId } = await intended(story);
      if (way === "unlabel") world.github.unlabel(repo, issue, MAINTAINER, LABEL);
      else say(story, way);
      const again = way.startsWith("/re");
      await world.untilComment(issue, "intent", {
        repo,
        text: again ? /\*\*Superseded by a newer run\*\*/ : /\*\*Withdrawn: /,
      });
      const steps = world
        .events(runId)
        .flatMap((event) => (event.type === "step" ? [event.record.step] : []));
      assert.deepEqual([...new Set(steps)], ["prepare", "intent"]);
      if (!again) return assert.equal(world.run(issue, repo)?.state, "cancelled");
      const next = await intended(story);
      assert.notEqual(next.runId, runId);
      const stale = say(story, "/approve");
      await world.untilComment(issue, "answer", { repo, forComment: stale, text: /name its digest/ });
      say(story, "/cancel");
      await world.untilState(issue, "cancelled", repo);
    });

  test("/cancel while the agent only reads ends the run", async () => {
    const story = await begin("look hangs");
    const { world, repo, issue } = story;
    await world.until("the model being asked", () =>
      world.model.requests().some(({ body }) => JSON.stringify(body).includes(repo)),
    );
    say(story, "/cancel");
    await world.untilState(issue, "cancelled", repo);
    assert.equal(world.comments(issue, "intent", repo).length, 0);
  });
});

describe("what others have done, and plans one after another", CLAIMS, () => {
  const shared = sharedWorld({ script: MEND, files: tinyFiles() });

  test("a pull request that closes the issue stops a labelled run before the model is asked; /retry has it done all the same, and a superseded plan is folded away", async () => {
    const world = shared.get();
    const { github } = world;
    const repo = `${OWNER}/claimed`;
    await world.addRepository({ name: "claimed", files: tinyFiles() });
    const issue = world.openIssue({ title: "add subtracts" }, repo);
    await github.pushCommit(repo, { by: "tom", branch: "theirs", files: { x: "y" } });
    await github.openPullRequest(repo, "tom", { title: "Add", body: `Fixes #${issue}`, branch: "theirs" });
    github.setPermission(repo, "tom", "write");
    github.label(repo, issue, MAINTAINER, LABEL);
    await world.untilState(issue, "failed", repo);
    const told = await world.untilComment(issue, "answer", {
      repo,
      text: /Already in hand: pull request \d+ \(open\)/,
    });
    assert.match(told.body, /somebody else has it in hand/);
    assert.equal(world.model.requests().length, 0, "no money was spent");
    github.comment(repo, issue, MAINTAINER, "/retry");
    const first = await world.untilState(issue, "awaiting_approval", repo);
    github.comment(repo, issue, MAINTAINER, "/revise say it shorter");
    await world.until("the second plan", () => {
      const run = world.run(issue, repo);
      return run?.state === "awaiting_approval" && run.runId !== first.runId;
    });
    await world.until("the first plan folded away", () =>
      world
        .comments(issue, "plan", repo)
        .some(({ marker, minimized }) => marker.runId === first.runId && minimized),
    );
    const bare = github.comment(repo, issue, MAINTAINER, "/approve");
    await world.untilComment(issue, "answer", { repo, forComment: bare, text: /name its digest/ });
    const plans = world.comments(issue, "plan", repo);
    assert.deepEqual(
      plans.map(({ minimized }) => minimized ?? false),
      [true, false],
    );
    github.comment(repo, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled", repo);
    assert.equal(github.pullRequests(repo).length, 1, "only theirs");
  });

  test("a stranger's pull request that says it closes the issue is named in status and plan, and stops nothing", async () => {
    const world = shared.get();
    const { github } = world;
    const repo = `${OWNER}/stranger`;
    await world.addRepository({ name: "stranger", files: tinyFiles() });
    const issue = world.openIssue({ title: "add subtracts" }, repo);
    await github.pushCommit(repo, { by: "eve", branch: "theirs", files: { x: "y" } });
    const theirs = { title: "Add", body: `Fixes #${issue}`, branch: "theirs" };
    const number = await github.openPullRequest(repo, "eve", theirs);
    github.label(repo, issue, MAINTAINER, LABEL);
    await world.untilState(issue, "awaiting_approval", repo);
    const named = new RegExp(
      `Somebody else has a pull request for this issue: #.?${number} \\(open\\) by eve`,
    );
    await world.untilComment(issue, "plan", { repo, text: named });
    await world.untilComment(issue, "status", { repo, text: named });
    github.comment(repo, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled", repo);
  });
});
