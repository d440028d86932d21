/** Whether somebody else has an issue in hand: asked before money is spent, and ruled by what its author may do here. */

import { mayDecide } from "#src/gate/who.ts";
import type { GitHubFailure } from "#src/github/github.ts";
import type { FixClaim } from "#src/github/surroundings.ts";
import type { RunContext } from "./run-context.ts";

export interface Claims {
  /** Why the run does not begin; null: it does. */
  readonly stop: string | null;
  /** Sentences for status and plan on what stops nothing. */
  readonly related: readonly string[];
  /** A rate limit kept the question from being asked; null: it was answered, or never will be. */
  readonly heldBack: GitHubFailure | null;
}

type PullClaim = Extract<FixClaim, { kind: "pull_request" }>;

/** Authors whose permission is asked for; a crowd of accounts costs no more calls than this, with which a run stays within 25. */
const MOST_ASKED = 2;
const MOST_NAMED = 5;
const NOTHING: Claims = { stop: null, related: [], heldBack: null };

/**
 * A pull request that says it closes the issue stops a labelled run when it was merged as one that does, or when its author has write
 * access now: anybody may open one and say so, and nobody else's word holds a maintainer up. A person who says `/retry` wants a run all the
 * same. Without an answer of GitHub's the run goes on, but for a rate limit, which is over some time.
 */
export async function claimsOf(context: RunContext, createdAt: number | undefined): Promise<Claims> {
  const { request, conversation, trace } = context;
  if (request.trigger !== "label" || createdAt === undefined) return NOTHING;
  const found = await conversation.fixClaims(createdAt);
  if (!found.ok) {
    if (found.error.code === "rate_limited") return { ...NOTHING, heldBack: found.error };
    trace.emit("warning", { text: `what others do about the issue: ${found.error.message}` });
    return NOTHING;
  }
  const pulls = found.value.filter((claim) => claim.kind === "pull_request");
  const counting = await countingOf(context, pulls);
  const stop = counting.length === 0 ? null : stopSentence(counting);
  const idle = pulls.filter((pull) => !counting.includes(pull));
  const commits = found.value.flatMap((claim) => (claim.kind === "commit" ? [claim.sha.slice(0, 12)] : []));
  return {
    ...NOTHING,
    stop,
    related: [
      ...(idle.length === 0 ? [] : [idleSentence(idle)]),
      ...(commits.length === 0 ? [] : [commitSentence(commits, request.repository.defaultBranch)]),
    ],
  };
}

/** Those that stop the run: accepted ones, and the others of somebody who writes here. */
async function countingOf(context: RunContext, pulls: readonly PullClaim[]): Promise<readonly PullClaim[]> {
  const accepted = pulls.filter((pull) => pull.accepted);
  if (accepted.length > 0) return accepted;
  // Likely ones first, so that strangers cannot crowd out a maintainer's.
  const likely = pulls.toSorted((a, b) => Number(b.insider) - Number(a.insider));
  const authors = new Set(likely.flatMap(({ by }) => by ?? []));
  const writers = new Set<string>();
  for (const login of [...authors].slice(0, MOST_ASKED))
    if (mayDecide(await context.conversation.permission(login))) writers.add(login);
  return pulls.filter(({ by }) => by !== null && writers.has(by));
}

function stopSentence(pulls: readonly PullClaim[]): string {
  const named = pulls.slice(0, MOST_NAMED).map(({ number, state }) => `pull request ${number} (${state})`);
  return `Already in hand: ${named.join(", ")} ${pulls.length === 1 ? "says that it closes" : "say that they close"} this issue, so nothing was begun. Say /retry to have me do it all the same.`;
}

function idleSentence(pulls: readonly PullClaim[]): string {
  const named = pulls
    .slice(0, MOST_NAMED)
    .map(({ number, state, by }) => `#${number} (${state}) by ${by ?? "a deleted account"}`);
  const more = pulls.length > named.length ? ` and ${pulls.length - named.length} more` : "";
  return `Somebody else has ${pulls.length === 1 ? "a pull request" : "pull requests"} for this issue: ${named.join(", ")}${more}. Nobody with write access stands behind ${pulls.length === 1 ? "it" : "them"} as far as I know, so the work goes on.`;
}

function commitSentence(commits: readonly string[], branch: string): string {
  return `${commits.slice(0, 5).join(", ")} on ${branch} ${commits.length === 1 ? "says" : "say"} in the commit message that this issue is closed by it.`;
}
