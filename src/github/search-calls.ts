/** The calls by which labels are found whose events never arrived: labelled issues, their time lines, edits of their bodies. */

import { z } from "zod";
import { ok } from "#src/base/result.ts";
import { type CallContext, everyPage, PAGE, pageOf } from "./calls.ts";
import type { GitHub, GitHubResult } from "./github.ts";
import { graphql } from "./graphql.ts";
import type { TimelineEvent } from "./surroundings.ts";

const BODY_EDITED = `query ($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) { issue(number: $number) { lastEditedAt } }
}`;

const BODY_EDITED_ANSWER = z.object({
  data: z.object({
    repository: z.object({ issue: z.object({ lastEditedAt: z.string().nullable() }) }),
  }),
});

const person = z.object({ login: z.string(), type: z.string() }).nullish();

const TIMELINE_EVENT = z.object({
  id: z.number().int(),
  event: z.enum(["labeled", "unlabeled", "renamed", "commented"]),
  created_at: z.string(),
  actor: person,
  user: person,
  label: z.object({ name: z.string() }).nullish(),
});

export function searchCalls(
  context: CallContext,
): Pick<GitHub, "labelledIssues" | "timeline" | "bodyEditedAt"> {
  const { octokit, repo, read } = context;
  return {
    labelledIssues: async (label) => {
      const found = await everyPage((page) =>
        read(
          (send) =>
            octokit.request("GET /repos/{owner}/{repo}/issues", {
              ...repo,
              labels: label,
              state: "open",
              per_page: PAGE,
              page,
              ...send,
            }),
          (issues, answer) =>
            pageOf(
              issues.map((issue) => ({ ...issue, id: Number(issue.id) })),
              answer,
            ),
        ),
      );
      if (!found.ok) return found;
      const issues = found.value.filter(({ pull_request: pull }) => (pull ?? null) === null);
      return ok(
        issues
          .map((issue) => ({
            number: issue.number,
            title: issue.title,
            body: issue.body ?? "",
            author: issue.user?.login ?? "ghost",
            updatedAt: Date.parse(issue.updated_at),
          }))
          .sort((a, b) => a.number - b.number),
      );
    },
    timeline: (issue) => timeline(context, issue),
    bodyEditedAt: (number) =>
      read(
        (send) => graphql(octokit, { query: BODY_EDITED, variables: { ...repo, number } }, send),
        (answer) => {
          const edited = BODY_EDITED_ANSWER.parse(answer).data.repository.issue.lastEditedAt;
          return edited === null ? null : Date.parse(edited);
        },
      ),
  };
}

async function timeline(context: CallContext, issue: number): GitHubResult<readonly TimelineEvent[]> {
  const identity = await context.identity();
  if (!identity.ok) return identity;
  const { botLogin } = identity.value;
  return everyPage((page) =>
    context.read(
      (send) =>
        context.octokit.request("GET /repos/{owner}/{repo}/issues/{issue_number}/timeline", {
          ...context.repo,
          issue_number: issue,
          per_page: PAGE,
          page,
          ...send,
        }),
      (events, answer) => {
        const { more } = pageOf(events, answer);
        return { items: events.flatMap((event) => eventOf(event, botLogin)), more };
      },
    ),
  );
}

/** GitHub describes dozens of kinds; four matter here, and of those a few members. */
function eventOf(event: unknown, botLogin: string): readonly TimelineEvent[] {
  const read = TIMELINE_EVENT.safeParse(event);
  if (!read.success) return [];
  const { id, event: kind, created_at: at, label } = read.data;
  const by = read.data.actor ?? read.data.user;
  const login = by?.login ?? "ghost";
  const bot = by?.type === "Bot";
  return [
    { id, kind, login, bot, ours: bot && login === botLogin, at: Date.parse(at), label: label?.name ?? null },
  ];
}
