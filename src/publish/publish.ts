/** The publish port: opens the pull request of an approved proposal, looking before it makes each thing. */

import type { Result } from "#src/base/result.ts";
import type { GitHub } from "#src/github/github.ts";
import type { Proposal } from "#src/run/proposal.ts";
import type { FailureCode } from "#src/run/run.ts";

/** One effect on GitHub by its permanent name; the journal keeps intent and result durably. */
export interface EffectJournal {
  /** The stored result of an effect that is known to have happened. */
  done(effect: string): { readonly id: string; readonly url: string | null } | null;
  /** True when the effect was intended before: it may have happened, so look first. */
  intended(effect: string): boolean;
  intend(effect: string): Promise<void>;
  complete(effect: string, result: { readonly id: string; readonly url: string | null }): Promise<void>;
}

export interface PublishRequest {
  readonly github: GitHub;
  readonly journal: EffectJournal;
  readonly proposal: Proposal;
  /** Bytes of a proposed file, from the approved tree. */
  readonly content: (path: string) => Promise<Uint8Array | null>;
  readonly branch: string;
  /** An open pull request of ours to push the commit to, on top of its head; null: branch and pull request are made. */
  readonly pullRequest: number | null;
  readonly commitMessage: string;
  /** The proposal's body and the footer. */
  readonly body: string;
  /** Waits before a look-and-try-again, `attempt` from 1; rejects when aborted. */
  readonly pause: (attempt: number) => Promise<void>;
}

export interface Published {
  readonly pullRequest: number;
  readonly url: string;
  readonly branch: string;
  readonly commitSha: string;
  /** What did not come about without keeping the pull request from opening, as sentences. */
  readonly notes: readonly string[];
}

export interface PublishFailure {
  readonly code: Extract<FailureCode, "permission" | "github_failed" | "publish_refused" | "no_changes">;
  /** A sentence with the remedy. */
  readonly message: string;
  /** False: GitHub did not say whether a branch or pull request of ours stands; the same request again looks for it first. */
  readonly certain: boolean;
}

export type Publish = (request: PublishRequest) => Promise<Result<Published, PublishFailure>>;

/** The branch of a run; never reused by another (FAULTS E07, E08). */
export function branchName(issue: number, runId: string): string {
  return `agent-fix/issue-${issue}-${runId}`;
}
