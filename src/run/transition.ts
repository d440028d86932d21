/** The one function between a run's states: pure and total, with a name for each contradiction. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { Approval, PendingPlan, Run, RunEvent, RunRequest, WorkPhase } from "./run.ts";

/** Why an event cannot follow the state it meets; each is a defect or a corrupt log, never a person's mistake. */
export type Contradiction =
  | "not_requested"
  | "requested_twice"
  | "phase_out_of_order"
  | "intended_outside_preparation"
  | "intent_approved_without_intent"
  | "intent_approved_other_digest"
  | "sent_back_outside_verification"
  | "proposed_without_verification"
  | "proposed_refuted"
  | "approved_without_plan"
  | "approved_other_digest"
  | "approved_unproven_without_saying_so"
  | "recheck_without_approval"
  | "publish_without_approval"
  | "published_without_publishing"
  | "cancelled_while_publishing"
  | "expired_without_plan"
  | "outcome_before_publication"
  | "event_after_end";

/** The state after a whole log; `empty_log` when there is none. Every prefix of a valid log reduces. */
export function reduce(events: Iterable<RunEvent>): Result<Run, Contradiction | "empty_log"> {
  let run: Run | null = null;
  for (const event of events) {
    const next: Result<Run, Contradiction> = run === null ? begin(event) : transition(run, event);
    if (!next.ok) return next;
    run = next.value;
  }
  return run === null ? err("empty_log") : ok(run);
}

function begin(event: RunEvent): Result<Run, Contradiction> {
  return event.type === "requested" ? ok({ state: "queued", request: event.request }) : err("not_requested");
}

/** The next state; events that are facts, steps or effects leave it as it is. */
export function transition(run: Run, event: RunEvent): Result<Run, Contradiction> {
  switch (event.type) {
    case "requested":
      return err("requested_twice");
    case "command_received":
    case "label_removed":
    case "issue_closed":
    case "ground_lost":
    case "pull_request_closed":
    case "pull_request_reopened":
    case "checks_concluded":
    case "fact_handled":
    case "effect_intended":
    case "effect_done":
    // A step that ended the run is recorded as done after the end.
    case "step":
      return ok(run);
    case "outcome":
      return run.state === "published"
        ? ok({ ...run, outcome: event.outcome })
        : err("outcome_before_publication");
    default:
      return hasEnded(run) ? err("event_after_end") : advance(run, event);
  }
}

type EndedRun = Extract<Run, { state: "published" | "cancelled" | "expired" | "failed" }>;
type LiveRun = Exclude<Run, EndedRun>;
type ProgressEvent = Exclude<
  RunEvent,
  {
    type:
      | "requested"
      | "command_received"
      | "label_removed"
      | "issue_closed"
      | "ground_lost"
      | "pull_request_closed"
      | "pull_request_reopened"
      | "checks_concluded"
      | "fact_handled"
      | "effect_intended"
      | "effect_done"
      | "step"
      | "outcome";
  }
>;

function hasEnded(run: Run): run is EndedRun {
  return (
    run.state === "published" ||
    run.state === "cancelled" ||
    run.state === "expired" ||
    run.state === "failed"
  );
}

function advance(run: LiveRun, event: ProgressEvent): Result<Run, Contradiction> {
  const { request } = run;
  switch (event.type) {
    case "phase_entered":
      return enterPhase(run, event.phase);
    case "intended": {
      const { type: _, ...intent } = event;
      return run.state === "preparing"
        ? ok({ state: "awaiting_intent", request, intent })
        : err("intended_outside_preparation");
    }
    case "intent_approved":
      if (run.state !== "awaiting_intent") return err("intent_approved_without_intent");
      return event.digest === run.intent.digest
        ? ok({ state: "preparing", request })
        : err("intent_approved_other_digest");
    case "sent_back":
      return run.state === "verifying"
        ? ok({ state: "solving", request, round: event.round })
        : err("sent_back_outside_verification");
    case "proposed":
      if (run.state !== "verifying") return err("proposed_without_verification");
      if (event.verdict.class === "refuted") return err("proposed_refuted");
      return ok({ state: "awaiting_approval", request, plan: planOf(event) });
    case "approved":
      return approve(run, event);
    case "recheck_started":
      return run.state === "approved" || run.state === "rechecking"
        ? ok({ ...run, state: "rechecking", newBaseSha: event.newBaseSha })
        : err("recheck_without_approval");
    case "publish_started":
      return startPublishing(run);
    case "published":
      return run.state === "publishing"
        ? ok({
            state: "published",
            request,
            pullRequest: event.pullRequest,
            url: event.url,
            branch: event.branch,
            commitSha: event.commitSha,
            outcome: "open",
          })
        : err("published_without_publishing");
    case "failed":
      return ok({ state: "failed", request, code: event.code, message: event.message });
    case "cancelled":
      return run.state === "publishing"
        ? err("cancelled_while_publishing")
        : ok({ state: "cancelled", request, by: event.by, why: event.why });
    case "expired":
      return run.state === "awaiting_approval" || run.state === "awaiting_intent"
        ? ok({ state: "expired", request })
        : err("expired_without_plan");
  }
}

function planOf(event: Extract<RunEvent, { type: "proposed" }>): PendingPlan {
  return {
    proposal: event.proposal,
    digest: event.digest,
    verdict: event.verdict,
    planCommentId: event.planCommentId,
    planCommentAt: event.planCommentAt,
    diffShown: event.diffShown,
  };
}

/** Phases may be entered again after a crash (a lost workspace is built anew), but none is skipped from the queue. */
function enterPhase(run: LiveRun, phase: WorkPhase): Result<Run, Contradiction> {
  const { request } = run;
  const working = run.state === "preparing" || run.state === "solving" || run.state === "verifying";
  if (!working && !(run.state === "queued" && phase === "preparing")) return err("phase_out_of_order");
  if (phase === "preparing") return ok({ state: "preparing", request });
  const round = run.state === "solving" || run.state === "verifying" ? run.round : 0;
  return ok({ state: phase, request, round });
}

function approve(run: LiveRun, event: Extract<RunEvent, { type: "approved" }>): Result<Run, Contradiction> {
  if (run.state !== "awaiting_approval") return err("approved_without_plan");
  if (event.digest !== run.plan.digest) return err("approved_other_digest");
  if (run.plan.verdict.class === "unproven" && !event.unverified)
    return err("approved_unproven_without_saying_so");
  const { by, digest, commentId, unverified } = event;
  return ok({ ...run, state: "approved", approval: { by, digest, commentId, unverified } });
}

function startPublishing(run: LiveRun): Result<Run, Contradiction> {
  if (run.state !== "approved" && run.state !== "rechecking" && run.state !== "publishing")
    return err("publish_without_approval");
  const { request, plan, approval } = run as {
    request: RunRequest;
    plan: PendingPlan;
    approval: Approval;
  };
  return ok({ state: "publishing", request, plan, approval });
}
