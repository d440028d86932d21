/** Every body the app posts, with one untrusted text in every place that others can fill. */

import { type IntentFacts, readIntentWords, renderIntent } from "#src/gate/intent-comment.ts";
import { type PlanFacts, renderPlan, type TraceFacts } from "#src/gate/plan-comment.ts";
import { type BodyFacts, footer, pullRequestBody, readFinalWords } from "#src/gate/pull-request-text.ts";
import { type ResultFacts, renderResult, renderStatus } from "#src/gate/status-comment.ts";
import type { Evidence, Verdict } from "#src/run/verdict.ts";
import {
  RUN_ID,
  sampleApproval,
  sampleEvidence,
  sampleIntent,
  samplePlan,
  sampleProposal,
  sampleRequest,
  sampleVerdict,
  type VerdictClass,
} from "#test/run/sample.ts";

export const TRACE: TraceFacts = {
  turns: 6,
  toolCalls: { edit_file: { ok: 2, errors: 0 }, run_command: { ok: 1, errors: 1 } },
  inputTokens: 12_000,
  cachedTokens: 8_000,
  outputTokens: 900,
  costUsd: 0.0421,
  wallMs: 64_200,
  retries: 1,
  stop: "done",
};

function evidenceWith(text: string): Evidence {
  const names = Array.from({ length: 20 }, () => text);
  return sampleEvidence({
    suites: Array.from({ length: 4 }, () => ({
      label: "patched" as const,
      command: text,
      directory: text,
      exitCode: 1,
      stopped: null,
      counts: { passed: 1, failed: 2, skipped: 3 },
      strength: "text" as const,
      durationMs: 1,
    })),
    fixed: names.map((test) => ({ test, source: "new" as const, failedWith: text })),
    stillFailing: names,
    newlyFailing: names,
    flaky: names,
    notes: names,
    tampering: names.map((path) => ({ kind: "test_deleted" as const, path, detail: text })),
  });
}

function verdictWith(kind: VerdictClass, text: string): Verdict {
  const evidence = evidenceWith(text);
  const verdict = sampleVerdict(kind, evidence);
  switch (verdict.class) {
    case "proven":
      return { ...verdict, by: [{ test: text, source: "new", failedWith: text }, ...evidence.fixed] };
    case "passing":
      return { ...verdict, because: text };
    case "unproven":
      return { ...verdict, detail: text };
    case "refuted":
      return { ...verdict, because: [text, ...evidence.newlyFailing] };
  }
}

const MANY = 120;

export function hostilePlan(kind: VerdictClass, text: string): PlanFacts {
  const words = readFinalWords(text, text);
  const files = Array.from({ length: MANY }, (_, index) => ({
    ...sampleProposal().files[0]!,
    path: text + index,
  }));
  const proposal = sampleProposal({
    files,
    title: words.title,
    targetBranch: text,
    verdictClass: kind,
    draft: true,
  });
  return {
    proposal,
    digest: samplePlan({ proposal }).digest,
    pullRequest: null,
    verdict: verdictWith(kind, text),
    explanation: words.explanation,
    diff: text,
    newTests: Array.from({ length: 6 }, () => ({ path: text, diff: text })),
    warnings: Array.from({ length: 20 }, () => text),
    leftOut: Array.from({ length: MANY }, () => ({ path: text, reason: text })),
    trace: hostileTrace(text),
    tracePlace: text,
    seq: 1,
  };
}

function hostileTrace(text: string): TraceFacts {
  const calls = Array.from({ length: 60 }, (_, index) => [`${text}${index}`, { ok: 1, errors: 1 }] as const);
  return { ...TRACE, toolCalls: Object.fromEntries(calls), stop: text };
}

export function hostileIntent(text: string): IntentFacts {
  const words = readIntentWords(`${text}\nFiles: ${text}\nProof: ${text}\nTurns: 3`);
  return {
    intent: sampleIntent({ ...words, targetBranch: text }),
    digest: samplePlan().digest,
    warnings: Array.from({ length: 20 }, () => text),
    trace: hostileTrace(text),
    tracePlace: text,
    seq: 1,
  };
}

export function hostileResult(kind: VerdictClass | null, text: string): ResultFacts {
  return {
    runId: RUN_ID,
    code: "no_changes",
    message: text,
    explanation: text,
    verdict: kind === null ? null : verdictWith(kind, text),
    trace: hostileTrace(text),
    tracePlace: text,
    diff: text,
    seq: 1,
  };
}

export function hostileBody(kind: VerdictClass, text: string, template: string | null): BodyFacts {
  return {
    issue: 12,
    explanation: readFinalWords(text, text).explanation,
    verdict: verdictWith(kind, text),
    template,
  };
}

export interface BodyMaker {
  readonly name: string;
  readonly make: (text: string) => string;
}

const KINDS = ["proven", "passing", "unproven"] as const;

/** All of them but those with a template, which is the repository's own. */
export const BODIES: readonly BodyMaker[] = [
  ...KINDS.flatMap((kind) => [
    { name: `full ${kind} plan`, make: (text: string) => renderPlan(hostilePlan(kind, text), "full").body },
    { name: `short ${kind} plan`, make: (text: string) => renderPlan(hostilePlan(kind, text), "short").body },
    {
      name: `${kind} pull request`,
      make: (text: string) => pullRequestBody(hostileBody(kind, text, null)) + footerWith(text),
    },
  ]),
  { name: "refuted result", make: (text) => renderResult(hostileResult("refuted", text), "full") },
  { name: "short result", make: (text) => renderResult(hostileResult("refuted", text), "short") },
  { name: "result without verdict", make: (text) => renderResult(hostileResult(null, text), "full") },
  { name: "full intent", make: (text) => renderIntent(hostileIntent(text), "full").body },
  { name: "short intent", make: (text) => renderIntent(hostileIntent(text), "short").body },
  { name: "status", make: hostileStatus },
  { name: "status with checks", make: hostileChecks },
];

function hostileStatus(text: string): string {
  const plan = samplePlan();
  return renderStatus({
    run: {
      state: "approved",
      request: sampleRequest(),
      plan,
      approval: { ...sampleApproval(plan), by: text },
    },
    steps: [{ name: "solve", state: "running" }],
    trace: hostileTrace(text),
    queuePosition: null,
    heldUntil: null,
    undecided: true,
    tracePlace: text,
    notes: [text],
    checks: [],
    asOf: 0,
    priceUnknown: true,
  });
}

export function hostileChecks(text: string): string {
  const request = sampleRequest();
  return renderStatus({
    run: {
      ...{ state: "published", request, pullRequest: 12, url: text, branch: text, outcome: "open" },
      commitSha: "4".repeat(40),
    },
    steps: [],
    trace: null,
    queuePosition: null,
    heldUntil: null,
    undecided: false,
    tracePlace: text,
    notes: [],
    checks: Array.from({ length: 9 }, () => ({ name: text, conclusion: text })),
    asOf: 0,
    priceUnknown: false,
  });
}

export function footerWith(text: string): string {
  return footer({ approvedBy: text, digest: samplePlan().digest, runId: RUN_ID, recheck: null });
}
