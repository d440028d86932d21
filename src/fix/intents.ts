/** What the log says of a run's intent: whether its repository wants one, and which one was approved. */

import type { PendingIntent } from "#src/run/intent.ts";
import { lastOutput, type RunContext } from "./run-context.ts";
import type { Prepared } from "./steps/prepare.ts";

/** The run's preparation; null: it has not been prepared. */
export function preparedOf(context: Pick<RunContext, "stepLog">): Prepared | null {
  return lastOutput<Prepared>(context, "prepare");
}

/** Whether the repository asks for an intent; a person at the keyboard of a local run watches the work itself. */
export function hasIntentGate(context: Pick<RunContext, "stepLog" | "request">): boolean {
  return (
    context.request.trigger !== "local" && preparedOf(context)?.settings.gates.includes("intent") === true
  );
}

/** True until the intent that the repository asks for is approved. */
export function intentIsDue(context: RunContext): boolean {
  return hasIntentGate(context) && approvedIntent(context) === null;
}

export interface ApprovedIntent extends PendingIntent {
  readonly by: string;
}

/** Null: there is none, or nobody has approved it. */
export function approvedIntent({ events }: Pick<RunContext, "events">): ApprovedIntent | null {
  const approved = events().findLast(({ event }) => event.type === "intent_approved")?.event;
  const intended = events().findLast(({ event }) => event.type === "intended")?.event;
  if (approved?.type !== "intent_approved" || intended?.type !== "intended") return null;
  const { type: _, ...pending } = intended;
  return { ...pending, by: approved.by };
}
