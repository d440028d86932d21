/** The loop as the app runs it: chat adapter over HTTP, the real tools, and trace, checkpoints and event log written to disk. */

import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { createAgentObserver } from "#src/fix/agent-observer.ts";
import { openCheckpoints } from "#src/fix/checkpoints.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { openRun } from "#src/fix/run-context.ts";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import { delegateTool } from "#src/harness/delegate.ts";
import { runAgent } from "#src/harness/loop.ts";
import { SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import type { Tool } from "#src/harness/tool.ts";
import { createOpenAiChat } from "#src/model/openai-chat.ts";
import type { RunRequest } from "#src/run/run.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import { openTrace } from "#src/trace/jsonl.ts";

const shared = { clock: systemClock, ids: systemIds, log: silentLog };

function requestOf(runId: string): RunRequest {
  return {
    ...{ runId, installationId: 1, askedBy: "bench", trigger: "label", parent: null, budgetUsd: null },
    repository: {
      ...{ id: 1, owner: "octo", name: "bench", cloneUrl: "https://github.example/octo/bench.git" },
      ...{ defaultBranch: "main", private: false },
    },
    issue: { number: 1, title: "Slow", body: "It is slow.", author: "octocat", updatedAt: 0 },
  };
}

/** The same tool with the time of each call, in ms, put into `spent`. */
function timedTool(tool: Tool, spent: number[]): Tool {
  return {
    ...tool,
    run: async (args, context) => {
      const startedAt = performance.now();
      const result = await tool.run(args, context);
      spent.push(performance.now() - startedAt);
      return result;
    },
  };
}

export interface OurRun {
  readonly url: string;
  readonly tools: readonly Tool[];
  readonly task: string;
  /** Where store and trace go. */
  readonly dataDir: string;
}

/** Answers with the tool's bare time of each turn, in ms. */
export async function ourLoop({ url, tools, task, dataDir }: OurRun): Promise<readonly number[]> {
  const redactor = createRedactor(["bench-key-0123456789"]);
  const store = openSqliteStore({ path: join(dataDir, "state.db"), clock: systemClock });
  const runId = systemIds.runId(systemClock.now());
  const request = requestOf(runId);
  await store.createRun(request);
  const lease = await store.claim(runId, "bench", 600_000);
  if (lease === null) throw new Error("the run could not be claimed");
  // Only what the agent's step uses of the ports; nothing here prepares, verifies or publishes.
  const ports = {
    ...shared,
    ...{ store, redactor },
    openTrace: (id: string) => openTrace({ dir: join(dataDir, "traces"), runId: id, redactor, ...shared }),
    converse: () => ({}),
  } as unknown as FixPorts;
  const signal = new AbortController().signal;
  const opened = await openRun({ ports, lease, request, signal });
  if (!opened.ok) throw new Error(opened.error);
  const checkpoints = await openCheckpoints(opened.value, 0);
  if (!checkpoints.ok) throw new Error(checkpoints.error);
  const toolMs: number[] = [];
  const observe = createAgentObserver(opened.value, null);
  const common = {
    ...shared,
    model: createOpenAiChat({ baseUrl: url, apiKey: null, modelId: "bench", redactor, ...shared }),
    limits: {
      ...{ turns: 60, totalTokens: 1e9, costUsd: null, wallClockMs: 600_000 },
      ...{ maxOutputTokens: 4_000, contextTokens: 1_000_000 },
    },
    price: { inputUsd: 1, cachedUsd: 0.1, outputUsd: 4 },
    observe,
  };
  const end = await runAgent({
    ...common,
    tools: [...tools.map((tool) => timedTool(tool, toolMs)), delegateTool({ ...common, tools })],
    system: SYSTEM_PROMPT,
    task,
    prior: [],
    spent: NOTHING_SPENT,
    signal,
    checkpoint: (state) => checkpoints.value.save(state),
  });
  opened.value.trace.close();
  await store.close();
  if (end.status !== "done") throw new Error(`the run ended as ${end.status}: ${end.message}`);
  return toolMs;
}
