/** Step `await-approval`: waits, holding nothing, until the log says that a maintainer approved. */

import type { Outcome } from "#src/dag/dag.ts";
import type { RunContext } from "../run-context.ts";

export interface Approved {
  readonly digest: string;
  readonly by: string;
}

export async function awaitApproval(context: RunContext): Promise<Outcome> {
  const run = context.run();
  if (run.state !== "approved" && run.state !== "rechecking" && run.state !== "publishing")
    return { kind: "waiting" };
  return { kind: "done", output: { digest: run.approval.digest, by: run.approval.by } };
}
