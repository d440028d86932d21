/** Random valid logs of a run, from a grammar of their own: what may follow what, told apart from the code under test. */

import fc from "fast-check";
import type { RunEvent } from "#src/run/run.ts";
import { FAILURE_CODES } from "#src/run/run.ts";
import { samplePendingIntent, samplePlan, sampleRequest, type VerdictClass } from "./sample.ts";

/** Where a log stands, and the words it may go on with. */
const GRAMMAR: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  queued: { prepare: "preparing", fail: "end", cancel: "end" },
  preparing: {
    solve: "solving",
    intend: "intending",
    prepare: "preparing",
    verify: "verifying",
    fail: "end",
    cancel: "end",
  },
  intending: { approveIntent: "preparing", expire: "end", cancel: "end", fail: "end" },
  solving: { verify: "verifying", solve: "solving", prepare: "preparing", fail: "end", cancel: "end" },
  verifying: {
    propose: "waiting",
    sentBack: "solving",
    verify: "verifying",
    prepare: "preparing",
    fail: "end",
    cancel: "end",
  },
  waiting: { approve: "approved", cancel: "end", expire: "end", fail: "end" },
  approved: { recheck: "rechecking", publish: "publishing", cancel: "end", fail: "end" },
  rechecking: { publish: "publishing", recheck: "rechecking", cancel: "end", fail: "end" },
  publishing: { published: "published", publish: "publishing", fail: "end" },
  published: { outcome: "published" },
  end: {},
};

const FACT = fc.oneof(
  fc.record({ type: fc.constant("label_removed" as const), by: fc.string(), issueUpdatedAt: fc.nat() }),
  fc.record({ type: fc.constant("issue_closed" as const), by: fc.string() }),
  fc.record({ type: fc.constant("pull_request_closed" as const), merged: fc.boolean(), by: fc.string() }),
  fc.record({ type: fc.constant("pull_request_reopened" as const), by: fc.string() }),
  fc.record({ type: fc.constant("fact_handled" as const), seq: fc.nat(), decision: fc.string() }),
  fc.record({ type: fc.constant("effect_intended" as const), effect: fc.string() }),
  fc.record({
    type: fc.constant("effect_done" as const),
    effect: fc.string(),
    result: fc.record({ id: fc.string(), url: fc.constant(null) }),
  }),
  fc.record({
    type: fc.constant("command_received" as const),
    fact: fc.record({
      command: fc.constantFrom({ verb: "cancel" as const }, { verb: "revise" as const, text: "differently" }),
      by: fc.string(),
      commentId: fc.nat(),
      issue: fc.record({ title: fc.string(), body: fc.string() }),
    }),
  }),
);

interface Choice {
  readonly pick: number;
  readonly facts: readonly RunEvent[];
}

/** A log as it stands after `choices`; each picks the next word among those allowed, with facts strewn in before it. */
function logOf(choices: readonly Choice[], kind: Exclude<VerdictClass, "refuted">): readonly RunEvent[] {
  const log: RunEvent[] = [{ type: "requested", request: sampleRequest() }];
  let at = "queued";
  let round = 0;
  for (const { pick, facts } of choices) {
    log.push(...facts);
    const words = Object.entries(GRAMMAR[at] ?? {});
    const chosen = words[pick % Math.max(1, words.length)];
    if (chosen === undefined) break;
    const [word, to] = chosen;
    if (word === "sentBack") round++;
    log.push(say(word, { pick, round, kind }));
    at = to;
  }
  return log;
}

function say(
  word: string,
  { pick, round, kind }: { readonly pick: number; readonly round: number; readonly kind: VerdictClass },
): RunEvent {
  const plan = samplePlan({ kind });
  switch (word) {
    case "prepare":
      return { type: "phase_entered", phase: "preparing" };
    case "solve":
      return { type: "phase_entered", phase: "solving" };
    case "verify":
      return { type: "phase_entered", phase: "verifying" };
    case "intend":
      return { type: "intended", ...samplePendingIntent() };
    case "approveIntent":
      return {
        ...{ type: "intent_approved", by: "maya", commentId: 901 },
        digest: samplePendingIntent().digest,
      };
    case "sentBack":
      return { type: "sent_back", round, feedback: "again" };
    case "propose":
      return { type: "proposed", ...plan };
    case "approve":
      return { type: "approved", by: "maya", digest: plan.digest, commentId: 1_001, unverified: true };
    case "recheck":
      return { type: "recheck_started", newBaseSha: String(pick).padStart(40, "0") };
    case "publish":
      return { type: "publish_started" };
    case "published":
      return { type: "published", pullRequest: 4, url: "https://x", branch: "b", commitSha: "5".repeat(40) };
    case "outcome":
      return { type: "outcome", outcome: pick % 2 === 0 ? "merged" : "closed" };
    case "cancel":
      return { type: "cancelled", by: "maya", why: "unlabeled" };
    case "expire":
      return { type: "expired" };
    default:
      return {
        type: "failed",
        code: FAILURE_CODES[pick % FAILURE_CODES.length] ?? "internal",
        message: "no",
      };
  }
}

/** The first word of each place leads on, so most logs get far; the last ones end it early. */
const CHOICE = fc.record({
  pick: fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.nat(60) },
  ),
  facts: fc.array(FACT, { maxLength: 2 }),
});

export const VALID_LOG = fc
  .tuple(
    fc.array(CHOICE, { minLength: 2, maxLength: 24 }),
    fc.constantFrom("proven" as const, "passing" as const, "unproven" as const),
  )
  .map(([choices, kind]) => logOf(choices, kind));
