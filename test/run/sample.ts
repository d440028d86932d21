/** Runs, proposals, verdicts and plans to test with: one of each, whole and valid, with the members a test wants changed. */

import { type Intent, intentDigest, type PendingIntent } from "#src/run/intent.ts";
import { type Proposal, proposalDigest } from "#src/run/proposal.ts";
import type { Approval, PendingPlan, Run, RunRequest } from "#src/run/run.ts";
import type { Evidence, Verdict } from "#src/run/verdict.ts";

export const RUN_ID = "01k0000000abcdef";
export const BASE_SHA = "1111111111111111111111111111111111111111";
export const NEW_BASE_SHA = "2222222222222222222222222222222222222222";

export function sampleRequest(change: Partial<RunRequest> = {}): RunRequest {
  return {
    runId: RUN_ID,
    repository: {
      id: 7,
      owner: "acme",
      name: "widget",
      cloneUrl: "https://github.example/acme/widget.git",
      defaultBranch: "main",
      private: false,
    },
    installationId: 3,
    issue: { number: 12, title: "Cents are wrong", body: "2.5 for 205", author: "ravi", updatedAt: 0 },
    askedBy: "maya",
    trigger: "label",
    parent: null,
    budgetUsd: null,
    ...change,
  };
}

export function sampleProposal(change: Partial<Proposal> = {}): Proposal {
  return {
    repositoryId: 7,
    issue: 12,
    runId: RUN_ID,
    baseSha: BASE_SHA,
    targetBranch: "main",
    treeId: "3333333333333333333333333333333333333333",
    files: [
      {
        path: "src/price.js",
        status: "modified",
        mode: "100644",
        sha256: "a".repeat(64),
        added: 1,
        removed: 1,
      },
      {
        path: "test/price.test.js",
        status: "modified",
        mode: "100644",
        sha256: "b".repeat(64),
        added: 5,
        removed: 0,
      },
    ],
    title: "Pad cents to two digits",
    body: "Fixes #12\n\n## What and why\n\nThe cents were not padded.",
    verdictClass: "proven",
    draft: false,
    labels: [],
    ...change,
  };
}

export function sampleEvidence(change: Partial<Evidence> = {}): Evidence {
  return {
    suites: [
      {
        label: "baseline",
        command: "node --test",
        directory: ".",
        exitCode: 0,
        stopped: null,
        counts: { passed: 3, failed: 0, skipped: 0 },
        strength: "report",
        durationMs: 800,
      },
      {
        label: "patched",
        command: "node --test",
        directory: ".",
        exitCode: 0,
        stopped: null,
        counts: { passed: 4, failed: 0, skipped: 0 },
        strength: "report",
        durationMs: 900,
      },
    ],
    fixed: [],
    stillFailing: [],
    newlyFailing: [],
    flaky: [],
    tampering: [],
    notes: ["`node --test` from package.json"],
    ...change,
  };
}

export type VerdictClass = Verdict["class"];

export function sampleVerdict(kind: VerdictClass, evidence: Partial<Evidence> = {}): Verdict {
  const proof = {
    test: "test/price.test.js > pads cents",
    source: "new",
    failedWith: "2.5 !== 2.05",
  } as const;
  switch (kind) {
    case "proven":
      return { class: kind, by: [proof], evidence: sampleEvidence({ fixed: [proof], ...evidence }) };
    case "passing":
      return { class: kind, because: "no test failed before.", evidence: sampleEvidence(evidence) };
    case "unproven":
      return {
        class: kind,
        reason: "no_tests",
        detail: "The repository has no tests that I could find.",
        evidence: sampleEvidence(evidence),
      };
    case "refuted":
      return {
        class: kind,
        because: ["test/price.test.js > adds passed before and fails now"],
        evidence: sampleEvidence({ newlyFailing: ["test/price.test.js > adds"], ...evidence }),
      };
  }
}

export function samplePlan(
  change: Partial<PendingPlan> & { readonly kind?: VerdictClass } = {},
): PendingPlan {
  const { kind = "proven", ...rest } = change;
  const proposal = rest.proposal ?? sampleProposal({ verdictClass: kind, draft: kind !== "proven" });
  return {
    proposal,
    digest: proposalDigest(proposal),
    verdict: sampleVerdict(kind),
    planCommentId: 1_000,
    planCommentAt: 0,
    diffShown: true,
    ...rest,
  };
}

export function sampleIntent(change: Partial<Intent> = {}): Intent {
  return {
    repositoryId: 7,
    issue: 12,
    runId: RUN_ID,
    baseSha: BASE_SHA,
    targetBranch: "main",
    text: "The cents are not padded. I would pad them in `formatPrice`.",
    files: ["src/price.js", "test/price.test.js"],
    proof: "a new test in test/price.test.js for 205",
    turns: 8,
    estimate: { usd: 0.21, tokens: 84_000 },
    budget: { usd: 0.42, tokens: 200_000 },
    ...change,
  };
}

export function samplePendingIntent(change: Partial<PendingIntent> = {}): PendingIntent {
  const intent = change.intent ?? sampleIntent();
  return { intent, digest: intentDigest(intent), commentId: 900, commentAt: 0, shown: true, ...change };
}

export function sampleApproval(plan: PendingPlan): Approval {
  return { by: "maya", digest: plan.digest, commentId: 1_001, unverified: false };
}

export type State = Run["state"];

export const STATES: readonly State[] = [
  "queued",
  "preparing",
  "awaiting_intent",
  "solving",
  "verifying",
  "awaiting_approval",
  "approved",
  "rechecking",
  "publishing",
  "published",
  "cancelled",
  "expired",
  "failed",
];

/** A run in that state, with a proven plan where the state has one. */
export function runIn(state: State, plan: PendingPlan = samplePlan(), request = sampleRequest()): Run {
  const approval = sampleApproval(plan);
  switch (state) {
    case "queued":
    case "preparing":
    case "expired":
      return { state, request };
    case "awaiting_intent":
      return { state, request, intent: samplePendingIntent() };
    case "solving":
    case "verifying":
      return { state, request, round: 1 };
    case "awaiting_approval":
      return { state, request, plan };
    case "approved":
    case "publishing":
      return { state, request, plan, approval };
    case "rechecking":
      return { state, request, plan, approval, newBaseSha: NEW_BASE_SHA };
    case "published":
      return {
        state,
        request,
        pullRequest: 40,
        url: "https://github.example/acme/widget/pull/40",
        branch: `agent-fix/issue-12-${RUN_ID}`,
        commitSha: "4444444444444444444444444444444444444444",
        outcome: "open",
      };
    case "cancelled":
      return { state, request, by: "maya", why: "command" };
    case "failed":
      return { state, request, code: "no_changes", message: "The agent finished without changing anything." };
  }
}
