/** Publishes one commit on the approved base with the approved tree: blobs, tree, commit, branch, pull request, or a push to one of ours. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { GitHubFailure, GitHubResult, PullRequest, TreeEntry } from "#src/github/github.ts";
import type { Published, PublishFailure, PublishRequest } from "./publish.ts";

const TRIES = 4;

/** Sees the approved proposal through; a repeated call after a crash or a lost answer finds what stands and goes on from there. */
export async function publishPullRequest(
  request: PublishRequest,
): Promise<Result<Published, PublishFailure>> {
  const commit = await ensureBranch(request);
  if (!commit.ok) return commit;
  const pull = await pullRequestFor(request, commit.value);
  if (!pull.ok) return pull;
  const notes = await addLabels(request, pull.value);
  const { number: pullRequest, url } = pull.value;
  return ok({ pullRequest, url, branch: request.branch, commitSha: commit.value, notes });
}

async function pullRequestFor(
  request: PublishRequest,
  commitSha: string,
): Promise<Result<PullRequest, PublishFailure>> {
  if (request.pullRequest === null) {
    const opened = await ensurePullRequest(request, commitSha);
    return opened.ok ? opened : withdraw(request, commitSha, opened.error);
  }
  const known = request.journal.done("pull-request");
  if (known !== null)
    return ok({ number: Number(known.id), url: known.url ?? "", state: "open", headSha: commitSha });
  const standing = await ask(request.github.pullRequestOf(request.branch), "read the pull request");
  if (!standing.ok) return standing;
  // The commit is on the branch; that the pull request was closed in the same moment is its own fact.
  if (standing.value !== null) return completePullRequest(request, standing.value);
  return err({
    code: "publish_refused",
    certain: true,
    message: `The commit is on ${request.branch}, but its pull request is gone.`,
  });
}

/** The commit at the head of our branch, made when it is not there. A branch of that name with other content is never touched. */
async function ensureBranch(request: PublishRequest): Promise<Result<string, PublishFailure>> {
  const { github, journal, branch } = request;
  const known = journal.done("branch");
  if (known !== null) return ok(known.id);
  if (journal.intended("branch")) {
    const standing = await standingBranch(request);
    if (!standing.ok) return standing;
    if (standing.value !== null) return completeBranch(request, standing.value);
  }
  const commit = await makeCommit(request);
  if (!commit.ok) return commit;
  await journal.intend("branch");
  const moveBranch = () =>
    request.pullRequest === null
      ? github.createBranch(branch, commit.value)
      : github.forwardBranch(branch, commit.value);
  for (let attempt = 1; ; attempt++) {
    const made = await moveBranch();
    if (made.ok) return completeBranch(request, commit.value);
    const standing = await standingBranch(request);
    // Nothing is made again without having looked.
    if (!standing.ok) return standing;
    if (standing.value !== null) return completeBranch(request, standing.value);
    if (!isPassing(made.error) || attempt === TRIES) return err(explain(made.error, "create the branch"));
    await request.pause(attempt);
  }
}

async function completeBranch(request: PublishRequest, sha: string): Promise<Result<string, PublishFailure>> {
  await request.journal.complete("branch", { id: sha, url: null });
  return ok(sha);
}

/** The head of our branch when it is exactly the approved commit; null when it has not come about yet: there is no such branch, or its head is still what was revised. */
async function standingBranch(request: PublishRequest): Promise<Result<string | null, PublishFailure>> {
  const head = await ask(request.github.branchSha(request.branch), "look for the branch");
  if (!head.ok) return head;
  const revises = request.pullRequest !== null;
  if (head.value === (revises ? request.proposal.baseSha : null)) return ok(null);
  if (head.value === null) return err(movedOn(request, "is gone"));
  const sha = head.value;
  const commit = await ask(request.github.commitTree(sha), "read the branch");
  if (!commit.ok) return commit;
  const { proposal } = request;
  const ours =
    commit.value.treeSha === proposal.treeId &&
    commit.value.parents.length === 1 &&
    commit.value.parents[0] === proposal.baseSha;
  if (ours) return ok(sha);
  return revises
    ? err(movedOn(request, "has moved since the plan"))
    : err({
        code: "publish_refused",
        certain: true,
        message: `The branch ${request.branch} exists with other content. Delete it, then say /retry.`,
      });
}

function movedOn({ branch }: PublishRequest, how: string): PublishFailure {
  const message = `The branch ${branch} ${how}, so nothing was pushed. Say /revise again to have it done on what stands there.`;
  return { code: "publish_refused", certain: true, message };
}

async function makeCommit(request: PublishRequest): Promise<Result<string, PublishFailure>> {
  const { proposal } = request;
  const base = await ask(request.github.commitTree(proposal.baseSha), "read the base");
  if (!base.ok) return base;
  const entries = await makeBlobs(request);
  if (!entries.ok) return entries;
  const tree = await again(
    request,
    () => request.github.createTree(base.value.treeSha, entries.value),
    "create the tree",
  );
  if (!tree.ok) return tree;
  if (tree.value !== proposal.treeId)
    return err({
      code: "publish_refused",
      certain: true,
      message: `GitHub built tree ${tree.value}, not the approved ${proposal.treeId}; nothing was published.`,
    });
  return again(
    request,
    () => request.github.createCommit(request.commitMessage, tree.value, proposal.baseSha),
    "create the commit",
  );
}

/** Blobs, trees and commits are content-addressed or unreachable until a branch names them, so making one twice harms nobody. */
async function makeBlobs(request: PublishRequest): Promise<Result<readonly TreeEntry[], PublishFailure>> {
  const entries: TreeEntry[] = [];
  for (const file of request.proposal.files) {
    if (file.status === "deleted") {
      entries.push({ path: file.path, mode: file.mode, sha: null });
      continue;
    }
    const content = await request.content(file.path);
    if (content === null)
      return err({
        code: "publish_refused",
        certain: true,
        message: `The kept content of ${file.path} is gone. Say /retry.`,
      });
    const blob = await again(request, () => request.github.createBlob(content), "store a file");
    if (!blob.ok) return blob;
    entries.push({ path: file.path, mode: file.mode, sha: blob.value });
  }
  return ok(inOrder(entries));
}

/**
 * Deletions first: where a directory becomes a file, or a file a directory, the new entry takes the old one's place, and GitHub
 * refuses to delete what is gone by then. Pure.
 */
function inOrder(entries: readonly TreeEntry[]): readonly TreeEntry[] {
  return entries.toSorted((a, b) => Number(a.sha !== null) - Number(b.sha !== null));
}

async function ensurePullRequest(
  request: PublishRequest,
  commitSha: string,
): Promise<Result<PullRequest, PublishFailure>> {
  const { github, journal, proposal, branch } = request;
  const { title, targetBranch: base } = proposal;
  const look = () => ask(github.pullRequestOf(branch), "look for the pull request");
  const known = journal.done("pull-request");
  if (known !== null)
    return ok({ number: Number(known.id), url: known.url ?? "", state: "open", headSha: commitSha });
  if (journal.intended("pull-request")) {
    const standing = await look();
    if (!standing.ok) return standing;
    if (standing.value !== null) return completePullRequest(request, standing.value);
  }
  await journal.intend("pull-request");
  let { draft } = proposal;
  for (let attempt = 1; ; attempt++) {
    const made = await github.createPullRequest({ title, body: request.body, head: branch, base, draft });
    if (made.ok) return completePullRequest(request, made.value);
    const standing = await look();
    if (!standing.ok) return standing;
    if (standing.value !== null) return completePullRequest(request, standing.value);
    if (draft && isDraftRefusal(made.error)) draft = false;
    else if (!isPassing(made.error) || attempt >= TRIES)
      return err(explain(made.error, "open the pull request"));
    else await request.pause(attempt);
  }
}

async function completePullRequest(
  request: PublishRequest,
  pull: PullRequest,
): Promise<Result<PullRequest, PublishFailure>> {
  await request.journal.complete("pull-request", { id: String(pull.number), url: pull.url });
  return ok(pull);
}

/** Draft pull requests are not to be had on every plan; GitHub says so with a 422, and a plain one is opened instead. */
function isDraftRefusal(failure: GitHubFailure): boolean {
  return failure.code === "invalid" && /draft/i.test(failure.message);
}

/**
 * After a refused pull request our branch would be litter. It goes only while its head is still the commit we made and no
 * pull request stands on it; when GitHub does not say, it stays, since deleting it would close that pull request.
 */
async function withdraw(
  request: PublishRequest,
  commitSha: string,
  failure: PublishFailure,
): Promise<Result<PullRequest, PublishFailure>> {
  const { github, branch } = request;
  const standing = await github.pullRequestOf(branch);
  if (standing.ok && standing.value !== null) return completePullRequest(request, standing.value);
  const head = standing.ok ? await github.branchSha(branch) : standing;
  const ours = head.ok && head.value === commitSha;
  const gone = ours ? (await github.deleteBranch(branch)).ok : head.ok;
  if (gone) return err(failure);
  return err({
    ...uncertain(failure),
    message: `${failure.message} The branch ${branch} may have been left behind; delete it if there is no pull request on it.`,
  });
}

async function addLabels(request: PublishRequest, pull: PullRequest): Promise<readonly string[]> {
  const { labels } = request.proposal;
  if (labels.length === 0) return [];
  const added = await again(request, () => request.github.addLabels(pull.number, labels), "set the labels");
  return added.ok ? [] : [added.error.message];
}

/** One question; the client has tried a read several times before it says that there is no answer, and then nothing is known. */
async function ask<T>(question: GitHubResult<T>, what: string): Promise<Result<T, PublishFailure>> {
  const answer = await question;
  if (answer.ok) return answer;
  const refusal = explain(answer.error, what);
  return err(isPassing(answer.error) ? uncertain(refusal) : refusal);
}

/** A write, tried again while the failure may pass. */
async function again<T>(
  request: PublishRequest,
  call: () => GitHubResult<T>,
  what: string,
): Promise<Result<T, PublishFailure>> {
  for (let attempt = 1; ; attempt++) {
    const answer = await call();
    if (answer.ok) return answer;
    if (!isPassing(answer.error) || attempt === TRIES) return err(explain(answer.error, what));
    await request.pause(attempt);
  }
}

function uncertain(failure: PublishFailure): PublishFailure {
  return { ...failure, certain: false };
}

/** GitHub's words when a part of it has not heard yet of an object or branch that was made a moment ago. */
const LAGS =
  /head sha can't be blank|\bhead invalid\b|not all refs are readable|(object|sha) does not exist|BadObjectState|is not a valid (blob|tree|commit)/i;

/** Failures that may be gone at the next try. */
function isPassing(failure: GitHubFailure): boolean {
  if (failure.code === "invalid") return LAGS.test(failure.message);
  return failure.code === "server_error" || failure.code === "unreachable" || failure.code === "rate_limited";
}

function explain(failure: GitHubFailure, what: string): PublishFailure {
  if (/no commits between/i.test(failure.message))
    return {
      code: "no_changes",
      certain: true,
      message: "The target branch already holds this change: nothing to propose.",
    };
  switch (failure.code) {
    case "permission_missing":
    case "forbidden":
    case "unauthorized":
      return {
        code: "permission",
        certain: true,
        message: `GitHub did not let the app ${what}: ${failure.message}. Grant the app ${neededFor(failure)} write access (and accept the new permissions), then say /retry.`,
      };
    case "invalid":
    case "conflict":
    case "not_found":
    case "too_long":
    case "locked":
      return {
        code: "publish_refused",
        certain: true,
        message: `GitHub refused to ${what}: ${failure.message}. Say /retry once that is settled.`,
      };
    default:
      return {
        code: "github_failed",
        certain: true,
        message: `GitHub did not answer the attempt to ${what}: ${failure.message}. Say /retry later.`,
      };
  }
}

/** Workflow files need a permission of their own, which GitHub names in its refusal (FAULTS F12). */
function neededFor(failure: GitHubFailure): string {
  return /workflow/i.test(failure.message)
    ? "workflows, contents and pull requests"
    : "contents and pull requests";
}
