/** Opening, moving and merging pull requests, with what follows on GitHub when a branch moves. */

import { announceIssue } from "./announcements.ts";
import { type Actor, gitOf, type Hub } from "./hub.ts";
import { addEvent, newIssue, setIssueState } from "./issue-actions.ts";
import { type Issue, type Pull, type PullFacts, type Repository, takeId } from "./state.ts";

export interface PullRequestContent {
  readonly title: string;
  readonly body: string | null;
  readonly headBranch: string;
  readonly headSha: string;
  readonly baseBranch: string;
  readonly baseSha: string;
  readonly draft: boolean;
}

export async function openPull(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  content: PullRequestContent,
): Promise<Issue> {
  const facts = await factsOf(hub, repository, content.baseSha, content.headSha);
  const { title, body, ...ends } = content;
  const pull: Pull = { id: takeId(hub.state), ...ends, merge: null, facts, reviewComments: [] };
  const issue = newIssue(hub, repository, actor, { title, body, pull });
  announceIssue(hub, issue, actor, { action: "opened" });
  return issue;
}

/** To be called after a branch was created, moved or deleted (`sha` null), by whatever way. */
export async function branchMoved(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  branch: { readonly name: string; readonly sha: string | null; readonly before: string | null },
): Promise<void> {
  repository.pushedAt = hub.clock.now();
  for (const issue of repository.issues.values()) {
    const { pull } = issue;
    if (pull === null || issue.state === "closed") continue;
    if (pull.headBranch === branch.name) await headMoved(hub, issue, actor, branch);
    else if (pull.baseBranch === branch.name && branch.sha !== null) {
      pull.baseSha = branch.sha;
      pull.facts = await factsOf(hub, repository, pull.baseSha, pull.headSha);
    }
  }
}

async function headMoved(
  hub: Hub,
  issue: Issue,
  actor: Actor,
  branch: { readonly sha: string | null; readonly before: string | null },
): Promise<void> {
  if (branch.sha === null) return setIssueState(hub, issue, actor, "closed");
  const { pull } = issue;
  if (pull === null) return;
  pull.headSha = branch.sha;
  pull.facts = await factsOf(hub, issue.repository, pull.baseSha, pull.headSha);
  announceIssue(hub, issue, actor, {
    action: "synchronize",
    before: branch.before ?? "0".repeat(40),
    after: branch.sha,
  });
}

/** Merges with a merge commit, closes the request, and closes the issues that its text says it fixes. Rejects when it cannot be merged. */
export async function mergePull(hub: Hub, issue: Issue, actor: Actor): Promise<string> {
  const { repository, pull } = issue;
  if (pull === null || issue.state === "closed") throw new Error(`#${issue.number} is no open pull request`);
  const git = gitOf(hub, repository);
  const tree = await git.mergeTree(pull.baseSha, pull.headSha);
  if (tree === null) throw new Error(`pull request #${issue.number} conflicts with ${pull.baseBranch}`);
  const now = hub.clock.now();
  const sha = await git.writeCommit({
    tree,
    parents: [pull.baseSha, pull.headSha],
    author: { name: actor.account.login, email: emailOf(actor), at: now },
    committer: { name: "GitHub", email: "noreply@github.com", at: now },
    message: `Merge pull request #${issue.number} from ${repository.owner.login}/${pull.headBranch}\n\n${issue.title}`,
  });
  await git.updateRef(`refs/heads/${pull.baseBranch}`, sha, pull.baseSha);
  pull.merge = { at: now, by: actor.account, sha };
  addEvent(hub, issue, actor, { event: "merged" });
  setIssueState(hub, issue, actor, "closed");
  const moved = { name: pull.baseBranch, sha, before: pull.baseSha };
  await branchMoved(hub, repository, actor, moved);
  if (pull.baseBranch === repository.defaultBranch) closeFixed(hub, issue, actor);
  return sha;
}

function closeFixed(hub: Hub, pullRequest: Issue, actor: Actor): void {
  const keyword = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s+#(\d+)/gi;
  for (const match of (pullRequest.body ?? "").matchAll(keyword)) {
    const fixed = pullRequest.repository.issues.get(Number(match[1]));
    if (fixed !== undefined && fixed.pull === null) setIssueState(hub, fixed, actor, "closed");
  }
}

/** The address GitHub gives an account that hides its own. */
export function emailOf(actor: Actor): string {
  return `${actor.account.id}+${actor.account.login}@users.noreply.github.com`;
}

async function factsOf(
  hub: Hub,
  repository: Repository,
  baseSha: string,
  headSha: string,
): Promise<PullFacts> {
  const git = gitOf(hub, repository);
  const from = (await git.mergeBase(baseSha, headSha)) ?? baseSha;
  const [commits, stat, merged] = await Promise.all([
    git.countCommits(baseSha, headSha),
    git.diffStat(from, headSha),
    git.mergeTree(baseSha, headSha),
  ]);
  return { commits, ...stat, mergeable: merged !== null };
}
