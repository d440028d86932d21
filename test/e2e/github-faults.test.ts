/** GitHub that refuses or breaks at the plan comment and at the pull request: tried again where that helps, and the end is told where it still can be. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StepRecord } from "#src/dag/dag.ts";
import type { FaultKind } from "#src/github/sim/faults.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, outside, REPO } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { sample, testPart } from "#test/support/tier.ts";

const FORBIDDEN: FaultKind = {
  kind: "status",
  status: 403,
  body: { message: "Resource not accessible by integration" },
};
const BROKEN: FaultKind = { kind: "status", status: 500, body: { message: "Server Error" } };
const LOST: FaultKind = { kind: "drop_after" };

interface Case {
  readonly name: string;
  readonly at: "plan" | "pull";
  readonly fault: FaultKind;
  readonly times: number;
  readonly end: End;
}

/** `state`: how the run ends or stands; `told`: what the status comment says of a failed one; `comment`: what its result comment says, null where none can be posted. */
type End =
  | { readonly state: "awaiting_approval" | "published" }
  | { readonly state: "failed"; readonly told: RegExp; readonly comment: RegExp | null };

const CASES: readonly Case[] = [
  {
    name: "403 to the plan comment, once",
    at: "plan",
    fault: FORBIDDEN,
    times: 1,
    end: {
      state: "failed",
      told: /a permission is missing/,
      comment: /plan could not be posted.*Resource not accessible/,
    },
  },
  {
    name: "403 to every further comment",
    at: "plan",
    fault: FORBIDDEN,
    times: Number.POSITIVE_INFINITY,
    end: { state: "failed", told: /plan could not be posted.*Resource not accessible/, comment: null },
  },
  {
    name: "500 to the plan comment, once",
    at: "plan",
    fault: BROKEN,
    times: 1,
    end: { state: "awaiting_approval" },
  },
  {
    name: "500 to every further comment",
    at: "plan",
    fault: BROKEN,
    times: Number.POSITIVE_INFINITY,
    end: { state: "failed", told: /plan could not be posted/, comment: null },
  },
  {
    name: "a plan comment whose answer is lost",
    at: "plan",
    fault: LOST,
    times: 1,
    end: { state: "awaiting_approval" },
  },
  {
    name: "403 to the pull request",
    at: "pull",
    fault: FORBIDDEN,
    times: Number.POSITIVE_INFINITY,
    end: {
      state: "failed",
      told: /a permission is missing/,
      comment: /did not let the app open the pull request.*\/retry/,
    },
  },
  { name: "500 to the pull request, once", at: "pull", fault: BROKEN, times: 1, end: { state: "published" } },
  {
    name: "500 to every attempt at the pull request",
    at: "pull",
    fault: BROKEN,
    times: Number.POSITIVE_INFINITY,
    end: {
      state: "failed",
      told: /GitHub did not take an answer/,
      comment: /did not answer the attempt to open the pull request.*\/retry/,
    },
  },
  {
    name: "a pull request whose answer is lost",
    at: "pull",
    fault: LOST,
    times: 1,
    end: { state: "published" },
  },
];

describe("GitHub refuses or breaks", { concurrency: true }, () => {
  const shared = sharedWorld({ script: smallJob, files: SMALL_FILES, env: { CONCURRENCY: "4" } });

  for (const [index, one] of sample(CASES, 1).entries()) {
    test(one.name, async () => {
      const world = shared.get();
      const { fullName: repo } = await world.addRepository({ name: `faulty-${index}`, files: SMALL_FILES });
      await play(world, repo, one);
    });
  }
});

testPart(0.5)(
  "when nobody can say whether the pull request stands, the run does not say that it failed, and finds it later",
  () =>
    outside({ script: smallJob, files: SMALL_FILES }, async (world) => {
      const { github } = world;
      const issue = world.openIssue();
      github.label(REPO, issue, MAINTAINER, LABEL);
      await world.untilState(issue, "awaiting_approval");
      const path = new RegExp(`^/repos/${REPO}/pulls`);
      github.fault({ method: "POST", path, times: 1, fault: LOST });
      github.fault({ method: "POST", path, times: Number.POSITIVE_INFINITY, fault: BROKEN });
      github.fault({ method: "GET", path, times: Number.POSITIVE_INFINITY, fault: BROKEN });
      const asked = { method: "GET", path: /collaborators/, times: Number.POSITIVE_INFINITY, fault: BROKEN };
      github.comment(REPO, issue, MAINTAINER, "/approve unverified");
      const { runId } = await world.untilState(issue, "publishing");
      await world.until("the publishing being left for later", () =>
        world.events(runId).some((event) => event.type === "step" && isPause(event.record)),
      );
      assert.equal(world.run(issue)?.state, "publishing");
      assert.equal(github.pullRequests(REPO).length, 1, "it stands, and the app was not told");
      await world.untilComment(issue, "status", { text: /GitHub gives no answer whether it stands/ });
      // Now it does not even say who may approve: still nothing is claimed.
      github.fault(asked);
      const before = pauses(world, runId);
      github.comment(REPO, issue, MAINTAINER, "/help");
      await world.until("another visit in vain", () => pauses(world, runId) > before);
      assert.equal(world.run(issue)?.state, "publishing");
      github.clearFaults();
      // Whatever people say makes the run be looked at before its next visit is due.
      github.comment(REPO, issue, MAINTAINER, "/status");
      await world.untilState(issue, "published");
      assert.equal(github.pullRequests(REPO).length, 1);
    }),
);

function pauses(world: Outside, runId: string): number {
  return world.events(runId).filter((event) => event.type === "step" && isPause(event.record)).length;
}

function isPause({ kind, step }: StepRecord): boolean {
  return kind === "paused" && step === "publish";
}

async function play(world: Outside, repo: string, { at, fault, times, end }: Case): Promise<void> {
  const { github } = world;
  const issue = world.openIssue({}, repo);
  github.label(repo, issue, MAINTAINER, LABEL);
  await world.untilComment(issue, "status", { repo });
  if (at === "plan")
    github.fault({
      method: "POST",
      path: new RegExp(`^/repos/${repo}/issues/${issue}/comments$`),
      times,
      fault,
    });
  else {
    await world.untilState(issue, "awaiting_approval", repo);
    github.fault({ method: "POST", path: new RegExp(`^/repos/${repo}/pulls$`), times, fault });
    github.comment(repo, issue, MAINTAINER, "/approve unverified");
  }
  await world.untilState(issue, end.state, repo);
  if (end.state === "failed") await failure(world, { repo, issue, end });
  else await success(world, { repo, issue, state: end.state });
  assert.deepEqual(github.pushes(), [], `${OWNER} was never pushed to`);
}

async function failure(
  world: Outside,
  { repo, issue, end }: { repo: string; issue: number; end: Extract<End, { state: "failed" }> },
): Promise<void> {
  const { github } = world;
  await world.untilComment(issue, "status", { repo, text: end.told });
  const results = () => world.comments(issue, "answer", repo);
  if (end.comment === null) assert.deepEqual(results(), []);
  else {
    await world.untilComment(issue, "answer", { repo, text: end.comment });
    assert.equal(results().length, 1);
  }
  assert.deepEqual([...(await github.git(repo).refs()).keys()], ["refs/heads/main"], "no branch is left");
  assert.deepEqual(github.pullRequests(repo), []);
}

async function success(
  world: Outside,
  { repo, issue, state }: { repo: string; issue: number; state: string },
): Promise<void> {
  const { github } = world;
  assert.equal(world.comments(issue, "plan", repo).length, 1);
  if (state !== "published") return;
  await world.untilComment(issue, "status", { repo, text: /done: pull request/ });
  assert.equal(github.pullRequests(repo).length, 1);
  assert.equal((await github.git(repo).refs()).size, 2);
  assert.equal(world.comments(issue, "answer", repo).length, 0);
}
