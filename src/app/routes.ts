/** Webhooks to facts: each delivery is recorded before it is answered, and becomes a run, a fact of a run, or nothing. */

import type { Probot } from "probot";
import type { z } from "zod";
import { canonicalJson, type Json, sha256 } from "#src/base/canonical-json.ts";
import { parseCommand } from "#src/gate/commands.ts";
import { LABEL } from "#src/gate/label.ts";
import type { RepositoryRef, RunRequest } from "#src/run/run.ts";
import { answerWithoutRun } from "./answer.ts";
import { type Edge, servesOwner } from "./edge.ts";
import {
  COMMENT_EVENT,
  type CommentEvent,
  ISSUE_EVENT,
  type IssueEvent,
  LABEL_EVENT,
  type LabelEvent,
  PULL_REQUEST_EVENT,
  type PullRequestEvent,
} from "./payloads.ts";

/** The part of Probot's context that is used; its octokit, which reaches all repositories, is not. */
interface Delivery {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
}

interface Route<Event> {
  readonly schema: z.ZodType<Event>;
  /** What a bot did to an issue or a pull request is a fact; what it asks for ends at the door. */
  readonly bots: "heard" | "ignored";
  readonly handle: (edge: Edge, event: Event, deliveryId: string) => Promise<void>;
}

const LABELED: Route<LabelEvent> = { schema: LABEL_EVENT, bots: "ignored", handle: onLabeled };
const UNLABELED: Route<LabelEvent> = { schema: LABEL_EVENT, bots: "heard", handle: onUnlabeled };
const CLOSED: Route<IssueEvent> = { schema: ISSUE_EVENT, bots: "heard", handle: onClosed };
const COMMENTED: Route<CommentEvent> = { schema: COMMENT_EVENT, bots: "ignored", handle: onComment };
const PULL_REQUEST_CLOSED: Route<PullRequestEvent> = {
  schema: PULL_REQUEST_EVENT,
  bots: "heard",
  handle: onPullRequestClosed,
};

/** Registers the webhooks on a Probot application. */
export function registerRoutes(probot: Probot, edge: Edge): void {
  probot.on("issues.labeled", (delivery) => receive(edge, delivery, LABELED));
  probot.on("issues.unlabeled", (delivery) => receive(edge, delivery, UNLABELED));
  probot.on(["issues.closed", "issues.deleted", "issues.transferred"], (delivery) =>
    receive(edge, delivery, CLOSED),
  );
  probot.on("issue_comment.created", (delivery) => receive(edge, delivery, COMMENTED));
  probot.on("pull_request.closed", (delivery) => receive(edge, delivery, PULL_REQUEST_CLOSED));
  probot.onError((error) => edge.log.error({ err: error }, "a webhook was refused or could not be handled"));
}

/** A delivery is recorded before it is handled; one whose handling fails is forgotten, so that a redelivery is taken. */
async function receive<Event extends { readonly sender: { readonly type?: string | undefined } }>(
  edge: Edge,
  delivery: Delivery,
  { schema, bots, handle }: Route<Event>,
): Promise<void> {
  const read = schema.safeParse(delivery.payload);
  if (!read.success) {
    edge.log.warn(
      { delivery: delivery.id, event: delivery.name, problem: read.error.message },
      "a webhook lacks what it should hold; ignored",
    );
    return;
  }
  if (bots === "ignored" && read.data.sender.type === "Bot") return;
  const bodyHash = sha256(canonicalJson(delivery.payload as Json));
  const recorded = await edge.store.recordDelivery({ id: delivery.id, bodyHash, name: delivery.name });
  if (recorded === "duplicate") {
    edge.log.info({ delivery: delivery.id }, "a delivery came again; ignored");
    return;
  }
  try {
    await handle(edge, read.data, delivery.id);
  } catch (error) {
    await edge.store.forgetDelivery(delivery.id);
    throw error;
  }
}

async function onLabeled(edge: Edge, event: LabelEvent): Promise<void> {
  if (event.label?.name !== LABEL) return;
  const { repository, installation, issue, sender } = event;
  if (!(await servesOwner(edge, repository.owner.login))) {
    edge.log.warn(
      { owner: repository.owner.login },
      "repositories of this account are not served (ALLOWED_OWNERS)",
    );
    return;
  }
  const github = edge.app.repository(installation.id, repositoryName(event), "read");
  if (edge.paused) {
    edge.log.warn({ issue: issue.number }, "a label was set while PAUSED is on; no run starts");
    edge.background.run("reaction", github.reactToIssue(issue.number, "confused"));
    return;
  }
  const created = await edge.store.createRun(requestOf(edge, event, sender.login));
  // The active run gets a hint too: the delivery that created it may have died before its own.
  await edge.queue.push(created.ok ? created.value.runId : created.error.activeRunId, "desk");
}

function requestOf(edge: Edge, event: LabelEvent, askedBy: string): RunRequest {
  const { repository, issue } = event;
  const ref: RepositoryRef = {
    ...repositoryName(event),
    cloneUrl: repository.clone_url,
    defaultBranch: repository.default_branch,
    private: repository.private,
  };
  return {
    runId: edge.ids.runId(edge.clock.now()),
    repository: ref,
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

async function onUnlabeled(edge: Edge, event: LabelEvent, deliveryId: string): Promise<void> {
  if (event.label?.name !== LABEL) return;
  await recordFact(edge, event, `unlabeled-${deliveryId}`, {
    type: "label_removed",
    by: event.sender.login,
    issueUpdatedAt: instant(event.issue.updated_at),
  });
}

async function onClosed(edge: Edge, event: IssueEvent, deliveryId: string): Promise<void> {
  await recordFact(edge, event, `closed-${deliveryId}`, { type: "issue_closed", by: event.sender.login });
}

async function recordFact(
  edge: Edge,
  event: LabelEvent | IssueEvent,
  key: string,
  fact: Parameters<Edge["store"]["appendFact"]>[2],
): Promise<void> {
  const run = await edge.store.latestRun(event.repository.id, event.issue.number);
  if (run === null || run.ended) return;
  await edge.store.appendFact(run.runId, key, fact);
  await edge.queue.push(run.runId, "desk");
}

async function onComment(edge: Edge, event: CommentEvent): Promise<void> {
  const { comment, issue, repository, sender } = event;
  if (comment.user?.type === "Bot" || (comment.performed_via_github_app ?? null) !== null) return;
  // Commands on a pull request are another conversation, which this version does not hold.
  if ((issue.pull_request ?? null) !== null) return;
  const command = parseCommand(comment.body ?? "");
  if (command === null) return;
  if (!(await servesOwner(edge, repository.owner.login))) return;
  const run = await edge.store.latestRun(repository.id, issue.number);
  if (run === null) {
    const github = edge.app.repository(event.installation.id, repositoryName(event), "read");
    edge.background.run(
      "answer",
      answerWithoutRun({ github, issue: issue.number, commentId: comment.id, login: sender.login, command }),
    );
    return;
  }
  const fact = {
    command,
    by: sender.login,
    commentId: comment.id,
    issue: { title: issue.title, body: issue.body ?? "" },
  };
  await edge.store.appendFact(run.runId, `comment-${comment.id}`, { type: "command_received", fact });
  await edge.queue.push(run.runId, "desk");
}

const OUR_BRANCH = /^agent-fix\/issue-\d+-([0-9a-z]+)$/;

async function onPullRequestClosed(edge: Edge, event: PullRequestEvent, deliveryId: string): Promise<void> {
  const { head } = event.pull_request;
  // Anybody can name a branch of a fork like ours.
  if (head.repo?.id !== event.repository.id) return;
  const runId = OUR_BRANCH.exec(head.ref)?.[1];
  const run = runId === undefined ? null : await edge.store.run(runId);
  if (run === null || run.request.repository.id !== event.repository.id) return;
  await edge.store.appendFact(run.runId, `pull-request-closed-${deliveryId}`, {
    type: "pull_request_closed",
    merged: event.pull_request.merged ?? false,
    by: event.sender.login,
  });
  await edge.queue.push(run.runId, "desk");
}
