/** Webhooks to facts: each delivery becomes a run, a fact of a run, or nothing, and is recorded together with that before it is answered. */

import type { Probot } from "probot";
import { parseCommand } from "#src/gate/commands.ts";
import { LABEL } from "#src/gate/label.ts";
import type { CommandFact, RepositoryRef, RunEvent, RunRequest } from "#src/run/run.ts";
import type { StoredRun } from "#src/store/store.ts";
import { answerWithoutRun } from "./answer.ts";
import { CHECKED, STATUS_SET } from "./checks.ts";
import { type Edge, servesOwner } from "./edge.ts";
import { registerGroundRoutes } from "./ground.ts";
import { runOfBranch } from "./our-branch.ts";
import {
  COMMENT_EVENT,
  type CommentEvent,
  ISSUE_EVENT,
  type IssueEvent,
  LABEL_EVENT,
  type LabelEvent,
  PULL_REQUEST_EVENT,
  type PullRequestEvent,
  REVIEW_EVENT,
  type ReviewEvent,
} from "./payloads.ts";
import { NOTHING, type Reading, type Route, receive } from "./receive.ts";

const LABELED: Route<LabelEvent> = { schema: LABEL_EVENT, bots: "ignored", read: onLabeled };
const UNLABELED: Route<LabelEvent> = { schema: LABEL_EVENT, bots: "heard", read: onUnlabeled };
const CLOSED: Route<IssueEvent> = { schema: ISSUE_EVENT, bots: "heard", read: onClosed };
const COMMENTED: Route<CommentEvent> = { schema: COMMENT_EVENT, bots: "ignored", read: onComment };
const PULL_REQUEST_ENDED: Route<PullRequestEvent> = {
  schema: PULL_REQUEST_EVENT,
  bots: "heard",
  read: onPullRequestEnded,
};

const REVIEWED: Route<ReviewEvent> = { schema: REVIEW_EVENT, bots: "ignored", read: onReview };

/** Registers the webhooks on a Probot application. */
export function registerRoutes(probot: Probot, edge: Edge): void {
  probot.on("issues.labeled", (delivery) => receive(edge, delivery, LABELED));
  probot.on("issues.unlabeled", (delivery) => receive(edge, delivery, UNLABELED));
  probot.on("issues.closed", (delivery) => receive(edge, delivery, CLOSED));
  registerGroundRoutes(probot, edge);
  probot.on("issue_comment.created", (delivery) => receive(edge, delivery, COMMENTED));
  probot.on(["pull_request.closed", "pull_request.reopened"], (delivery) =>
    receive(edge, delivery, PULL_REQUEST_ENDED),
  );
  probot.on("pull_request_review.submitted", (delivery) => receive(edge, delivery, REVIEWED));
  probot.on("check_suite.completed", (delivery) => receive(edge, delivery, CHECKED));
  probot.on("status", (delivery) => receive(edge, delivery, STATUS_SET));
  probot.onError((error) => edge.log.error({ err: error }, "a webhook was refused or could not be handled"));
}

async function onLabeled(edge: Edge, event: LabelEvent): Promise<Reading> {
  if (event.label?.name !== LABEL) return NOTHING;
  const { repository, installation, issue, sender } = event;
  if (!(await servesOwner(edge, repository.owner.login))) {
    edge.log.warn(
      { owner: repository.owner.login },
      "repositories of this account are not served (ALLOWED_OWNERS)",
    );
    return NOTHING;
  }
  if (edge.paused) {
    edge.log.warn({ issue: issue.number }, "a label was set while PAUSED is on; no run starts");
    const github = edge.app.repository(installation.id, repositoryName(event), "read");
    const afterwards = () => edge.background.run("reaction", github.reactToIssue(issue.number, "confused"));
    return { ...NOTHING, afterwards };
  }
  const newest = await edge.store.latestRun(repository.id, issue.number);
  // A label that is heard of late, when a newer one or a command has had its run already, asks for nothing more.
  if (newest !== null && isBefore(issue.updated_at, newest)) return NOTHING;
  return { receipt: { kind: "run", request: requestOf(edge, event, sender.login) } };
}

function requestOf(edge: Edge, event: LabelEvent, askedBy: string): RunRequest {
  const { issue } = event;
  return {
    runId: edge.ids.runId(edge.clock.now()),
    repository: repositoryOf(event),
    installationId: event.installation.id,
    issue: {
      number: issue.number,
      title: issue.title,
      body: issue.body ?? "",
      author: issue.user?.login ?? "ghost",
      updatedAt: instant(issue.updated_at),
    },
    askedBy,
    trigger: "label",
    parent: null,
    budgetUsd: null,
  };
}

function repositoryOf(event: LabelEvent | CommentEvent | ReviewEvent): RepositoryRef {
  const { id, name, owner, clone_url: cloneUrl, default_branch: defaultBranch } = event.repository;
  return { id, name, owner: owner.login, cloneUrl, defaultBranch, private: event.repository.private };
}

function repositoryName(event: LabelEvent | CommentEvent | IssueEvent): {
  owner: string;
  name: string;
  id: number;
} {
  const { id, name, owner } = event.repository;
  return { id, name, owner: owner.login };
}

function instant(text: string | null | undefined): number {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? 0 : ms;
}

async function onUnlabeled(edge: Edge, event: LabelEvent, deliveryId: string): Promise<Reading> {
  if (event.label?.name !== LABEL) return NOTHING;
  return factOfActiveRun(edge, event, `unlabeled-${deliveryId}`, {
    type: "label_removed",
    by: event.sender.login,
    issueUpdatedAt: instant(event.issue.updated_at),
  });
}

async function onClosed(edge: Edge, event: IssueEvent, deliveryId: string): Promise<Reading> {
  return factOfActiveRun(edge, event, `closed-${deliveryId}`, {
    type: "issue_closed",
    by: event.sender.login,
  });
}

/** What happened before the label or the command that a run came from was not about that run, however late its delivery comes. */
function isBefore(when: string | null | undefined, { request }: StoredRun): boolean {
  const asked = request.trigger === "label" ? request.issue.updatedAt : (request.askedAt ?? 0);
  return instant(when) > 0 && instant(when) < asked;
}

/** The run that words of then were for: not one that was asked for later. */
async function runOfThen(
  edge: Edge,
  when: string | null | undefined,
  newest: StoredRun | null,
): Promise<StoredRun | null> {
  let run = newest;
  while (run !== null && isBefore(when, run))
    run = run.request.parent === null ? null : await edge.store.run(run.request.parent.runId);
  return run;
}

async function factOfActiveRun(
  edge: Edge,
  of: LabelEvent | IssueEvent,
  key: string,
  event: RunEvent,
): Promise<Reading> {
  const run = await edge.store.latestRun(of.repository.id, of.issue.number);
  if (run === null || run.ended || isBefore(of.issue.updated_at, run)) return NOTHING;
  return { receipt: { kind: "facts", facts: [{ runId: run.runId, key, event }] } };
}

async function onComment(edge: Edge, event: CommentEvent): Promise<Reading> {
  const { comment, issue, repository, sender } = event;
  if (comment.user?.type === "Bot" || (comment.performed_via_github_app ?? null) !== null) return NOTHING;
  const command = parseCommand(comment.body ?? "");
  if (command === null) return NOTHING;
  if (!(await servesOwner(edge, repository.owner.login))) return NOTHING;
  const onPullRequest = (issue.pull_request ?? null) !== null;
  const run = onPullRequest
    ? await runBehind(edge, repository.id, issue.number)
    : await edge.store.latestRun(repository.id, issue.number);
  if (run === null) {
    // A pull request that no run of ours stands behind is somebody else's conversation.
    if (onPullRequest) return NOTHING;
    const github = edge.app.repository(event.installation.id, repositoryName(event), "read");
    const asked = { github, issue: issue.number, commentId: comment.id, login: sender.login, command };
    return { ...NOTHING, afterwards: () => edge.background.run("answer", answerWithoutRun(asked)) };
  }
  const meant = await runOfThen(edge, comment.created_at, run);
  if (meant === null) return NOTHING;
  const fact: CommandFact = {
    command,
    by: sender.login,
    commentId: comment.id,
    ...saidAt(comment.created_at),
    from: { repository: repositoryOf(event), installationId: event.installation.id },
    issue: onPullRequest ? null : { title: issue.title, body: issue.body ?? "" },
    ...(onPullRequest ? { pullRequest: issue.number } : {}),
  };
  const received: RunEvent = { type: "command_received", fact };
  const key = `comment-${comment.id}`;
  return { receipt: { kind: "facts", facts: [{ runId: meant.runId, key, event: received }] } };
}

function saidAt(when: string | null | undefined): Pick<CommandFact, "at"> {
  return instant(when) > 0 ? { at: instant(when) } : {};
}

/** A review that asks for changes is a `/revise` with its comments on lines. */
async function onReview(edge: Edge, event: ReviewEvent): Promise<Reading> {
  const { review, repository, sender, pull_request: pull } = event;
  if (review.state.toLowerCase() !== "changes_requested" || review.user?.type === "Bot") return NOTHING;
  if (!(await servesOwner(edge, repository.owner.login))) return NOTHING;
  const { submitted_at: when } = review;
  const run = await runOfThen(edge, when, await runBehind(edge, repository.id, pull.number));
  if (run === null) return NOTHING;
  const fact: CommandFact = {
    command: { verb: "revise", text: review.body ?? "" },
    by: sender.login,
    commentId: review.id,
    ...saidAt(when),
    ...(event.installation
      ? { from: { repository: repositoryOf(event), installationId: event.installation.id } }
      : {}),
    issue: null,
    pullRequest: pull.number,
    review: true,
  };
  const received: RunEvent = { type: "command_received", fact };
  return {
    receipt: { kind: "facts", facts: [{ runId: run.runId, key: `review-${review.id}`, event: received }] },
  };
}

/** Whom words on a pull request are for: the revision of it that is under way, else the newest run that pushed to it. */
async function runBehind(edge: Edge, repositoryId: number, pullRequest: number): Promise<StoredRun | null> {
  const [published] = await edge.store.runsOfPullRequest(repositoryId, pullRequest);
  if (published === undefined) return null;
  const latest = await edge.store.latestRun(repositoryId, published.request.issue.number);
  const revision = latest?.ended === false && latest.request.pullRequest?.number === pullRequest;
  return revision ? latest : published;
}

async function onPullRequestEnded(edge: Edge, event: PullRequestEvent, deliveryId: string): Promise<Reading> {
  const { repository, pull_request: pull, sender, action } = event;
  const by = sender.login;
  const ended: RunEvent =
    action === "reopened"
      ? { type: "pull_request_reopened", by }
      : { type: "pull_request_closed", merged: pull.merged ?? false, by };
  const runs = await runsOn(edge, repository.id, pull);
  const facts = runs.map(({ runId }) => ({
    runId,
    key: `pull-request-${action}-${deliveryId}`,
    event: ended,
  }));
  return facts.length === 0 ? NOTHING : { receipt: { kind: "facts", facts } };
}

/** Every run that has to do with a pull request: those that pushed to it, the one its branch is named after, and a revision under way. */
async function runsOn(
  edge: Edge,
  repositoryId: number,
  { number, head }: PullRequestEvent["pull_request"],
): Promise<readonly StoredRun[]> {
  // Anybody can name a branch of a fork like ours.
  if (head.repo?.id !== repositoryId) return [];
  const runId = runOfBranch(head.ref);
  const opened = runId === null ? null : await edge.store.run(runId);
  const found = [opened, ...(await edge.store.runsOfPullRequest(repositoryId, number))];
  found.push(await runBehind(edge, repositoryId, number));
  const ours = found.filter((run) => run !== null && run.request.repository.id === repositoryId);
  return [...new Map(ours.map((run) => [run?.runId, run])).values()].filter((run) => run !== null);
}
