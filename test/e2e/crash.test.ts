/** SIGKILL and SIGTERM at every stage of a run: the next start goes on, and nothing is there twice. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import type { ModelScript } from "#src/demo/model-server.ts";
import type { Fault } from "#src/github/sim/faults.ts";
import { byIssue, byTurns, call, HANG } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, REPO } from "#test/support/outside.ts";
import { launchServer } from "#test/support/server-process.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { inTurn, sample } from "#test/support/tier.ts";
import { FOREVER, MEND, tinyFiles } from "#test/support/tiny.ts";

/** The model hangs, after some work that must not survive, as long as this holds. */
const stuck = { now: false };

const stuckAtTimes: ModelScript = (messages, tools) => {
  const hanging = byTurns(call("edit_file", { path: "half.js", old: "", new: "half done\n" }), HANG);
  return (stuck.now ? hanging : MEND)(messages, tools);
};

function label(world: Outside, title: string, repo = REPO): number {
  const issue = world.openIssue({ title }, repo);
  world.github.label(repo, issue, MAINTAINER, LABEL);
  return issue;
}

/** The model has been asked again after its first call: the workspace holds half of a change. */
async function halfDone(world: Outside): Promise<void> {
  await world.until("the half change", () =>
    world.model.requests().some(({ body }) => /"role":"tool"/.test(JSON.stringify(body))),
  );
}

function assertOneOfEach(world: Outside, issue: number, kinds: readonly string[], repo = REPO): void {
  const found = world.comments(issue, undefined, repo).map(({ marker }) => marker.kind);
  assert.deepEqual(found.toSorted(), [...kinds].toSorted());
  assert.deepEqual(world.github.issue(repo, issue).reactions, ["eyes"]);
}

function proposedFiles(world: Outside, issue: number): readonly string[] {
  const run = world.run(issue);
  const proposed = world.events(run?.runId ?? "").findLast((event) => event.type === "proposed");
  return proposed?.type === "proposed" ? proposed.proposal.files.map(({ path }) => path) : [];
}

const working = inTurn(0, 8) ? describe : () => undefined;

working("killed while it works", () => {
  const shared = sharedWorld({
    script: byIssue({ "hangs at times": stuckAtTimes }, MEND),
    files: tinyFiles(),
    env: { CONCURRENCY: "1" },
  });

  const stories: (readonly [string, () => Promise<void>])[] = [];
  const story = (name: string, work: () => Promise<void>) => stories.push([name, work]);

  story(
    "F17: SIGKILL with a run at work, one queued and one waiting: all three come to their end",
    async () => {
      const world = shared.get();
      const { github } = world;
      const waiting = label(world, "waits for an answer");
      await world.untilState(waiting, "awaiting_approval");
      stuck.now = true;
      const working = label(world, "hangs at times");
      await halfDone(world);
      const queued = label(world, "is queued");
      await world.untilComment(queued, "status", { text: /queued/ });

      await world.kill9();
      stuck.now = false;
      // The webhook of this finds nobody; the next start asks for it again.
      github.comment(REPO, queued, MAINTAINER, "/cancel");
      await github.settled();
      await world.restart();
      await world.untilState(working, "awaiting_approval");
      await world.untilState(queued, "cancelled");
      assert.deepEqual(proposedFiles(world, working), ["add.js"], "it began again in a clean copy");
      github.comment(REPO, waiting, MAINTAINER, "/approve");
      await world.untilState(waiting, "published");
      await world.untilComment(waiting, "plan", { text: /Published as #/ });
      for (const issue of [waiting, working]) assertOneOfEach(world, issue, ["status", "plan"]);
      assertOneOfEach(world, queued, ["status"]);
      assert.equal(github.pullRequests(REPO).length, 1);
      github.comment(REPO, working, MAINTAINER, "/cancel");
      await world.untilState(working, "cancelled");
    },
  );

  story(
    "SIGTERM while the model is at work ends the server in time; killed again at once after its next start, it still goes on",
    async () => {
      const world = shared.get();
      stuck.now = true;
      const asked = world.model.requests().length;
      const issue = label(world, "hangs at times");
      await world.until("the model hanging", () => world.model.requests().length >= asked + 2);
      const began = systemClock.now();
      await world.stop();
      assert.ok(systemClock.now() - began < 10_000);
      assert.equal(world.run(issue)?.worker, null, "the lease is handed back");

      await world.restart();
      await world.kill9();
      await world.restart();
      await world.untilState(issue, "solving");
      await world.kill9();
      stuck.now = false;
      await world.restart();
      await world.untilState(issue, "awaiting_approval");
      assert.deepEqual(proposedFiles(world, issue), ["add.js"]);
      assertOneOfEach(world, issue, ["status", "plan"]);
      world.github.comment(REPO, issue, MAINTAINER, "/cancel");
      await world.untilState(issue, "cancelled");
    },
  );

  story("killed between the end and the words about it, it says them after the next start", async () => {
    const world = shared.get();
    const { github } = world;
    const issue = label(world, "is cancelled");
    const plan = await world.untilComment(issue, "plan");
    await world.untilState(issue, "awaiting_approval");
    await world.untilComment(issue, "status", { text: /waiting for a maintainer/ });
    const path = new RegExp(`^/repos/${REPO}/issues/comments/`);
    for (const method of ["PATCH", "POST"])
      github.fault({ method, path, times: Number.POSITIVE_INFINITY, fault: { kind: "hang" } });
    const commentId = github.comment(REPO, issue, MAINTAINER, "/cancel");
    await world.untilState(issue, "cancelled");
    await world.kill9();
    github.clearFaults();
    await world.restart();
    await world.untilComment(issue, "status", { text: /cancelled by maya/ });
    const ended = await world.untilComment(issue, "plan", { text: /\*\*Withdrawn/ });
    assert.equal(ended.id, plan.id);
    await world.until("the reaction", () =>
      github.comments(REPO, issue).some(({ id, reactions }) => id === commentId && reactions.includes("+1")),
    );
    assertOneOfEach(world, issue, ["status", "plan"]);
  });

  story(
    "a second server on the same data directory gives up, and does not touch what the first one runs",
    async () => {
      const world = shared.get();
      const { github } = world;
      const repo = `${OWNER}/slow`;
      await world.addRepository({
        name: "slow",
        files: tinyFiles({ test: `if grep -q 'a + b' add.js; then ${FOREVER}; fi` }),
      });
      const issue = label(world, "is verified for ever", repo);
      const { runId } = await world.untilState(issue, "verifying", repo);
      const second = launchServer({
        APP_ID: "4711",
        PRIVATE_KEY: world.secrets.privateKey,
        WEBHOOK_SECRET: world.secrets.webhookSecret,
        GHE_HOST: github.host,
        GHE_PROTOCOL: "http",
        PORT: "0",
        DATA_DIR: world.dataDir,
        OPENAI_BASE_URL: world.model.url,
        OPENAI_API_KEY: world.secrets.openaiKey,
        OPENAI_MODEL: "scripted",
      });
      assert.deepEqual(await second.exited, { code: 1, signal: null });
      assert.match(second.stderr(), /Another agent-fix uses .*set DATA_DIR/);
      const records = world.events(runId).filter((event) => event.type === "step");
      const last = records.at(-1);
      assert.ok(last?.type === "step" && last.record.step === "verify" && last.record.kind === "started");
      github.comment(repo, issue, MAINTAINER, "/cancel");
      await world.untilState(issue, "cancelled", repo);
    },
  );

  for (const [name, work] of sample(stories, 1)) test(name, work);
});

interface Place {
  readonly name: string;
  readonly faults: (repo: string) => readonly Fault[];
  /** The state in which it is killed. */
  readonly state: "publishing" | "published";
}

/** Where publishing stands still: before each of its calls, and where a call was done but its answer and the look after it are lost. */
const PLACES: readonly Place[] = [
  ...(["git/blobs", "git/trees", "git/commits", "git/refs", "pulls"] as const).map((call_) => ({
    name: `before POST ${call_}`,
    state: "publishing" as const,
    faults: (repo: string) => [fault("POST", `/repos/${repo}/${call_}$`, "hang")],
  })),
  {
    name: "after the branch was made, unheard",
    state: "publishing",
    faults: (repo) => [
      fault("POST", `/repos/${repo}/git/refs$`, "drop_after"),
      fault("GET", `/repos/${repo}/git/ref/`, "hang"),
    ],
  },
  {
    name: "after the pull request was opened, unheard",
    state: "publishing",
    faults: (repo) => [
      fault("POST", `/repos/${repo}/pulls$`, "drop_after"),
      fault("GET", `/repos/${repo}/pulls$`, "hang"),
    ],
  },
  {
    name: "before the words about it",
    state: "published",
    faults: (repo) => [fault("PATCH", `/repos/${repo}/issues/comments/`, "hang", Number.POSITIVE_INFINITY)],
  },
];

function fault(method: string, path: string, kind: "hang" | "drop_after", times = 1): Fault {
  return { method, path: new RegExp(`^${path}`), times, fault: { kind } };
}

const publishing = inTurn(3, 8) ? describe : () => undefined;

publishing("killed while it publishes", () => {
  const shared = sharedWorld({ script: MEND });

  for (const [index, place] of sample(PLACES, 1).entries()) {
    test(`SIGKILL ${place.name}: one branch, one pull request`, async () => {
      const world = shared.get();
      const { github } = world;
      const repo = `${OWNER}/tiny-${index}`;
      await world.addRepository({ name: `tiny-${index}`, files: tinyFiles() });
      const issue = label(world, "add subtracts", repo);
      await world.untilState(issue, "awaiting_approval", repo);
      await world.untilComment(issue, "status", { text: /waiting for a maintainer/, repo });
      const hung = () => github.calls().filter(({ status }) => status === 0).length;
      const before = hung();
      for (const planned of place.faults(repo)) github.fault(planned);
      const commentId = github.comment(repo, issue, MAINTAINER, "/approve");
      await world.untilState(issue, place.state, repo);
      await world.until("publishing standing still", () => hung() > before);
      await world.kill9();
      github.clearFaults();
      await world.restart();

      await world.untilState(issue, "published", repo);
      await world.untilComment(issue, "status", { text: /done: pull request/, repo });
      await world.untilComment(issue, "plan", { text: /Published as #/, repo });
      const [pull, ...more] = github.pullRequests(repo);
      assert.deepEqual(more, []);
      const refs = await github.git(repo).refs();
      assert.equal(refs.size, 2, "main and one branch");
      const commit = await github.git(repo).readCommit(pull?.pull?.headSha ?? "");
      assert.deepEqual(commit?.parents, [refs.get("refs/heads/main")]);
      assertOneOfEach(world, issue, ["status", "plan"], repo);
      const approval = github.comments(repo, issue).find(({ id }) => id === commentId);
      assert.deepEqual(approval?.reactions, ["+1"]);
    });
  }
});
