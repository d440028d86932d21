/** The GitHub port, second part: what is asked about an issue's surroundings, that is its history, its fixes, the checks of a commit, and teams. */

import type { GitHubResult } from "./github.ts";

/** Reads alone; none rejects. */
export interface Surroundings {
  /** Whether the person is an active member of a team of the repository's owner; needs the phase `team`. */
  isTeamMember(team: string, login: string): GitHubResult<boolean>;
  /** What others have done that says it closes the issue, since it was opened or last opened again: open or merged pull requests, commits of the branch. Our own are left out. */
  fixClaims(
    issue: { readonly number: number; readonly createdAt: number },
    branch: string,
  ): GitHubResult<readonly FixClaim[]>;
  /** The check runs of a commit that did not pass, with the first of their annotations; needs the phase `checks`. */
  failedChecks(sha: string): GitHubResult<readonly FailedCheckRun[]>;
  /** The commit statuses that did not pass, newest of each context, in the same form; needs the phase `statuses`. */
  failedStatuses(sha: string): GitHubResult<readonly FailedCheckRun[]>;
  /** Open issues that carry the label, pull requests left out, lowest number first. */
  labelledIssues(label: string): GitHubResult<readonly LabelledIssue[]>;
  /** What happened to an issue, oldest first; only the kinds that `TimelineEvent` names. */
  timeline(issue: number): GitHubResult<readonly TimelineEvent[]>;
  /** When the body was last edited, ms since the epoch; null when it never was. */
  bodyEditedAt(issue: number): GitHubResult<number | null>;
}

export type FixClaim =
  | {
      readonly kind: "pull_request";
      readonly number: number;
      readonly state: "open" | "merged";
      readonly url: string;
      /** Merged, having named the issue by then: somebody with write access took it. A text can be edited later. */
      readonly accepted: boolean;
      /** Login of who opened it; null: an account that is gone. */
      readonly by: string | null;
      /** GitHub counts the author among the repository's people. It decides nothing (FAULTS F06); whoever asks about a few authors only begins with these. */
      readonly insider: boolean;
    }
  | { readonly kind: "commit"; readonly sha: string; readonly url: string };

/** A check run that did not pass; all its texts are a stranger's. */
export interface FailedCheckRun {
  readonly name: string;
  /** GitHub's word, such as `failure` or `timed_out`. */
  readonly conclusion: string;
  readonly title: string;
  readonly summary: string;
  readonly annotations: readonly CheckAnnotation[];
}

export interface CheckAnnotation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export interface LabelledIssue {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  /** ms since the epoch. */
  readonly updatedAt: number;
}

export interface TimelineEvent {
  /** An event's or a comment's id. */
  readonly id: number;
  readonly kind: "labeled" | "unlabeled" | "renamed" | "commented";
  readonly login: string;
  /** A bot or an app did it. */
  readonly bot: boolean;
  /** Our own app did it. */
  readonly ours: boolean;
  /** ms since the epoch, in whole seconds. */
  readonly at: number;
  /** Of `labeled` and `unlabeled`. */
  readonly label: string | null;
}
