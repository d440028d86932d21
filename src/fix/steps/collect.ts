/** Step `collect`: builds the one tree object that verification, digest and publishing all use. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { BuiltTree } from "#src/workspace/workspace.ts";
import { keepWork } from "../kept-work.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import type { Baseline } from "./baseline.ts";
import { gitFailed, type Prepared } from "./prepare.ts";
import type { Solved } from "./solve.ts";

export interface Collected {
  readonly round: number;
  readonly treeId: string;
  readonly changes: BuiltTree["changes"];
  readonly leftOut: BuiltTree["leftOut"];
}

export const COLLECT_STEP = "collect";
export const DIFF_BLOB = "diff";

/** The agent's processes are dead by now: its session was closed when `solve` returned. */
export async function collect(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const solved = inputOf<Solved>(step.inputs, "solve");
  const { noise } = inputOf<Baseline>(step.inputs, "baseline");
  const built = await context.ports.workspaces.buildTree({
    runId: context.runId,
    repositoryId: context.request.repository.id,
    baseSha: prepared.baseSha,
    directory: solved.directory,
    edited: solved.edited,
    named: namedFiles(solved.finalText),
    noise,
  });
  if (!built.ok) return gitFailed(built.error);
  const { treeId, changes, leftOut, diff } = built.value;
  await context.putBlob(DIFF_BLOB, diff);
  context.trace.emit(
    "patch",
    { treeId, files: changes.map((change) => change.path), leftOut: leftOut.length },
    { step: "collect" },
  );
  await keepWork(context, { baseSha: prepared.baseSha, treeId, checkpoint: solved.checkpoint ?? 0, diff });
  const stopped = endOfAgent(solved, changes.length, leftOut);
  if (stopped !== null) return stopped;
  const collected: Collected = { round: solved.round, treeId, changes, leftOut };
  return { kind: "done", output: asJson(collected) };
}

const MAX_NEW_FILES = 50;

/** Paths of a line `New files: a, b` in the agent's last answer; marks of code around them do not count. */
export function namedFiles(finalText: string): readonly string[] {
  const lines = [...finalText.matchAll(/^[*_\s-]*new files:[*_]*(.*)$/gim)];
  return lines
    .flatMap((line) => (line[1] ?? "").split(","))
    .map((path) =>
      path
        .trim()
        .replace(/^`(.*)`$/, "$1")
        .replace(/\.$/, ""),
    )
    .filter((path) => path !== "")
    .slice(0, MAX_NEW_FILES);
}

/** Ends the run when there is nothing to verify; a patch of an agent that only ran out of budget is verified all the same. */
function endOfAgent(solved: Solved, changes: number, leftOut: BuiltTree["leftOut"]): Outcome | null {
  const failed = (code: string, message: string): Outcome => ({
    kind: "failed",
    code,
    message,
    retry: false,
  });
  if (solved.status === "internal") return failed("internal", solved.message);
  if (solved.status === "model_failed" || solved.status === "refused")
    return failed("model_failed", solved.message);
  if (changes > 0) return null;
  switch (solved.status) {
    case "done":
      return failed("no_changes", `The agent finished without changing anything${besides(leftOut)}.`);
    case "no_progress":
      return failed("no_progress", solved.message);
    default:
      return failed("budget", solved.message);
  }
}

const MAX_NAMED = 5;

/** What stood in the workspace all the same, so that nobody has to guess why it does not count. */
function besides(leftOut: BuiltTree["leftOut"]): string {
  if (leftOut.length === 0) return "";
  const named = leftOut.slice(0, MAX_NAMED).map(({ path, reason }) => `${path} (${reason})`);
  const more = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more` : "";
  return ` that counts; left out: ${named.join(", ")}${more}`;
}
