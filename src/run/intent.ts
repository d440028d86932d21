/** What an agent that has only read says it would do, and the digest by which exactly those words and that money are approved. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";

/** What the work may use in all, the reading included. */
export interface IntentBudget {
  /** US dollars; null: no price is known for the model, so tokens are counted. */
  readonly usd: number | null;
  /** Input plus output tokens of all requests. */
  readonly tokens: number;
}

export interface Intent {
  readonly repositoryId: number;
  readonly issue: number;
  readonly runId: string;
  readonly baseSha: string;
  readonly targetBranch: string;
  /** The agent's own words, bounded; what it is given back when the work begins. */
  readonly text: string;
  /** Paths it means to change, as it named them. */
  readonly files: readonly string[];
  /** How it will be shown that the change works, in its words. */
  readonly proof: string;
  /** Replies it thinks the work will take; null: it gave no number. */
  readonly turns: number | null;
  /** What that would cost, by what reading has cost; null: it gave no number of turns. */
  readonly estimate: IntentBudget | null;
  readonly budget: IntentBudget;
}

/** Lower-case hex SHA-256 (64 digits) over everything an approval of the intent binds. */
export function intentDigest(intent: Intent): string {
  const { estimate, budget, files, ...rest } = intent;
  const money = (amount: IntentBudget) => ({ usd: amount.usd, tokens: amount.tokens });
  return sha256(
    canonicalJson({
      kind: "intent",
      ...rest,
      files: [...files],
      estimate: estimate === null ? null : money(estimate),
      budget: money(budget),
    }),
  );
}

/** The intent that awaits approval. */
export interface PendingIntent {
  readonly intent: Intent;
  readonly digest: string;
  readonly commentId: number;
  /** When its comment was made, ms since the epoch. */
  readonly commentAt: number;
  /** True when all of its words stand in the comment. */
  readonly shown: boolean;
}
