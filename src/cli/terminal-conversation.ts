/** The conversation of a local run: what would be comments on an issue is printed, and nobody is asked who they are. */

import type { Clock } from "#src/base/clock.ts";
import { ok } from "#src/base/result.ts";
import type { Conversation } from "#src/fix/conversation.ts";

export interface TerminalConversation {
  readonly conversation: Conversation;
  /** Resolves when a plan or a result was shown. */
  readonly ended: Promise<void>;
  /** True when it has resolved. */
  hasEnded(): boolean;
}

export function terminalConversation(print: (line: string) => void, clock: Clock): TerminalConversation {
  const ended = Promise.withResolvers<void>();
  let over = false;
  const end = () => {
    over = true;
    ended.resolve();
  };
  let shown = "";
  const show = (body: string) => print(withoutMarker(body));
  const conversation: Conversation = {
    welcome: async () => ok(null),
    mayStart: async () => ({ go: true }),
    permission: async () => "admin",
    isMember: async () => true,
    labelledAfter: async () => true,
    status: async (_journal, body) => {
      // Only the sentence with the state: the rest changes with every step.
      const state = /· run `[^`]+` · (.*)/.exec(body)?.[1] ?? "";
      if (state !== shown) print(`- ${state}`);
      shown = state;
      return ok(null);
    },
    plan: async (_journal, render) => {
      const plan = render("full");
      show(plan.body.slice(0, plan.body.lastIndexOf("### Your answer")).trimEnd());
      end();
      return ok({ commentId: 1, at: clock.now(), diffShown: plan.diffShown });
    },
    intent: async () => {
      throw new Error("a local run has no intent to approve");
    },
    result: async (_journal, render) => {
      show(render("full"));
      end();
      return ok(null);
    },
    concludePlan: async () => ok(null),
    fold: async () => ok(null),
    fixClaims: async () => ok([]),
    standing: async () => "as_posted",
    groundStands: async () => true,
    failedChecks: async () => ok([]),
    answer: async () => ok(null),
    reviewComments: async () => ok([]),
    answerReviewComment: async () => ok(null),
    closePullRequest: async () => ok({ branch: "kept" }),
    branchHead: async () => ok(null),
    publisher: () => {
      throw new Error("a local run publishes nothing");
    },
  };
  return { conversation, ended: ended.promise, hasEnded: () => over };
}

function withoutMarker(body: string): string {
  return body.replace(/^<!--.*?-->\n*/s, "").replaceAll("\u200b", "");
}
