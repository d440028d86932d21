/** The few GraphQL questions that the app asks, each known by the field it asks for. */

import { type Caller, requireAccess } from "./access.ts";
import { type Answer, ok, refuse } from "./answers.ts";
import type { Hub } from "./hub.ts";
import { isObject, type JsonObject, nodeId, textOf, timeText } from "./json.ts";
import type { Route } from "./router.ts";
import { type Comment, findRepository, type Issue } from "./state.ts";

interface Asked {
  readonly hub: Hub;
  readonly caller: Caller;
  readonly variables: JsonObject;
}

interface Question {
  readonly field: RegExp;
  readonly answer: (asked: Asked) => JsonObject;
}

const QUESTIONS: readonly Question[] = [
  {
    field: /\bminimizeComment\b[\s\S]*\bclassifier: OUTDATED\b/,
    answer: (asked) => {
      commentOf(asked).minimized = "outdated";
      return { minimizeComment: { minimizedComment: { isMinimized: true } } };
    },
  },
  {
    field: /\blastEditedAt\b/,
    answer: (asked) => {
      const { bodyEditedAt: at } = issueOf(asked);
      return { repository: { issue: { lastEditedAt: at === null ? null : timeText(at) } } };
    },
  },
];

/** Served at `/api/graphql`. */
export const graphqlRoutes: readonly Route[] = [
  {
    method: "POST",
    template: "/graphql",
    handle: ({ hub, caller, body }): Answer => {
      if (caller.kind === "anonymous") throw refuse(401, "This endpoint requires you to be authenticated.");
      const query = textOf(body, "query") ?? "";
      const question = QUESTIONS.find(({ field }) => field.test(query));
      if (question === undefined) return failed("the embedded GitHub does not know this question");
      const variables = isObject(body.variables) ? body.variables : {};
      return ok({ data: question.answer({ hub, caller, variables }) });
    },
  },
];

function failed(message: string): Answer {
  return ok({ data: null, errors: [{ type: "undefinedField", message }] });
}

/** Whoever may write issues may fold comments on them away; on pull requests either permission does. */
function commentOf({ hub, caller, variables }: Asked): Comment {
  for (const repository of hub.state.repositories.values())
    for (const issue of repository.issues.values())
      for (const comment of issue.comments.values()) {
        if (nodeId("IssueComment", comment.id) !== variables.id) continue;
        const alone = [["issues", "write"]] as const;
        requireAccess(
          caller,
          repository,
          issue.pull === null ? alone : [...alone, ["pull_requests", "write"]],
        );
        return comment;
      }
  throw refuse(404, "Not Found");
}

function issueOf({ hub, caller, variables }: Asked): Issue {
  const [owner, repo] = ["owner", "repo"].map((name) => textOf(variables, name) ?? "");
  const repository = findRepository(hub.state, owner ?? "", repo ?? "");
  const issue = repository?.issues.get(Number(variables.number));
  if (repository === null || issue === undefined || issue.deleted) throw refuse(404, "Not Found");
  requireAccess(caller, repository, [["issues", "read"]]);
  return issue;
}
