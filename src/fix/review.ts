/** A review that asks for changes: its words as an instruction, and the answers on its lines once they were taken up. */

import { headOf } from "#src/base/cut-text.ts";
import { formatMarker } from "#src/gate/marker.ts";
import { oneLine } from "#src/gate/neutralise.ts";
import type { ReviewComment } from "#src/github/github.ts";
import type { CommandFact } from "#src/run/run.ts";
import { isPassing } from "./conversation.ts";
import type { RunContext } from "./run-context.ts";

/** Characters; a review may have a hundred comments of 65,536. */
const MAX_INSTRUCTION = 20_000;

/** The reviewer's own comments of a review, put under its text with their places. Pure. */
export function reviewInstruction(fact: CommandFact, comments: readonly ReviewComment[]): string {
  const body = fact.command.verb === "revise" ? fact.command.text.trim() : "";
  const onLines = comments.map(
    ({ path, line, body: text }) =>
      `On ${JSON.stringify(path)}${line === null ? "" : `, line ${line}`}:\n${text.trim()}`,
  );
  const parts = [`${fact.by} has reviewed the pull request and asks for changes.`, body, ...onLines];
  return headOf(parts.filter((part) => part !== "").join("\n\n"), MAX_INSTRUCTION);
}

/** Says on each line that the review commented what became of it; true when nothing is left to be said later. */
export async function answerThreads(context: RunContext): Promise<boolean> {
  const run = context.run();
  const { review, pullRequest } = context.request;
  if (run.state !== "published" || review === undefined || pullRequest === undefined) return true;
  const proposed = context.events().findLast(({ event }) => event.type === "proposed")?.event;
  const title = proposed?.type === "proposed" ? proposed.proposal.title : "";
  let all = true;
  for (const commentId of review.comments) {
    const marker = formatMarker({ runId: context.runId, kind: "answer", seq: 1, forComment: commentId });
    const body = `${marker}\nTaken up in ${run.commitSha}: ${oneLine(title, 120)}`;
    const answered = await context.conversation.answerReviewComment(context.journal, {
      pullRequest: pullRequest.number,
      commentId,
      body,
    });
    if (answered.ok) continue;
    context.trace.emit("warning", { text: `answer on a line: ${answered.error.message}` });
    if (isPassing(answered.error)) all = false;
  }
  return all;
}
