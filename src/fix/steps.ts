/** What fixing an issue is, as data: the steps that work on it, and the steps that deliver what was approved. */

import type { Json } from "#src/base/canonical-json.ts";
import type { Outcome, Step, StepContext } from "#src/dag/dag.ts";
import { isEnded } from "#src/run/run.ts";
import { cleanUp } from "./finish.ts";
import { hasIntentGate, intentIsDue, preparedOf } from "./intents.ts";
import { roundsSentBack } from "./rounds.ts";
import type { RunContext } from "./run-context.ts";
import { awaitApproval } from "./steps/await-approval.ts";
import { baseline } from "./steps/baseline.ts";
import { collect } from "./steps/collect.ts";
import { INTENT_STEP, intend } from "./steps/intent.ts";
import { prepare } from "./steps/prepare.ts";
import { PROPOSE_STEP, propose } from "./steps/propose.ts";
import { publish } from "./steps/publish.ts";
import { recheck } from "./steps/recheck.ts";
import { type SetUp, setup, setupStands } from "./steps/setup.ts";
import { type Solved, solve } from "./steps/solve.ts";
import { verify } from "./steps/verify.ts";

export const PUBLISH_STEP = "publish";

const MINUTE = 60_000;

interface StepPlan {
  readonly name: string;
  readonly needs: readonly string[];
  readonly attempts: number;
  readonly minutes: number;
  readonly replay: Step["replay"];
  readonly work: (context: RunContext, step: StepContext) => Promise<Outcome>;
  readonly input?: (context: RunContext) => Json;
  readonly stands?: (output: Json) => Promise<boolean>;
}

const directoryStands = (output: Json) => setupStands(output as unknown as SetUp | Solved as SetUp);

const PREPARE: StepPlan = {
  name: "prepare",
  needs: [],
  attempts: 3,
  minutes: 15,
  replay: "safe",
  work: prepare,
};

/** From the label to the intent, where the repository asks for one. */
export const INTENT_STEPS: readonly StepPlan[] = [
  PREPARE,
  { name: INTENT_STEP, needs: ["prepare"], attempts: 3, minutes: 60, replay: "never", work: intend },
];

/** From the label to the plan. `baseline` and `solve` run at the same time. */
export const WORK_STEPS: readonly StepPlan[] = [
  PREPARE,
  {
    name: "setup",
    needs: ["prepare"],
    attempts: 2,
    minutes: 30,
    replay: "safe",
    work: setup,
    stands: directoryStands,
  },
  { name: "baseline", needs: ["prepare", "setup"], attempts: 2, minutes: 60, replay: "safe", work: baseline },
  {
    name: "solve",
    needs: ["prepare", "setup"],
    attempts: 3,
    minutes: 180,
    replay: "safe",
    work: solve,
    input: (context) => ({ sentBack: roundsSentBack(context) }),
    stands: directoryStands,
  },
  {
    name: "collect",
    needs: ["prepare", "baseline", "solve"],
    attempts: 2,
    minutes: 10,
    replay: "safe",
    work: collect,
  },
  {
    name: "verify",
    needs: ["prepare", "setup", "baseline", "solve", "collect"],
    attempts: 2,
    minutes: 180,
    replay: "safe",
    work: verify,
  },
  {
    name: PROPOSE_STEP,
    needs: ["prepare", "solve", "collect", "verify"],
    attempts: 3,
    minutes: 10,
    replay: "never",
    work: propose,
  },
];

/** From the approval to the pull request; the workspace is gone by then, only the tree is kept. */
export const DELIVERY_STEPS: readonly StepPlan[] = [
  { name: "await-approval", needs: [], attempts: 10, minutes: 1, replay: "safe", work: awaitApproval },
  { name: "recheck", needs: ["await-approval"], attempts: 2, minutes: 120, replay: "safe", work: recheck },
  {
    name: PUBLISH_STEP,
    needs: ["await-approval", "recheck"],
    attempts: 5,
    minutes: 15,
    replay: "never",
    work: publish,
  },
];

/** The steps a run drives in its present state, bound to the run. */
export function stepsFor(context: RunContext): readonly Step[] {
  return stepPlans(context).map((plan) => bind(context, plan));
}

/** What the repository wants is known once the run is prepared, so that stands alone. */
function stepPlans(context: RunContext): readonly StepPlan[] {
  if (isDelivering(context)) return DELIVERY_STEPS;
  if (preparedOf(context) === null) return [PREPARE];
  return intentIsDue(context) ? INTENT_STEPS : WORK_STEPS;
}

/** Names of all steps of a run in order, for its status. */
export function stepNames(context: RunContext): readonly string[] {
  const work = WORK_STEPS.map(({ name }) => name);
  if (hasIntentGate(context)) work.splice(1, 0, INTENT_STEP);
  return [...work, ...DELIVERY_STEPS.map(({ name }) => name)];
}

export function isDelivering(context: RunContext): boolean {
  const { state } = context.run();
  return (
    state === "awaiting_approval" || state === "approved" || state === "rechecking" || state === "publishing"
  );
}

/** True while a person decides whether the work begins: the run holds no slot and drives nothing. */
export function isResting(context: RunContext): boolean {
  return context.run().state === "awaiting_intent";
}

function bind(context: RunContext, plan: StepPlan): Step {
  const { name, needs, attempts, minutes, replay, stands } = plan;
  return {
    name,
    needs,
    attempts,
    timeLimitMs: minutes * MINUTE,
    replay,
    input: () => plan.input?.(context) ?? null,
    ...(stands === undefined ? {} : { stands }),
    run: async (step) => {
      try {
        const outcome = await plan.work(context.during(step.signal), step);
        // What a stopped step found out, such as how a suite ended that was killed, is nobody's result.
        const untrue = step.signal.aborted && outcome.kind === "done" && replay === "safe";
        return untrue ? STOPPED : outcome;
      } finally {
        // It was left behind and the run has ended without it: what it made since then is removed too.
        if (step.signal.aborted && isEnded(context.run())) await cleanUp(context);
      }
    },
  };
}

const STOPPED: Outcome = { kind: "failed", code: "cancelled", message: "it was stopped", retry: true };
