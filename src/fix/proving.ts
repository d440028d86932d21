/** What establishing a verdict needs of a run, so that a patch can be verified where no run exists. */

import type { RunContext } from "./run-context.ts";

export interface Proving {
  readonly runId: string;
  readonly request: { readonly repository: { readonly id: number } };
  readonly trace: Pick<RunContext["trace"], "emit">;
  readonly ports: Pick<
    RunContext["ports"],
    "workspaces" | "sandbox" | "runSuite" | "verifyPatch" | "redactor"
  > & {
    readonly operator: Pick<
      RunContext["ports"]["operator"],
      "limits" | "setupTimeoutMs" | "suiteTimeoutMs" | "parallelSuites"
    >;
  };
}
