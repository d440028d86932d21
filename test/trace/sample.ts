/** One plausible event of every type, and a short run made of them. */

import type { Json } from "#src/base/canonical-json.ts";
import type { TraceData } from "#src/trace/events.ts";
import type { TraceEvent, TraceType } from "#src/trace/trace.ts";

export const SAMPLE: TraceData = {
  run_started: {
    repository: "octo/demo",
    issue: 7,
    title: "add() subtracts",
    sandbox: "bubblewrap",
    model: "gpt-5",
    price: { input: 1, cached: 0.1, output: 10 },
  },
  run_ended: { state: "failed", message: "The budget is used up." },
  state: { from: "queued", to: "preparing" },
  step_started: { attempt: 2 },
  step_ended: {
    attempt: 2,
    outcome: "failed",
    ms: 2100,
    code: "timeout",
    message: "it took longer than its limit of 60 s",
  },
  setup: { ok: false, command: "npm ci", ms: 900, output: "npm error code E404" },
  sandbox: { enforcement: { memory: "cgroup v1" } },
  network: { host: "registry.example", allowed: false },
  suite: {
    label: "patched",
    command: "npm test",
    directory: ".",
    exitCode: 1,
    stopped: null,
    passed: 1200,
    failed: 1,
    skipped: 2,
    strength: "report",
    ms: 3200,
  },
  prompt: { hash: "ab".repeat(32), chars: 2345, task: "Fix the issue." },
  model_request: { messages: 3, prefixStable: 1, estimatedInputTokens: 2100 },
  model_text: { text: "I will " },
  model_retry: { attempt: 2, of: 6, waitMs: 4000, reason: "429 slow down" },
  model_reply: {
    finish: "complete",
    content: "I will look at add() first.",
    calls: [{ id: "call00001", name: "read_file", arguments: '{"path":"src/add.js","start":1}' }],
    usage: { inputTokens: 2000, cachedTokens: 1500, outputTokens: 40 },
    costUsd: 0.00105,
    ms: 1500,
  },
  model_failed: { code: "rate_limited", message: "429 slow down" },
  tool_call: { id: "call00001", name: "read_file", arguments: '{"path":"src/add.js","start":1}' },
  tool_result: {
    id: "call00001",
    name: "read_file",
    status: "ok",
    chars: 1640,
    text: "1 export function add(a, b) {\n2   return a - b;\n3 }",
    ms: 12,
  },
  context: {
    action: "compacted",
    tokensBefore: 105_010,
    tokensAfter: 36_900,
    reason: "trigger",
    messagesBefore: 62,
    messagesAfter: 23,
    keptTurns: 10,
    noteBy: "model",
    note: "What was done so far:\nadd() was read.",
  },
  notice: { text: "You have used 80 % of your turns." },
  stop: { status: "turn_cap", message: "50 turns were used.", turns: 50 },
  patch: { treeId: "cd".repeat(20), files: ["src/add.js", "test/add.test.js"], leftOut: 1 },
  verdict: {
    class: "unproven",
    reason: "tampered",
    fixed: ["add > adds"],
    newlyFailing: ["sub > subtracts"],
    tampering: ["test_deleted test/sub.test.js"],
  },
  github: { effect: "plan-comment-1", outcome: "failed", id: "99", message: "403 forbidden" },
  command: { by: "octocat", verb: "approve", decision: "refused: no plan yet" },
  warning: { text: "the status comment could not be edited" },
};

export const TYPES = Object.keys(SAMPLE) as TraceType[];

/** An event as a reader sees it; `n` also gives the second of its time. */
export function event(type: TraceType, over: Partial<TraceEvent> & { readonly n?: number } = {}): TraceEvent {
  const n = over.n ?? 1;
  return {
    v: 1,
    run: "01run",
    n,
    at: new Date(Date.UTC(2025, 0, 1, 12, 0, n)).toISOString(),
    step: null,
    turn: null,
    type,
    data: JSON.parse(JSON.stringify(SAMPLE[type])) as { [key: string]: Json },
    ...over,
  };
}

/** A run of two turns with one retry, a tool error and a proven verdict; one second between lines. */
export function sampleRun(): readonly TraceEvent[] {
  const rows: readonly [TraceType, number | null, object?][] = [
    ["run_started", null],
    ["state", null],
    ["model_request", 1],
    ["model_text", 1],
    ["model_retry", 1],
    ["model_reply", 1],
    ["tool_call", 1],
    ["tool_result", 1],
    ["model_request", 2],
    ["model_reply", 2],
    ["tool_result", 2, { name: "edit_file", status: "error" }],
    ["tool_result", 2, { name: "read_file" }],
    ["stop", null, { status: "done", message: "The model finished.", turns: 2 }],
    ["verdict", null, { class: "proven", reason: null, newlyFailing: [], tampering: [] }],
  ];
  return rows.map(([type, turn, over], index) => {
    const base = event(type, { n: index + 1, turn });
    return { ...base, data: { ...base.data, ...(over as TraceEvent["data"] | undefined) } };
  });
}
