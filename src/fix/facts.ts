/** Decides what others recorded about a run (commands, a label taken off, a closed issue), answers, and says what the driver must do. */

import { type Decision, decideCommand, type OfferStanding } from "#src/gate/decide.ts";
import { formatMarker } from "#src/gate/marker.ts";
import { HELP, statusSentence } from "#src/gate/status-comment.ts";
import { isExplained, type KnownPermission, mayDecide } from "#src/gate/who.ts";
import {
  type CommandFact,
  type CommandReply,
  type FailedCheck,
  isEnded,
  type OpenPullRequest,
  type RunEvent,
  type RunRequest,
} from "#src/run/run.ts";
import type { StoredEvent } from "#src/store/store.ts";
import { boundedChecks } from "./checks.ts";
import { INTENT_EFFECT, isPassing, PLAN_EFFECT } from "./conversation.ts";
import { approvedIntent } from "./intents.ts";
import { reviewInstruction } from "./review.ts";
import type { RunContext } from "./run-context.ts";
import { INTENT_BLOB } from "./steps/intent.ts";
import { PLAN_BLOB, PROPOSE_STEP } from "./steps/propose.ts";
import { factsAbout } from "./who.ts";

/**
 * What a fact asks of whoever drives the run. `cancel`: stop all work first. `new_run`: create it first. Only then is the
 * fact recorded as handled, so that a crash in between decides it again.
 */
export type Consequence =
  | { readonly kind: "none" }
  | {
      readonly kind: "cancel";
      readonly event: Extract<RunEvent, { type: "cancelled" }>;
      readonly seq: number;
      /** Null when it was no command. */
      readonly reply: CommandReply | null;
    }
  | {
      readonly kind: "new_run";
      readonly request: RunRequest;
      readonly seq: number;
      readonly fact: CommandFact;
    };

const NOTHING: Consequence = { kind: "none" };

/** Facts of the log that no decision has been recorded for, oldest first. */
export function openFacts(context: RunContext): readonly StoredEvent[] {
  const handled = new Set<number>();
  for (const { event } of context.events()) if (event.type === "fact_handled") handled.add(event.seq);
  return context.events().filter(({ seq, event }) => isFact(event) && !handled.has(seq));
}

function isFact(event: RunEvent): boolean {
  return (
    event.type === "command_received" ||
    event.type === "label_removed" ||
    event.type === "issue_closed" ||
    event.type === "ground_lost" ||
    event.type === "pull_request_closed" ||
    event.type === "pull_request_reopened"
  );
}

/** Decides one open fact; unless a consequence is returned, it came too early or the worker is stopping, it is recorded as handled by then. */
export async function handleFact(context: RunContext, fact: StoredEvent): Promise<Consequence> {
  const { event, seq } = fact;
  switch (event.type) {
    case "command_received":
      return handleCommand(context, seq, event.fact);
    case "label_removed": {
      const labelledAgain = await context.conversation.labelledAfter(event.issueUpdatedAt);
      if (context.signal.aborted) return NOTHING;
      if (labelledAgain) {
        await context.append({ type: "fact_handled", seq, decision: "out_of_date" });
        return NOTHING;
      }
      return withdraw(context, seq, { type: "cancelled", by: event.by, why: "unlabeled" });
    }
    case "issue_closed":
      return withdraw(context, seq, { type: "cancelled", by: event.by, why: "issue_closed" });
    case "ground_lost": {
      const stands = mayStop(context) && (await context.conversation.groundStands(event.why));
      if (context.signal.aborted) return NOTHING;
      if (!stands) return withdraw(context, seq, { type: "cancelled", by: event.by, why: event.why });
      await context.append({ type: "fact_handled", seq, decision: "out_of_date" });
      return NOTHING;
    }
    case "pull_request_closed":
      if (context.request.pullRequest !== undefined && mayStop(context))
        return withdraw(context, seq, { type: "cancelled", by: event.by, why: "pull_request_closed" });
      return recordOutcome(context, seq, event.merged ? "merged" : "closed");
    case "pull_request_reopened":
      return recordOutcome(context, seq, "open");
    default:
      return NOTHING;
  }
}

async function recordOutcome(
  context: RunContext,
  seq: number,
  outcome: Extract<RunEvent, { type: "outcome" }>["outcome"],
): Promise<Consequence> {
  const { state } = context.run();
  // It was closed before its opening is on record: the fact waits for that.
  if (state === "publishing") return NOTHING;
  if (state === "published")
    await context.append({ type: "fact_handled", seq, decision: "outcome" }, { type: "outcome", outcome });
  else await context.append({ type: "fact_handled", seq, decision: "ignored" });
  return NOTHING;
}

/** Taking the label off or closing the issue stops a run until it is approved; later it is only recorded. */
async function withdraw(
  context: RunContext,
  seq: number,
  event: Extract<RunEvent, { type: "cancelled" }>,
): Promise<Consequence> {
  if (mayStop(context)) return { kind: "cancel", event, seq, reply: null };
  await context.append({ type: "fact_handled", seq, decision: "recorded" });
  return NOTHING;
}

function mayStop(context: RunContext): boolean {
  const run = context.run();
  return !isEnded(run) && run.state !== "approved" && run.state !== "publishing";
}

async function handleCommand(context: RunContext, seq: number, fact: CommandFact): Promise<Consequence> {
  const who = await factsAbout(context, fact.by, fact.command.verb === "approve" ? "approve" : "decide");
  const { permission } = who;
  // A look-up that was cut off is no answer: whoever visits the run next asks again.
  if (context.signal.aborted) return NOTHING;
  const review = await reviewOf(context, fact, permission);
  if (review === "later") return NOTHING;
  const checks = mayDecide(permission) ? await failedChecksFor(context, fact) : [];
  if (context.signal.aborted) return NOTHING;
  const offer = await offerOf(context, fact, permission);
  if (context.signal.aborted) return NOTHING;
  const hasEarlierPlan = fact.command.verb === "approve" && (await planShownBefore(context));
  // From here to the append nothing is awaited: a step that begins meanwhile finds the decision in the log.
  const decision = decideCommand({
    command: review === null ? fact.command : { verb: "revise", text: review.text },
    who,
    commentId: fact.commentId,
    run: context.run(),
    pullRequest: fact.pullRequest ?? null,
    hasEarlierPlan,
    offer,
    approvedIntent: approvedIntent(context)?.digest ?? null,
    isProposing: context.progress.running().has(PROPOSE_STEP),
    checksFailed: checks.length > 0,
    saidAt: fact.at ?? context.ports.clock.now(),
    ceilingUsd: context.ports.operator.budgetUsd,
  });
  if (decision.act === "wait") return NOTHING;
  if (decision.act === "close_pull_request") return closePullRequest(context, seq, fact);
  context.trace.emit("command", { by: fact.by, verb: fact.command.verb, decision: decision.act });
  const reply = replyTo(context, fact, { decision, permission });
  if (decision.act === "cancel")
    return { kind: "cancel", event: { type: "cancelled", by: fact.by, why: "command" }, seq, reply };
  if (decision.act === "new_run")
    return {
      kind: "new_run",
      request: {
        ...followUp(context, fact, decision),
        ...(review === null ? {} : { review: review.about }),
        ...(checks.length === 0 ? {} : { checks }),
      },
      seq,
      fact,
    };
  const text = decision.act === "instruct" && review !== null ? { text: decision.text } : {};
  const handled: RunEvent = { type: "fact_handled", seq, decision: decision.act, reply, ...text };
  if (decision.act === "approve_intent")
    await context.append(handled, {
      type: "intent_approved",
      by: fact.by,
      digest: decision.digest,
      commentId: fact.commentId,
    });
  else if (decision.act === "approve")
    await context.append(handled, {
      type: "approved",
      by: fact.by,
      digest: decision.digest,
      commentId: fact.commentId,
      unverified: decision.unverified,
    });
  else await context.append(handled);
  return NOTHING;
}

/** Closing twice, or deleting what is gone, harms nobody, so it is done before it is recorded; without an answer of GitHub's the fact stays open. */
async function closePullRequest(context: RunContext, seq: number, fact: CommandFact): Promise<Consequence> {
  const run = context.run();
  if (run.state !== "published") return NOTHING;
  const { pullRequest: number, branch, commitSha } = run;
  const closed = await context.conversation.closePullRequest({ number, branch, commitSha });
  if (!closed.ok && (context.signal.aborted || isPassing(closed.error))) return NOTHING;
  const text = closed.ok
    ? closed.value.branch === "kept"
      ? `Closed. I left the branch \`${branch}\`, since somebody else has pushed to it.`
      : null
    : `GitHub did not let me close it: ${closed.error.message}`;
  const reply = replyOn(fact, { reaction: closed.ok ? "+1" : "confused", text });
  await context.append({ type: "fact_handled", seq, decision: "close_pull_request", reply });
  return NOTHING;
}

interface ReviewRead {
  readonly text: string;
  readonly about: NonNullable<RunRequest["review"]>;
}

/** What a review asks for, its comments on lines with it; null: the command was no review, or its author decides nothing. */
async function reviewOf(
  context: RunContext,
  fact: CommandFact,
  permission: KnownPermission,
): Promise<ReviewRead | "later" | null> {
  if (fact.review === undefined || fact.pullRequest === undefined || !mayDecide(permission)) return null;
  const comments = await context.conversation.reviewComments(fact.pullRequest, fact.commentId);
  if (!comments.ok && (context.signal.aborted || isPassing(comments.error))) return "later";
  const read = comments.ok ? comments.value : [];
  return {
    text: reviewInstruction(fact, read),
    // GitHub takes answers to the comment that begins a thread only.
    about: { id: fact.commentId, comments: [...new Set(read.map(({ id, replyTo }) => replyTo ?? id))] },
  };
}

/** What fails on the pull request that is to be revised; without an answer of GitHub's nothing. */
async function failedChecksFor(context: RunContext, fact: CommandFact): Promise<readonly FailedCheck[]> {
  const run = context.run();
  if (fact.command.verb !== "revise" || fact.pullRequest === undefined || run.state !== "published")
    return [];
  const failed = await context.conversation.failedChecks(run.commitSha);
  if (failed.ok) return boundedChecks(failed.value);
  context.trace.emit("warning", { text: `checks of the pull request: ${failed.error.message}` });
  return [];
}

/** The answer belongs where the command was said. */
function replyOn(fact: CommandFact, reply: Pick<CommandReply, "reaction" | "text">): CommandReply {
  const { commentId, pullRequest, review } = fact;
  return {
    commentId,
    ...reply,
    ...(review === undefined ? {} : { reaction: null }),
    ...(pullRequest === undefined ? {} : { on: pullRequest }),
  };
}

/** How the comment stands that a bare `/approve` speaks of; an edited one is put back. */
async function offerOf(
  context: RunContext,
  { command }: CommandFact,
  permission: KnownPermission,
): Promise<OfferStanding> {
  const run = context.run();
  if (command.verb !== "approve" || command.digest !== null || !mayDecide(permission)) return "as_posted";
  if (run.state === "awaiting_approval")
    return restored(context, { id: run.plan.planCommentId, kind: "plan", blob: PLAN_BLOB });
  if (run.state === "awaiting_intent")
    return restored(context, { id: run.intent.commentId, kind: "intent", blob: INTENT_BLOB });
  return "as_posted";
}

async function restored(
  { conversation, blob, runId }: RunContext,
  comment: { readonly id: number; readonly kind: "plan" | "intent"; readonly blob: string },
): Promise<OfferStanding> {
  const standing = await conversation.standing(comment.id);
  const posted = standing === "edited" ? await blob(comment.blob) : null;
  if (posted === null) return standing;
  const marker = formatMarker({ runId, kind: comment.kind, seq: 1, forComment: null });
  const back = await conversation.concludePlan(comment.id, `${marker}\n\n${posted}`);
  return back.ok ? "restored" : standing;
}

const OFFERS: readonly string[] = [PLAN_EFFECT, INTENT_EFFECT];

/** True when another run of the issue, or this one before its plan, has shown something to approve, or may have: whoever names no digest could mean that (FAULTS H03). */
async function planShownBefore({ ports, request, run, journal }: RunContext): Promise<boolean> {
  if (run().state === "awaiting_approval" && journal.intended(INTENT_EFFECT)) return true;
  const { store } = ports;
  for (const { runId } of await store.runsOf(request.repository.id, request.issue.number)) {
    if (runId === request.runId) continue;
    const events = await store.events(runId);
    if (events.some(({ event }) => event.type === "effect_intended" && OFFERS.includes(event.effect)))
      return true;
  }
  return false;
}

interface Decided {
  readonly decision: Decision;
  readonly permission: KnownPermission;
}

function replyTo(context: RunContext, fact: CommandFact, { decision, permission }: Decided): CommandReply {
  // Anybody may review; only those who decide here ask for anything by it.
  const silent =
    decision.act === "refuse" &&
    (!isExplained(permission) || (fact.review === true && !mayDecide(permission)));
  return replyOn(fact, {
    reaction: decision.act === "refuse" ? "confused" : "+1",
    text: silent ? null : answerText(context, decision),
  });
}

function answerText(context: RunContext, decision: Decision): string | null {
  switch (decision.act) {
    case "refuse":
      return decision.because;
    case "answer":
      return decision.topic === "help" ? HELP : statusSentence(context.run());
    case "instruct":
      return "Understood; I take it up at my next turn.";
    default:
      return null;
  }
}

function followUp(
  context: RunContext,
  fact: CommandFact,
  decision: Extract<Decision, { act: "new_run" }>,
): RunRequest {
  const { ports } = context;
  const { pullRequest: _, askedAt: __, review, checks, ...request } = context.request;
  const pullRequest = revised(context, fact);
  // A revision that is tried again is to do what it was asked for.
  const again = decision.trigger === "retry" && pullRequest !== undefined;
  const goesOn = goesOnFrom(context, fact, decision);
  return {
    ...request,
    ...fact.from,
    // A revision is of what the plan was made for: what the author has written into the issue since, nobody has asked for (FAULTS H01).
    issue: decision.trigger === "retry" ? { ...request.issue, ...fact.issue } : request.issue,
    ...(fact.at === undefined ? {} : { askedAt: fact.at }),
    runId: ports.ids.runId(ports.clock.now()),
    askedBy: fact.by,
    trigger: decision.trigger,
    parent: {
      runId: context.runId,
      instruction: again ? (request.parent?.instruction ?? "") : decision.instruction,
      ...(goesOn === null ? {} : { goesOn }),
    },
    budgetUsd: decision.budgetUsd,
    ...(pullRequest === undefined ? {} : { pullRequest }),
    ...(again && review !== undefined ? { review } : {}),
    ...(again && checks !== undefined ? { checks } : {}),
  };
}

/** A pull request's branch holds the patch already; a plain `/retry` starts afresh. */
function goesOnFrom(
  context: RunContext,
  fact: CommandFact,
  { trigger, budgetUsd }: Extract<Decision, { act: "new_run" }>,
): "patch" | "checkpoint" | null {
  if (trigger === "retry") return budgetUsd === null ? null : "checkpoint";
  return context.run().state === "published" && fact.pullRequest !== undefined ? null : "patch";
}

/** The pull request that a follow-up of this run works on, if any. */
function revised(context: RunContext, fact: CommandFact): OpenPullRequest | undefined {
  const run = context.run();
  if (run.state !== "published") return context.request.pullRequest;
  return fact.pullRequest === undefined ? undefined : { number: run.pullRequest, branch: run.branch };
}
