/** Ends of a run: the failure's one comment, what becomes of the plan comment, and removing what is no longer needed. */

import { howItEnded } from "#src/gate/decide.ts";
import { formatMarker } from "#src/gate/marker.ts";
import { oneLine } from "#src/gate/neutralise.ts";
import { renderResult } from "#src/gate/status-comment.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { FailureCode, Run } from "#src/run/run.ts";
import { factsOf } from "./agent-observer.ts";
import type { RunContext } from "./run-context.ts";
import { DIFF_BLOB } from "./steps/collect.ts";
import { PLAN_BLOB } from "./steps/propose.ts";
import type { Solved } from "./steps/solve.ts";
import type { Verified } from "./steps/verify.ts";

/** Appends the failure first, so that it stands whatever becomes of the comment; then says it on the issue. */
export async function failRun(context: RunContext, code: FailureCode, message: string): Promise<void> {
  await context.append({ type: "failed", code, message });
  await reportFailure(context);
}

/** Posts the result comment of a failed run; a repeated call finds what stands. A refused comment is traced, the status comment still tells the end. */
export async function reportFailure(context: RunContext): Promise<void> {
  const run = context.run();
  if (run.state !== "failed" || context.journal.done("result-comment") !== null) return;
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
        seq: 1,
      },
      size,
    ),
  );
  if (!posted.ok) context.trace.emit("warning", { text: `result comment: ${posted.error.message}` });
}

function lastOutput<T>(context: RunContext, step: string): T | null {
  const record = context.stepLog.records().findLast((entry) => entry.kind === "done" && entry.step === step);
  return record?.kind === "done" ? (record.output as unknown as T) : null;
}

/** Adds to the plan comment what became of it: who approved and where the pull request is, or that it was withdrawn. */
export async function concludePlan(context: RunContext): Promise<void> {
  const run = context.run();
  const proposed = context.events().findLast(({ event }) => event.type === "proposed")?.event;
  if (proposed?.type !== "proposed") return;
  const sentence = conclusion(run);
  const effect = `plan-concluded-${run.state}`;
  if (sentence === null || context.journal.done(effect) !== null) return;
  await context.journal.intend(effect);
  const body = [
    formatMarker({ runId: context.runId, kind: "plan", seq: 1, forComment: null }),
    `**${sentence}** (plan \`${shortDigest(proposed.digest)}\`)`,
    (await context.blob(PLAN_BLOB)) ?? "",
  ].join("\n\n");
  const edited = await context.conversation.concludePlan(context.journal, proposed.planCommentId, body);
  if (edited.ok) await context.journal.complete(effect, { id: String(proposed.planCommentId), url: null });
  else context.trace.emit("warning", { text: `plan comment: ${edited.error.message}` });
}

function conclusion(run: Run): string | null {
  switch (run.state) {
    case "published":
      return `Published as #${run.pullRequest}`;
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
