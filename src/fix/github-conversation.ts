/** The conversation of a run on its GitHub issue: every write is intended first, sent once, and looked for before a second try. */

import type { Clock } from "#src/base/clock.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import { LABEL } from "#src/gate/label.ts";
import { type Marker, parseMarker, sameMarker } from "#src/gate/marker.ts";
import type { RenderedPlan } from "#src/gate/plan-comment.ts";
import { EVERYONE_WHO_WRITES, ruling } from "#src/gate/who.ts";
import type { GitHub, GitHubFailure, GitHubResult, IssueComment } from "#src/github/github.ts";
import type { GitHubApp, TokenPhase } from "#src/github/github-app.ts";
import type { EffectJournal } from "#src/publish/publish.ts";
import { type GroundLoss, type OpenPullRequest, placeOf, type RunRequest } from "#src/run/run.ts";
import {
  type Answer,
  type Conversation,
  INTENT_EFFECT,
  isPassing,
  PLAN_EFFECT,
  type StartCheck,
} from "./conversation.ts";

const TRIES = 5;
const FIRST_PAUSE_MS = 1_000;

const NEEDED_PERMISSIONS = { contents: "write", issues: "write", pull_requests: "write" } as const;

/** What does not come back under the same id. */
const FINAL: readonly GroundLoss[] = [
  "issue_deleted",
  "issue_transferred",
  "app_uninstalled",
  "repository_deleted",
];

export interface ConversationParts {
  readonly app: GitHubApp;
  readonly request: RunRequest;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export function githubConversation(parts: ConversationParts): Conversation {
  const { app, request, signal } = parts;
  const { id, owner, name } = request.repository;
  const calls = (phase: TokenPhase) =>
    app.repository(request.installationId, { id, owner, name }, phase, signal);
  const github = calls(request.pullRequest === undefined ? "read" : "discuss");
  const issue = request.issue.number;
  const place = placeOf(request);
  const poster: Poster = { ...parts, github, place };
  const publisher = () => calls("write");
  return {
    welcome: () => github.reactToIssue(place, "eyes"),
    mayStart: () => mayStart(parts, github),
    permission: async (login) => {
      const answer = await github.permission(login);
      return answer.ok ? answer.value : "unknown";
    },
    isMember: async (team, login) => {
      const [organization = "", slug = ""] = team.split("/");
      // A token of one account sees nothing of another's teams.
      if (organization.toLowerCase() !== owner.toLowerCase()) return false;
      const member = await calls("team").isTeamMember(slug, login);
      return member.ok && member.value;
    },
    status: (journal, body) => keepStatus(poster, journal, body),
    plan: async (journal, render) => {
      const posted = await post(poster, journal, PLAN_EFFECT, (size) => render(size).body);
      if (!posted.ok) return posted;
      const { id: commentId, createdAt: at, body } = posted.value;
      return ok({ commentId, at, diffShown: standsWhole(body, planAs(render)) });
    },
    intent: async (journal, render) => {
      const posted = await post(poster, journal, INTENT_EFFECT, (size) => render(size).body);
      if (!posted.ok) return posted;
      const { id: commentId, createdAt: at, body } = posted.value;
      return ok({ commentId, at, shown: standsWhole(body, render) });
    },
    result: async (journal, render) => asNull(await post(poster, journal, "result-comment", render)),
    concludePlan: (commentId, body) => concludePlan(poster, commentId, body),
    standing: async (commentId) => {
      const edited = await github.isEdited(commentId);
      if (edited.ok) return edited.value ? "edited" : "as_posted";
      return edited.error.code === "not_found" ? "deleted" : "unknown";
    },
    fold: (nodeId) => github.minimize(nodeId),
    fixClaims: (createdAt) =>
      calls("look").fixClaims({ number: issue, createdAt }, request.repository.defaultBranch),
    failedChecks: async (sha) => {
      const checks = await calls("checks").failedChecks(sha);
      const statuses = await calls("statuses").failedStatuses(sha);
      return bothOf(checks, statuses);
    },
    answer: (journal, reply) => {
      const elsewhere = reply.on === place ? {} : { place: reply.on, github: calls("discuss") };
      return answer({ ...poster, ...elsewhere }, journal, reply);
    },
    reviewComments: async (pullRequest, review) => {
      const all = await calls("discuss").reviewComments(pullRequest);
      return all.ok ? ok(all.value.filter((comment) => comment.review === review)) : all;
    },
    answerReviewComment: (journal, reply) =>
      answerReviewComment({ ...poster, github: calls("discuss") }, journal, reply),
    closePullRequest: (pull) => closePullRequest(publisher(), pull),
    groundStands: async (why) => {
      if (FINAL.includes(why)) return false;
      const { installationId } = request;
      const standing = await app.standing({ installationId, repositoryId: id });
      return standing.ok && standing.value === "stands";
    },
    labelledAfter: async (instant) => {
      const now = await github.issue(issue);
      // GitHub's times are whole seconds: a label set again within one carries the removal's own time.
      return now.ok && now.value.updatedAt >= instant && now.value.labels.includes(LABEL);
    },
    branchHead: (branch) => github.branchSha(branch),
    publisher,
  };
}

type Found<T> = Result<readonly T[], GitHubFailure>;

/** An app that was registered earlier may lack either permission, and knows the other kind all the same. */
function bothOf<T>(one: Found<T>, other: Found<T>): Found<T> {
  const failed = [one, other].flatMap((found) => (found.ok ? [] : [found.error]));
  const [failure] = failed.length === 2 ? failed : failed.filter(({ code }) => code !== "permission_missing");
  return failure === undefined
    ? ok([one, other].flatMap((found) => (found.ok ? found.value : [])))
    : err(failure);
}

type Render = (size: "full" | "short") => { readonly body: string; readonly shown: boolean };

function planAs(render: (size: "full" | "short") => RenderedPlan): Render {
  return (size) => {
    const { body, diffShown: shown } = render(size);
    return { body, shown };
  };
}

/** Whether the comment that stands shows all there is to approve; one that is shorter than both of ours was cut by somebody. */
function standsWhole(body: string, render: Render): boolean {
  const full = render("full");
  if (body.length >= full.body.length) return full.shown;
  const short = render("short");
  return body.length >= short.body.length && short.shown;
}

async function mayStart(parts: ConversationParts, github: GitHub): Promise<StartCheck> {
  const { app, request } = parts;
  const failed = (code: "permission", message: string): StartCheck => ({
    ...{ go: false, end: "failed", code, message },
  });
  const { issue } = request;
  const granted = await app.permissions(request.installationId);
  // A failed look-up is no answer; if something is missing, the call that needs it says so.
  const missing = granted.ok ? missingPermissions(granted.value) : [];
  if (missing.length > 0)
    return failed(
      "permission",
      `The app's installation lacks ${missing.join(", ")}. Grant it in the app's settings and accept it for this account, then set the label again.`,
    );
  const permission = await github.permission(request.askedBy);
  if (!permission.ok)
    return unasked(permission.error, `I could not check what ${request.askedBy} may do here`);
  const { askedBy: login } = request;
  const who = { login, permission: permission.value, approvers: EVERYONE_WHO_WRITES, teams: [] };
  const may = ruling(who, "decide");
  if (!may.allow)
    return failed(
      "permission",
      `A run is started by someone with write access to the repository. ${may.because}`,
    );
  if (request.pullRequest !== undefined) return mayRevise(github, request.pullRequest);
  const now = await github.issue(issue.number);
  if (!now.ok) return unasked(now.error, "I could not read the issue");
  if (!now.value.open) return { go: false, end: "cancelled", by: "github", why: "issue_closed" };
  // Events can arrive out of order: what the issue says now wins, when it is newer than what started the run.
  const gone = request.trigger === "label" && !now.value.labels.includes(LABEL);
  const { updatedAt } = now.value;
  if (
    gone &&
    (updatedAt > issue.updatedAt || (updatedAt === issue.updatedAt && (await isTakenOff(parts, github))))
  )
    return { go: false, end: "cancelled", by: "github", why: "unlabeled" };
  return { go: true, createdAt: now.value.createdAt };
}

/** Within a second the times of an answer that lags behind and of one that is ahead are the same; the history has an order. */
async function isTakenOff({ request }: ConversationParts, github: GitHub): Promise<boolean> {
  const history = await github.timeline(request.issue.number);
  if (!history.ok) return false;
  return history.value.findLast(({ label }) => label === LABEL)?.kind === "unlabeled";
}

function unasked(failure: GitHubFailure, what: string): StartCheck {
  if (failure.code === "rate_limited") return { go: false, end: "held_back", failure };
  return { go: false, end: "failed", code: "github_failed", message: `${what}: ${failure.message}` };
}

async function mayRevise(github: GitHub, { number, branch }: OpenPullRequest): Promise<StartCheck> {
  const pull = await github.pullRequestOf(branch);
  if (!pull.ok) return unasked(pull.error, "I could not read the pull request");
  const open = pull.value?.number === number && pull.value.state === "open";
  return open ? { go: true } : { go: false, end: "cancelled", by: "github", why: "pull_request_closed" };
}

async function closePullRequest(
  github: GitHub,
  pull: { readonly number: number; readonly branch: string; readonly commitSha: string },
): Promise<Result<{ readonly branch: "deleted" | "kept" }, GitHubFailure>> {
  const closed = await github.closePullRequest(pull.number);
  if (!closed.ok) return closed;
  const head = await github.branchSha(pull.branch);
  if (!head.ok) return head;
  if (head.value === null) return ok({ branch: "deleted" });
  if (head.value !== pull.commitSha) return ok({ branch: "kept" });
  const deleted = await github.deleteBranch(pull.branch);
  return deleted.ok ? ok({ branch: "deleted" }) : deleted;
}

/** What of the needed permissions an installation does not grant; GitHub leaves out what is not granted. */
export function missingPermissions(granted: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(NEEDED_PERMISSIONS)
    .filter(([name, level]) => granted[name] !== level && granted[name] !== "admin")
    .map(([name, level]) => `${name}: ${level}`);
}

interface Poster extends ConversationParts {
  readonly github: GitHub;
  /** Number of the issue or pull request. */
  readonly place: number;
}

/** Posts a comment exactly once under the marker on its first line. */
async function post(
  poster: Poster,
  journal: EffectJournal,
  effect: string,
  render: (size: "full" | "short") => string,
): GitHubResult<IssueComment> {
  const full = render("full");
  const marker = parseMarker(full);
  if (marker === null) throw new Error(`the body of ${effect} has no marker`);
  if (journal.intended(effect)) {
    const standing = await find(poster, marker);
    if (!standing.ok) return standing;
    if (standing.value !== null) return complete(journal, effect, standing.value);
  }
  await journal.intend(effect);
  let size: "full" | "short" = "full";
  for (let attempt = 1; ; attempt++) {
    const made = await poster.github.createComment(poster.place, size === "full" ? full : render("short"));
    if (made.ok) return complete(journal, effect, made.value);
    if (made.error.code === "too_long" && size === "full") {
      size = "short";
      continue;
    }
    if (made.error.code === "cancelled" || !isPassing(made.error) || attempt >= TRIES) return made;
    const standing = await lookAgain(poster, marker, attempt);
    // Nothing is posted again without having looked.
    if (!standing.ok) return made;
    if (standing.value !== null) return complete(journal, effect, standing.value);
  }
}

const CUT_OFF: GitHubFailure = {
  ...{ code: "cancelled", status: null, message: "The wait was cut off.", retryAfterMs: null },
};

/** Looks after a pause, and once more after each that brings no answer. */
async function lookAgain(poster: Poster, marker: Marker, from: number): GitHubResult<IssueComment | null> {
  for (let attempt = from; ; attempt++) {
    if (!(await pause(poster, attempt))) return err(CUT_OFF);
    const standing = await find(poster, marker);
    if (standing.ok || !isPassing(standing.error) || attempt >= TRIES) return standing;
  }
}

async function complete(
  journal: EffectJournal,
  effect: string,
  comment: IssueComment,
): GitHubResult<IssueComment> {
  await journal.complete(effect, { id: String(comment.id), url: comment.url });
  return ok(comment);
}

/** Our own comment with that marker; a marker in anybody else's comment is not believed. */
async function find(poster: Poster, marker: Marker): GitHubResult<IssueComment | null> {
  const comments = await poster.github.comments(poster.place);
  if (!comments.ok) return comments;
  const found = comments.value.find((comment) => {
    const theirs = comment.ours ? parseMarker(comment.body) : null;
    return theirs !== null && sameMarker(theirs, marker);
  });
  return ok(found ?? null);
}

async function keepStatus(
  poster: Poster,
  journal: EffectJournal,
  body: string,
): Promise<Result<null, GitHubFailure>> {
  const known = journal.done("status-comment");
  if (known !== null) {
    const edited = await poster.github.editComment(Number(known.id), body);
    if (edited.ok || edited.error.code !== "not_found") return asNull(edited);
    // Somebody deleted it: a new one, found by its marker from then on.
  }
  const posted = await post(poster, journal, "status-comment", () => body);
  if (!posted.ok || posted.value.body === body) return asNull(posted);
  // It stood already, with the words of then.
  return asNull(await poster.github.editComment(posted.value.id, body));
}

async function concludePlan(
  poster: Poster,
  commentId: number | null,
  body: string,
): Promise<Result<string | null, GitHubFailure>> {
  const edit = async (id: number) => {
    const edited = await poster.github.editComment(id, body);
    return edited.ok ? ok(edited.value.nodeId) : edited;
  };
  if (commentId !== null) return edit(commentId);
  const marker = parseMarker(body);
  if (marker === null) throw new Error("the body of a plan comment has no marker");
  const standing = await find(poster, marker);
  if (!standing.ok) return standing;
  return standing.value === null ? ok(null) : edit(standing.value.id);
}

async function answer(
  poster: Poster,
  journal: EffectJournal,
  reply: Answer,
): Promise<Result<null, GitHubFailure>> {
  // A reaction is set once per user and kind by GitHub itself, so sending it again is harmless.
  const reacted =
    reply.reaction === null ? ok(null) : await poster.github.reactToComment(reply.commentId, reply.reaction);
  const { body } = reply;
  const effect = `answer-${reply.commentId}`;
  if (body === null || journal.done(effect) !== null) return reacted;
  const posted = await post(poster, journal, effect, () => body);
  return posted.ok ? reacted : asNull(posted);
}

async function answerReviewComment(
  poster: Poster,
  journal: EffectJournal,
  reply: { readonly pullRequest: number; readonly commentId: number; readonly body: string },
): Promise<Result<null, GitHubFailure>> {
  const { pullRequest, commentId, body } = reply;
  const effect = `thread-${commentId}`;
  if (journal.done(effect) !== null) return ok(null);
  const marker = parseMarker(body);
  if (marker === null) throw new Error(`the body of ${effect} has no marker`);
  if (journal.intended(effect)) {
    const standing = await poster.github.reviewComments(pullRequest);
    if (!standing.ok) return standing;
    const found = standing.value.find((comment) => {
      const theirs = comment.ours ? parseMarker(comment.body) : null;
      return theirs !== null && sameMarker(theirs, marker);
    });
    if (found !== undefined) {
      await journal.complete(effect, { id: String(found.id), url: null });
      return ok(null);
    }
  }
  await journal.intend(effect);
  const answered = await poster.github.answerReviewComment(pullRequest, commentId, body);
  if (answered.ok || !isPassing(answered.error))
    await journal.complete(effect, { id: answered.ok ? "answered" : "refused", url: null });
  return answered;
}

/** False when the wait was cut short. */
async function pause(poster: Poster, attempt: number): Promise<boolean> {
  return poster.clock.sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1), poster.signal).then(
    () => true,
    () => false, // Only an abort rejects a sleep.
  );
}

function asNull<T>(result: Result<T, GitHubFailure>): Result<null, GitHubFailure> {
  return result.ok ? ok(null) : err(result.error);
}
