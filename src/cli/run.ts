/** `agent-fix run`: the same core on a local checkout; it ends with a patch file instead of a pull request. */

import { writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { type Config, formatProblems, secretsOf } from "#src/config/config.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { DIFF_BLOB } from "#src/fix/steps/collect.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { RunRequest } from "#src/run/run.ts";
import { lockDataDir } from "#src/store/data-lock.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store } from "#src/store/store.ts";
import { createWorker } from "#src/worker/worker.ts";
import { readRequest } from "./local-request.ts";
import { createLog, toStandardError } from "./logger.ts";
import { localDataDir } from "./places.ts";
import { createPorts, openSandbox } from "./ports.ts";
import { terminalConversation } from "./terminal-conversation.ts";

const USAGE = `agent-fix run --repo DIR --issue FILE: work on a local checkout and leave a patch.

  --repo DIR     a git checkout; its current branch, as last committed, is the base
  --issue FILE   the issue: its first line is the title, the rest the description
  --output FILE  where the patch goes (default: agent-fix-<run id>.patch)

The model comes from MODEL_API, its key and OPENAI_MODEL (docs/configuration.md). Nothing in the checkout is changed.`;

/** Exit code 0 with a patch, 1 without one, 2 for wrong options. */
export async function run(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repo: { type: "string" },
      issue: { type: "string" },
      output: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.repo === undefined || values.issue === undefined) {
    console.error(`Both --repo and --issue are needed.\n\n${USAGE}`);
    return 2;
  }
  const loaded = loadEnv(processEnvironment(), "local");
  if (!loaded.ok) {
    console.error(formatProblems(loaded.error));
    return 1;
  }
  const request = await readRequest(resolve(values.repo), resolve(values.issue));
  return work(loaded.value, request, resolve(values.output ?? `agent-fix-${request.runId}.patch`));
}

async function work(config: Config, request: RunRequest, output: string): Promise<number> {
  const env = processEnvironment();
  const dataDir = localDataDir(config.server.dataDir);
  const local: Config = { ...config, server: { ...config.server, dataDir } };
  const redactor = createRedactor(secretsOf(config));
  const log = createLog(
    config.server.logLevel === "info" ? "warn" : config.server.logLevel,
    redactor,
    toStandardError,
  );
  const shared = { config: local, env, clock: systemClock, ids: systemIds, log };
  const lock = await lockDataDir(dataDir, systemClock, 0);
  const sandbox = await openSandbox({ ...shared, home: homedir() });
  const store = openSqliteStore({ path: join(dataDir, "state.db"), clock: systemClock });
  const queue = createEmbeddedQueue({ concurrency: { work: 1, desk: 1 }, clock: systemClock, log });
  const talk = terminalConversation((line) => console.log(line), systemClock);
  const ports = createPorts(
    { ...shared, sandbox, store, redactor },
    {
      converse: () => talk.conversation,
      gitToken: () => async () => null,
      tracePlace: (runId) => `agent-fix trace ${runId}`,
      localRepositories: [fileURLToPath(request.repository.cloneUrl)],
    },
  );
  const worker = createWorker({ ports, queue, name: `local-${systemIds.hex(4)}`, alone: true });
  const interrupted = interruption();
  try {
    await store.createRun(request);
    await worker.start();
    await queue.push(request.runId, "desk");
    await Promise.race([talk.ended, interrupted]);
    return await leavePatch(store, request.runId, output);
  } finally {
    await worker.stop(10_000);
    await endRun(store, request.runId);
    await ports.workspaces.remove(request.runId, false);
    await store.close();
    lock.release();
  }
}

async function leavePatch(store: Store, runId: string, output: string): Promise<number> {
  const diff = await store.blob(runId, DIFF_BLOB);
  if (diff === null || diff.length === 0) {
    console.log("There is no patch.");
    return 1;
  }
  await writeFile(output, diff);
  const run = await store.run(runId);
  const offered = run?.state === "awaiting_approval";
  console.log(
    `\nThe patch is in ${output}${offered ? `; apply it with: git apply ${output}` : ", but it is not recommended (see above)"}.`,
  );
  return offered ? 0 : 1;
}

/** A local run is over when its command is; it never waits for an approval. */
async function endRun(store: Store, runId: string): Promise<void> {
  const run = await store.run(runId);
  if (run === null || run.ended) return;
  const lease = await store.claim(runId, "local-end", 5_000);
  if (lease === null) return;
  await store.append(lease, [{ type: "cancelled", by: "local", why: "shutdown_of_operator" }], {
    state: "cancelled",
    ended: true,
  });
  await store.release(lease);
}

function interruption(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => done());
  });
}
