/** The parts of webhook payloads the edge reads, checked at run time: what GitHub sends is input like any other. */

import { z } from "zod";

const account = z.object({ login: z.string(), type: z.string().optional() });

export const repository = z.object({
  id: z.number().int(),
  name: z.string().min(1),
  owner: z.object({ login: z.string().min(1) }),
  clone_url: z.string().min(1),
  default_branch: z.string().min(1),
  private: z.boolean(),
});

const issue = z.object({
  number: z.number().int().positive(),
  title: z.string(),
  body: z.string().nullish(),
  user: account.nullish(),
  updated_at: z.string().nullish(),
  pull_request: z.object({}).nullish(),
});

const installation = z.object({ id: z.number().int() });

export const INSTALLATION_EVENT = z.object({
  action: z.string(),
  installation,
  sender: account,
});

export const REACH_EVENT = z.object({
  action: z.string(),
  installation,
  repositories_added: z.array(z.object({ id: z.number().int() })).default([]),
  repositories_removed: z.array(z.object({ id: z.number().int() })).default([]),
  sender: account,
});

export const REPOSITORY_EVENT = z.object({
  action: z.string(),
  repository,
  installation,
  sender: account,
});

export const LABEL_EVENT = z.object({
  label: z.object({ name: z.string() }).nullish(),
  issue,
  repository,
  installation,
  sender: account,
});

export const ISSUE_EVENT = z.object({
  issue,
  repository,
  installation: installation.nullish(),
  sender: account,
});

export const COMMENT_EVENT = z.object({
  comment: z.object({
    id: z.number().int(),
    body: z.string().nullish(),
    created_at: z.string().nullish(),
    user: account.nullish(),
    performed_via_github_app: z.object({ id: z.number().int() }).nullish(),
  }),
  issue,
  repository,
  installation,
  sender: account,
});

export const PULL_REQUEST_EVENT = z.object({
  action: z.string(),
  pull_request: z.object({
    number: z.number().int(),
    merged: z.boolean().nullish(),
    /** The repository is null when it is gone. */
    head: z.object({ ref: z.string(), repo: z.object({ id: z.number().int() }).nullish() }),
  }),
  repository,
  installation: installation.nullish(),
  sender: account,
});

export const REVIEW_EVENT = z.object({
  review: z.object({
    id: z.number().int(),
    state: z.string(),
    body: z.string().nullish(),
    submitted_at: z.string().nullish(),
    user: account.nullish(),
  }),
  pull_request: z.object({ number: z.number().int() }),
  repository,
  installation: installation.nullish(),
  sender: account,
});

export const CHECK_SUITE_EVENT = z.object({
  check_suite: z.object({
    id: z.number().int(),
    head_sha: z.string().min(1),
    conclusion: z.string().max(100).nullish(),
    updated_at: z.string().nullish(),
    app: z.object({ name: z.string().nullish(), slug: z.string().nullish() }).nullish(),
    pull_requests: z.array(z.object({ number: z.number().int() })),
  }),
  repository,
  installation: installation.nullish(),
  sender: account,
});

export const STATUS_EVENT = z.object({
  id: z.number().int(),
  sha: z.string().min(1),
  context: z.string().max(500),
  state: z.string().max(100),
  branches: z.array(z.object({ name: z.string() })),
  repository,
  installation: installation.nullish(),
  sender: account,
});

export type StatusEvent = z.output<typeof STATUS_EVENT>;
export type CheckSuiteEvent = z.output<typeof CHECK_SUITE_EVENT>;
export type InstallationEvent = z.output<typeof INSTALLATION_EVENT>;
export type ReachEvent = z.output<typeof REACH_EVENT>;
export type RepositoryEvent = z.output<typeof REPOSITORY_EVENT>;
export type LabelEvent = z.output<typeof LABEL_EVENT>;
export type IssueEvent = z.output<typeof ISSUE_EVENT>;
export type CommentEvent = z.output<typeof COMMENT_EVENT>;
export type PullRequestEvent = z.output<typeof PULL_REQUEST_EVENT>;
export type ReviewEvent = z.output<typeof REVIEW_EVENT>;
