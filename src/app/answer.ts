/** The answer to a command on an issue that never had a run: the only comment the edge itself writes, since no lease holder exists. */

import { parseMarker } from "#src/gate/marker.ts";
import { HELP, NO_RUN_YET, renderAnswer } from "#src/gate/status-comment.ts";
import { isExplained } from "#src/gate/who.ts";
import type { GitHub } from "#src/github/github.ts";
import type { Command } from "#src/run/run.ts";

export interface UnansweredCommand {
  readonly github: GitHub;
  readonly issue: number;
  readonly commentId: number;
  readonly login: string;
  readonly command: Command;
}

/** Reacts, and answers once to someone with triage rights or more. Rejects when GitHub refuses, for the log. */
export async function answerWithoutRun(asked: UnansweredCommand): Promise<void> {
  const { github, issue, commentId, command } = asked;
  const informed = command.verb === "help" || command.verb === "status";
  const reacted = await github.reactToComment(commentId, informed ? "+1" : "confused");
  if (!reacted.ok) throw new Error(reacted.error.message);
  const permission = await github.permission(asked.login);
  if (!informed && !(permission.ok && isExplained(permission.value))) return;
  const text = command.verb === "help" ? HELP : command.verb === "unclear" ? command.hint : NO_RUN_YET;
  const before = await github.comments(issue);
  if (before.ok && before.value.some((one) => one.ours && parseMarker(one.body)?.forComment === commentId))
    return;
  const made = await github.createComment(issue, renderAnswer({ runId: null, commentId, text }));
  if (!made.ok) throw new Error(made.error.message);
}
