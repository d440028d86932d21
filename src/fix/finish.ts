/** Ends of a run: the failure's one comment, what becomes of the plan comment, and removing what is no longer needed. */

import { howItEnded } from "#src/gate/decide.ts";
import { formatMarker } from "#src/gate/marker.ts";
import { oneLine } from "#src/gate/neutralise.ts";
import { renderResult } from "#src/gate/status-comment.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { Run } from "#src/run/run.ts";
import { factsOf } from "./agent-observer.ts";
import { INTENT_EFFECT, isPassing, PLAN_EFFECT } from "./conversation.ts";
import { approvedIntent } from "./intents.ts";
import { lastOutput, type RunContext } from "./run-context.ts";
import { DIFF_BLOB } from "./steps/collect.ts";
import { INTENT_BLOB } from "./steps/intent.ts";
import { PLAN_BLOB } from "./steps/propose.ts";
import type { Solved } from "./steps/solve.ts";
import type { Verified } from "./steps/verify.ts";

/** Posts the result comment of a failed run; a repeated call finds what stands. False when GitHub may take it later; a refused comment is traced, and the status comment still tells the end. */
export async function reportFailure(context: RunContext): Promise<boolean> {
  const run = context.run();
  if (run.state !== "failed" || context.journal.done("result-comment") !== null) return true;
  const solved = lastOutput<Solved>(context, "solve");
  const verified = lastOutput<Verified>(context, "verify");
  const diff = await context.blob(DIFF_BLOB);
  const posted = await context.conversation.result(context.journal, (size) =>
    renderResult(
      {
        runId: context.runId,
        code: run.code,
        message: run.message,
        explanation: run.code === "no_changes" ? (solved?.finalText ?? "") : "",
        verdict: verified?.verdict ?? null,
        trace:
          solved === null
            ? context.progress.trace()
            : factsOf(solved.spent, solved.toolCalls, solved.retries, solved.status),
        tracePlace: context.ports.operator.tracePlace(context.runId),
        diff,
        sent: context.journal.intended("branch"),
        seq: 1,
      },
      size,
    ),
  );
  if (posted.ok) return true;
  context.trace.emit("warning", { text: `result comment: ${posted.error.message}` });
  return !isPassing(posted.error);
}

/**
 * Adds to the plan comment what became of it: where the pull request is, or that it was withdrawn. False when GitHub may
 * take it later. A plan comment that was on its way when the run ended is looked for.
 */
export async function concludePlan(context: RunContext): Promise<boolean> {
  const run = context.run();
  const sentence = conclusion(run);
  if (sentence === null) return true;
  const proposed = context.events().findLast(({ event }) => event.type === "proposed")?.event;
  return conclude(context, {
    ...{ kind: "plan", effect: PLAN_EFFECT, blob: PLAN_BLOB, sentence },
    concluded: `plan-concluded-${run.state}`,
    digest: proposed?.type === "proposed" ? proposed.digest : null,
  });
}

/** The same for the intent comment: who approved it, or that it was withdrawn. */
export async function concludeIntent(context: RunContext): Promise<boolean> {
  const run = context.run();
  const approved = approvedIntent(context);
  const sentence =
    approved === null ? conclusion(run) : `Approved by ${oneLine(approved.by, 60)}; the plan follows below`;
  if (sentence === null) return true;
  const intended = context.events().findLast(({ event }) => event.type === "intended")?.event;
  return conclude(context, {
    ...{ kind: "intent", effect: INTENT_EFFECT, blob: INTENT_BLOB, sentence },
    concluded: `intent-concluded-${approved === null ? run.state : "approved"}`,
    digest: intended?.type === "intended" ? intended.digest : null,
  });
}

interface Conclusion {
  readonly kind: "plan" | "intent";
  /** The comment's effect, and the one that notes that this was said. */
  readonly effect: string;
  readonly concluded: string;
  readonly blob: string;
  readonly sentence: string;
  /** Null: the comment was on its way when the run ended. */
  readonly digest: string | null;
}

async function conclude(context: RunContext, what: Conclusion): Promise<boolean> {
  const { journal, conversation, runId } = context;
  const { kind, concluded } = what;
  if (!journal.intended(what.effect) || journal.done(concluded) !== null) return true;
  await journal.intend(concluded);
  const known = journal.done(what.effect);
  const commentId = known === null ? null : Number(known.id);
  const which = what.digest === null ? "" : ` (${kind} \`${shortDigest(what.digest)}\`)`;
  const marker = formatMarker({ runId, kind, seq: 1, forComment: null });
  const head = `${marker}\n\n**${what.sentence}**${which}`;
  const body = `${head}\n\n${(await context.blob(what.blob)) ?? ""}`;
  let edited = await conversation.concludePlan(commentId, body);
  if (!edited.ok && edited.error.code === "too_long")
    edited = await conversation.concludePlan(commentId, head);
  if (edited.ok && edited.value !== null && isSuperseded(context.run())) {
    const folded = await conversation.fold(edited.value);
    if (!folded.ok)
      context.trace.emit("warning", { text: `folding the ${kind} away: ${folded.error.message}` });
  }
  if (!edited.ok) {
    context.trace.emit("warning", { text: `${kind} comment: ${edited.error.message}` });
    if (isPassing(edited.error)) return false;
  }
  await journal.complete(concluded, { id: edited.ok ? (known?.id ?? "none") : "refused", url: null });
  return true;
}

function isSuperseded(run: Run): boolean {
  return run.state === "cancelled" && run.why === "superseded";
}

function conclusion(run: Run): string | null {
  switch (run.state) {
    case "published":
      return run.request.pullRequest === undefined
        ? `Published as #${run.pullRequest}`
        : `Pushed to #${run.pullRequest} as \`${run.commitSha.slice(0, 12)}\``;
    case "cancelled":
      return run.why === "superseded"
        ? "Superseded by a newer run"
        : `Withdrawn: ${oneLine(howItEnded(run), 200)}`;
    case "expired":
      return "Expired without an answer";
    case "failed":
      return "Not published; see the comment below";
    default:
      return null;
  }
}

/** Removes what the run no longer needs: everything but the tree while a person decides, and that too once it has ended. */
export async function cleanUp(context: RunContext): Promise<void> {
  const { state } = context.run();
  const delivering = state === "awaiting_approval" || state === "approved" || state === "publishing";
  await context.ports.workspaces.remove(context.runId, delivering);
}
