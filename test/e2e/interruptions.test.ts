/** A maintainer takes the label off, closes the issue or says /cancel while a step is held: the table of the design, step by step. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import type { Fault } from "#src/github/sim/faults.ts";
import { processesLeft, processesOn } from "#test/support/left-behind.ts";
import { byIssue, byTurns, call, HANG } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, REPO } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { FULL, inTurn, SEED, sample } from "#test/support/tier.ts";
import { FOREVER, MEND, tinyFiles } from "#test/support/tiny.ts";

/** Five seconds on a machine that has nothing else to do. That no step was left behind is asserted from the log. */
const PROMPT_MS = 30_000;
const WAYS = ["unlabel", "close", "/cancel"] as const;
type Way = (typeof WAYS)[number];

interface Story {
  readonly world: Outside;
  readonly repo: string;
  readonly issue: number;
}

interface Held {
  readonly step: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly title?: string;
  /** Planned before the label is set. */
  readonly fault?: (repo: string) => Fault;
  /** Resolves when the step is being held. */
  readonly reach: (story: Story) => Promise<unknown>;
  /** A plan stands, and is to be marked as withdrawn. */
  readonly planned?: true;
}

const started = (step: string) => (story: Story) =>
  story.world.until(`step ${step} being at work`, () => stepIs(story, step, "started"));

function stepIs({ world, issue, repo }: Story, step: string, kind: string): boolean {
  const run = world.run(issue, repo);
  const records = run === null ? [] : world.events(run.runId);
  const last = records.findLast((event) => event.type === "step" && event.record.step === step);
  return last?.type === "step" && last.record.kind === kind;
}

/** The command that never ends, in a sandbox of this run. */
async function held({ world, issue, repo }: Story): Promise<void> {
  await world.until("the command that holds the step", () => {
    const run = world.run(issue, repo);
    return run !== null && processesOn(run.runId).some((line) => line.trim().endsWith(FOREVER));
  });
}

async function modelAsked({ world, repo }: Story): Promise<void> {
  await world.until("the model being asked", () =>
    world.model.requests().some(({ body }) => JSON.stringify(body).includes(repo)),
  );
}

async function approved(story: Story): Promise<void> {
  const { world, issue, repo } = story;
  await world.untilState(issue, "awaiting_approval", repo);
  world.github.comment(repo, issue, MAINTAINER, "/approve");
}

const HELD: readonly Held[] = [
  {
    step: "prepare",
    fault: (repo) => ({
      method: "GET",
      path: new RegExp(`^/${repo}\\.git/info/refs`),
      times: 1,
      fault: { kind: "hang" },
    }),
    reach: started("prepare"),
  },
  { step: "setup", files: tinyFiles({ setup: FOREVER }), reach: held },
  {
    step: "baseline",
    files: tinyFiles({ test: FOREVER }),
    reach: async (story) => {
      await story.world.until("baseline alone being at work", () => stepIs(story, "solve", "done"));
      await held(story);
    },
  },
  { step: "solve (the model hangs)", title: "model hangs", reach: modelAsked },
  { step: "solve (a command hangs)", title: "command hangs", reach: held },
  {
    step: "verify",
    files: tinyFiles({ test: `if grep -q 'a + b' add.js; then ${FOREVER}; fi` }),
    reach: held,
  },
  {
    step: "propose",
    reach: async (story) => {
      await story.world.untilComment(story.issue, "status", { repo: story.repo });
      story.world.github.fault({
        method: "POST",
        path: new RegExp(`^/repos/${story.repo}/issues/${story.issue}/comments$`),
        times: 1,
        fault: { kind: "hang" },
      });
      await started("propose")(story);
    },
  },
  {
    step: "awaiting approval",
    planned: true,
    reach: ({ world, issue, repo }) => world.untilState(issue, "awaiting_approval", repo),
  },
  {
    step: "recheck",
    planned: true,
    reach: async (story) => {
      const { world, issue, repo } = story;
      await world.untilState(issue, "awaiting_approval", repo);
      const files = { "test.sh": `${FOREVER}\n` };
      await world.github.pushCommit(repo, { by: MAINTAINER, files });
      await approved(story);
      await held(story);
    },
  },
];

const suite = inTurn(0, 4) ? describe : () => undefined;

suite("interruptions from outside", { concurrency: 3 }, () => {
  const shared = sharedWorld({
    script: byIssue(
      {
        "model hangs": byTurns(HANG),
        "command hangs": byTurns(call("run_command", { command: FOREVER, timeout: 600 })),
      },
      MEND,
    ),
    env: { CONCURRENCY: "8" },
  });
  let repositories = 0;

  const begin = async (place: Pick<Held, "files" | "fault" | "title">): Promise<Story> => {
    const world = shared.get();
    const repo = `${OWNER}/tiny-${repositories++}`;
    await world.addRepository({ name: repo.slice(OWNER.length + 1), files: place.files ?? tinyFiles() });
    if (place.fault !== undefined) world.github.fault(place.fault(repo));
    const issue = world.openIssue({ title: `${place.title ?? "add subtracts"} in ${repo}` }, repo);
    world.github.label(repo, issue, MAINTAINER, LABEL);
    return { world, repo, issue };
  };

  // The quick tier takes two of the steps, and for each of them another of the three ways every time.
  const chosen = sample(HELD, 1).flatMap((place, index) =>
    WAYS.filter((_, way) => FULL || way === (index + SEED) % WAYS.length).map((way) => ({ place, way })),
  );
  for (const { place, way } of chosen) {
    test(`${way} during ${place.step} ends the run at once and leaves nothing but its record`, async (t) => {
      const story = await begin(place);
      await place.reach(story);
      t.diagnostic(`ended after ${await interrupt(story, way)} ms`);
      if (place.planned === true) await planWithdrawn(story);
      await nothingBut(story);
    });
  }

  for (const way of sample(WAYS, 1)) {
    test(`${way} while publishing comes too late: the approval stood first in the log`, async () => {
      const story = await begin({});
      const { world, issue, repo } = story;
      await world.untilState(issue, "awaiting_approval", repo);
      // Two tries in vain and the pauses after them keep it publishing for three seconds.
      const path = new RegExp(`^/repos/${repo}/git/refs$`);
      world.github.fault({ method: "POST", path, times: 2, fault: { kind: "drop_before" } });
      await approved(story);
      const { runId } = await world.untilState(issue, "publishing", repo);
      const commentId = act(story, way);
      await world.untilState(issue, "published", repo);
      if (commentId !== null) {
        await world.untilComment(issue, "answer", { text: /approved first/, forComment: commentId, repo });
        assert.deepEqual(reactionsOn(story, commentId), ["confused"]);
      } else {
        await world.until("the fact being recorded", () =>
          world.events(runId).some((event) => event.type === "fact_handled" && event.decision === "recorded"),
        );
      }
      await world.untilComment(issue, "status", { text: /done: pull request/, repo });
      assert.equal(world.github.pullRequests(repo).length, 1);
    });
  }

  const orders = [
    ["/approve", "/cancel"],
    ["/cancel", "/approve"],
  ] as const;
  for (const words of sample(orders, 1)) {
    test(`${words.join(" and ")} in the same moment: the first one holds, and the other is told`, async () => {
      const story = await begin({});
      const { world, issue, repo } = story;
      const { runId } = await world.untilState(issue, "awaiting_approval", repo);
      const [first, second] = words.map((word) => world.github.comment(repo, issue, MAINTAINER, word));
      await world.untilState(issue, ["published", "cancelled"], repo);
      await world.until("the lease given back", () => world.run(issue, repo)?.worker === null);
      const taken = [first, second].filter((id) => reactionsOn(story, id ?? 0).includes("+1"));
      const told = world.comments(issue, "answer", repo);
      assert.equal(taken.length, 1, "one of them was taken");
      assert.equal(told.length, 1, "the other got an answer");
      assert.ok([first, second].includes(told[0]?.marker.forComment ?? 0));
      assert.notEqual(told[0]?.marker.forComment, taken[0]);
      const received = world.events(runId).find((event) => event.type === "command_received");
      assert.equal(received?.type === "command_received" && received.fact.commentId, taken[0]);
      const approvedFirst = words[taken[0] === first ? 0 : 1] === "/approve";
      assert.equal(world.github.pullRequests(repo).length, approvedFirst ? 1 : 0);
      assert.equal(world.run(issue, repo)?.state, approvedFirst ? "published" : "cancelled");
    });
  }
});

describe("one slot", () => {
  const shared = sharedWorld({
    script: byIssue({ "model hangs": byTurns(HANG) }, MEND),
    files: tinyFiles(),
    env: { CONCURRENCY: "1" },
  });

  test("F18: a run that hangs keeps its slot only until it is cancelled; those that wait say at which place", async () => {
    const world = shared.get();
    const { github } = world;
    const open = (title: string) => {
      const issue = world.openIssue({ title });
      github.label(REPO, issue, MAINTAINER, LABEL);
      return issue;
    };
    const hung = open("model hangs");
    await world.until("the model being asked", () => world.model.requests().length > 0);
    const second = open("second");
    await world.untilComment(second, "status", { text: /queued, next in line/ });
    const third = open("third");
    await world.untilComment(third, "status", { text: /queued behind 1 other/ });
    const dropped = github.comment(REPO, second, MAINTAINER, "/cancel");
    await world.untilState(second, "cancelled");
    await world.untilComment(third, "status", { text: /queued, next in line/ });
    github.comment(REPO, hung, MAINTAINER, "/cancel");
    await world.untilState(hung, "cancelled");
    await world.untilState(third, "awaiting_approval");
    assert.deepEqual(github.comments(REPO, second).find(({ id }) => id === dropped)?.reactions, ["+1"]);
    assert.equal(world.run(second)?.state, "cancelled", "a run cancelled while it waits never starts");
    github.comment(REPO, third, MAINTAINER, "/cancel");
    await world.untilState(third, "cancelled");
  });
});

/** Does it, and waits until the run has ended and says so; ms until the end. */
async function interrupt(story: Story, way: Way): Promise<number> {
  const { world, issue, repo } = story;
  const began = systemClock.now();
  const commentId = act(story, way);
  await world.until("the end of the run", () => world.run(issue, repo)?.state === "cancelled", PROMPT_MS);
  const took = systemClock.now() - began;
  const says = {
    unlabel: /cancelled \(unlabeled\)/,
    close: /cancelled \(issue closed\)/,
    "/cancel": /cancelled by maya/,
  };
  await world.untilComment(issue, "status", { text: says[way], repo });
  await world.until("the lease given back", () => world.run(issue, repo)?.worker === null);
  if (commentId !== null) assert.deepEqual(reactionsOn(story, commentId), ["+1"]);
  return took;
}

/** The id of the comment when the way is a command. */
function act({ world, issue, repo }: Story, way: Way): number | null {
  const { github } = world;
  if (way === "/cancel") return github.comment(repo, issue, MAINTAINER, way);
  if (way === "unlabel") github.unlabel(repo, issue, MAINTAINER, LABEL);
  else github.closeIssue(repo, issue, MAINTAINER);
  return null;
}

function reactionsOn({ world, issue, repo }: Story, commentId: number): readonly string[] {
  return world.github.comments(repo, issue).find(({ id }) => id === commentId)?.reactions ?? [];
}

async function planWithdrawn({ world, issue, repo }: Story): Promise<void> {
  await world.untilComment(issue, "plan", { text: /\*\*Withdrawn: /, repo });
}

async function nothingBut({ world, issue, repo }: Story): Promise<void> {
  const { github, dataDir } = world;
  const { runId } = await world.untilState(issue, "cancelled", repo);
  assert.deepEqual(await processesLeft(runId), []);
  assert.equal(existsSync(join(dataDir, "runs", runId)), false, "the workspace is removed");
  assert.ok(existsSync(join(dataDir, "traces", `${runId}.jsonl`)), "the trace is kept");
  assert.ok(
    world.events(runId).some((event) => event.type === "cancelled"),
    "the log is kept",
  );
  assert.deepEqual(leftBehindSteps(world, runId), [], "every step stopped when it was told to");
  assert.deepEqual(github.pullRequests(repo), []);
  assert.deepEqual([...(await github.git(repo).refs()).keys()], ["refs/heads/main"]);
  assert.equal(world.comments(issue, "status", repo).length, 1);
}

/** Steps whose last word is their start: they were given up after the grace time. */
function leftBehindSteps(world: Outside, runId: string): readonly string[] {
  const last = new Map<string, string>();
  for (const event of world.events(runId))
    if (event.type === "step") last.set(event.record.step, event.record.kind);
  return [...last].filter(([, kind]) => kind === "started").map(([step]) => step);
}
