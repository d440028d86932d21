/** A run in the hands of its lease holder, over a real store and trace; the conversation with people is recorded in memory. */

import { join } from "node:path";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { err, ok, type Result } from "#src/base/result.ts";
import type { Conversation, StartCheck } from "#src/fix/conversation.ts";
import type { FixPorts, OperatorSettings } from "#src/fix/ports.ts";
import { openRun, type RunContext } from "#src/fix/run-context.ts";
import type { OfferStanding } from "#src/gate/decide.ts";
import type { KnownPermission } from "#src/gate/who.ts";
import type { GitHubFailure, ReviewComment } from "#src/github/github.ts";
import type { FailedCheckRun, FixClaim } from "#src/github/surroundings.ts";
import type { Run, RunEvent, RunRequest } from "#src/run/run.ts";
import { reduce } from "#src/run/transition.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store } from "#src/store/store.ts";
import { openTrace } from "#src/trace/jsonl.ts";
import { sampleRequest } from "#test/run/sample.ts";
import { createManualClock, type ManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

/** What a recorded conversation was asked to do, and how it answers. */
export interface Talk {
  readonly statuses: string[];
  readonly calls: string[];
  /** Whether the run may begin. */
  start: StartCheck;
  permission: KnownPermission;
  /** What single people may do, where it is not `permission`. */
  permissions: Readonly<Record<string, KnownPermission>>;
  claims: readonly FixClaim[];
  /** Teams that everybody is in. */
  teams: string[];
  labelledAgain: boolean;
  groundStands: boolean;
  /** How the app's comments stand. */
  standing: OfferStanding;
  /** When set, every write fails with it. */
  failure: GitHubFailure | null;
  /** When set, writes of the status wait for it. */
  gate: Promise<void> | null;
  reviewComments: readonly ReviewComment[];
  failedChecks: readonly FailedCheckRun[];
}

export interface FixRig {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly context: RunContext;
  readonly talk: Talk;
  /** Appends as the lease holder. */
  append(...events: readonly RunEvent[]): Promise<void>;
  /** Records a fact as the web side does; then the context takes it in. */
  fact(event: RunEvent): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const OPERATOR: OperatorSettings = {
  budgetUsd: 10,
  modelId: "scripted",
  price: () => null,
  maxTotalTokens: 1_000_000,
  maxOutputTokens: 1_000,
  contextTokens: 100_000,
  limits: { memoryBytes: 1, processes: 1, diskBytes: 1, openFiles: 1 } as OperatorSettings["limits"],
  setupTimeoutMs: 1,
  suiteTimeoutMs: 1,
  parallelSuites: 1,
  maxRounds: 3,
  tracePlace: (runId) => `agent-fix trace ${runId}`,
};

export async function fixRig(request: RunRequest = sampleRequest()): Promise<FixRig> {
  const dir = await tempDir("fix-");
  const clock = createManualClock();
  const store = openSqliteStore({ path: join(dir.path, "state.db"), clock });
  const redactor = createRedactor();
  const talk = newTalk();
  const traces = join(dir.path, "traces");
  const ports = withoutTheRest({
    store,
    clock,
    ids: systemIds,
    log: silentLog,
    redactor,
    operator: OPERATOR,
    openTrace: (runId) => openTrace({ dir: traces, runId, clock, redactor, log: silentLog }),
    converse: () => recorded(talk),
  });
  await store.createRun(request);
  const lease = await store.claim(request.runId, "test", 3_600_000_000);
  if (lease === null) throw new Error("the run could not be claimed");
  const opened = await openRun({ ports, lease, request, signal: new AbortController().signal });
  if (!opened.ok) throw new Error(opened.error);
  const context = opened.value;
  let facts = 0;
  return {
    clock,
    store,
    context,
    talk,
    append: (...events) => context.append(...events),
    fact: async (event) => {
      await store.appendFact(request.runId, `fact-${++facts}`, event);
      await context.refresh();
    },
    [Symbol.asyncDispose]: async () => {
      context.trace.close();
      await store.close();
      await dir.remove();
    },
  };
}

export function newTalk(): Talk {
  return {
    statuses: [],
    calls: [],
    start: { go: true },
    permission: "write",
    permissions: {},
    claims: [],
    teams: [],
    labelledAgain: false,
    groundStands: false,
    standing: "as_posted",
    failure: null,
    gate: null,
    reviewComments: [],
    failedChecks: [],
  };
}

/** Ports that these tests do not reach complain when they are used. */
export function withoutTheRest(given: Partial<FixPorts>): FixPorts {
  const missing = (port: string) =>
    new Proxy(
      {},
      {
        get: (_, name) => () => {
          throw new Error(`${port}.${String(name)} was called, which this test does not have`);
        },
      },
    );
  const none: Pick<FixPorts, "workspaces" | "sandbox"> = {
    workspaces: missing("workspaces") as FixPorts["workspaces"],
    sandbox: missing("sandbox") as FixPorts["sandbox"],
  };
  return { ...none, ...given } as FixPorts;
}

/** A conversation that goes nowhere. */
export function recorded(talk: Talk): Conversation {
  const write = async <T>(call: string, value: T): Promise<Result<T, GitHubFailure>> => {
    talk.calls.push(call);
    return talk.failure === null ? ok(value) : err(talk.failure);
  };
  return {
    welcome: () => write("welcome", null),
    mayStart: async () => {
      talk.calls.push("mayStart");
      return talk.start;
    },
    permission: async (login) => {
      talk.calls.push(`permission ${login}`);
      return talk.permissions[login] ?? talk.permission;
    },
    isMember: async (team) => talk.teams.includes(team),
    labelledAfter: async () => talk.labelledAgain,
    status: async (_journal, body) => {
      await talk.gate;
      const written = await write("status", null);
      if (written.ok) talk.statuses.push(body);
      return written;
    },
    plan: async (_journal, render) =>
      write("plan", { commentId: 1_000, at: 0, diffShown: render("full").diffShown }),
    intent: async (_journal, render) =>
      write("intent", { commentId: 900, at: 0, shown: render("full").shown }),
    result: (_journal, render) => write(`result ${render("full").length > 0}`, null),
    concludePlan: (id) => write(`conclude ${id}`, id === null ? null : `node-${id}`),
    fold: (nodeId) => write(`fold ${nodeId}`, null),
    fixClaims: async () => (talk.failure === null ? ok(talk.claims) : err(talk.failure)),
    standing: async () => talk.standing,
    groundStands: async () => talk.groundStands,
    failedChecks: async () => ok(talk.failedChecks),
    answer: (_journal, { commentId, reaction, body }) =>
      write(`answer ${commentId} ${reaction} ${body}`, null),
    reviewComments: async () => ok(talk.reviewComments),
    answerReviewComment: (_journal, { commentId }) => write(`thread ${commentId}`, null),
    closePullRequest: ({ number }) => write(`close ${number}`, { branch: "deleted" as const }),
    branchHead: async () => ok(null),
    publisher: () => {
      throw new Error("nothing is published here");
    },
  };
}

/** The state that a log leads to. */
export function stateOf(events: readonly RunEvent[]): Run["state"] {
  const run = reduce(events);
  if (!run.ok) throw new Error(run.error);
  return run.value.state;
}
