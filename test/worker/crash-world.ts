/** One run driven in this process over the real store, GitHub, git and sandbox, by workers that can be killed at any write. */

import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { onGitHub } from "#src/cli/on-github.ts";
import { openSandbox } from "#src/cli/open-sandbox.ts";
import { createPorts } from "#src/cli/ports.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { type ModelScript, startModelServer } from "#src/demo/model-server.ts";
import { githubConversation } from "#src/fix/github-conversation.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import { type EmbeddedGitHub, startGitHub } from "#src/github/sim/server.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { Sandbox } from "#src/sandbox/sandbox.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import type { Store } from "#src/store/store.ts";
import { createWorker } from "#src/worker/worker.ts";
import { APP_ID, appKeys, WEBHOOK_SECRET } from "#test/support/github.ts";
import { byTurns, call, say, taskOf } from "#test/support/model-turns.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { MEND, tinyFiles } from "#test/support/tiny.ts";

export const REPO = "acme/tiny";
export const MAINTAINER = "maya";
/** Only a failure lasts so long; a busy machine may be slow. */
const WAIT_MS = 240_000;
const STOP_MS = 20_000;

/** Where the worker dies: right before or right after its n-th write, counting from 1. */
export interface Kill {
  readonly write: number;
  readonly when: "before" | "after";
}

export interface LivingWorker {
  /** Writes under a lease so far. */
  writes(): number;
  /** Resolves with true when it was killed as planned, with false when `done` holds first. */
  until(done: () => Promise<boolean>): Promise<boolean>;
  push(runId: string): Promise<void>;
  /** Kills it in this moment. */
  die(): void;
  /** Waits until nothing of it runs. */
  gone(): Promise<void>;
}

export interface CrashWorld {
  /** The repository asks for an intent before the work. */
  readonly intent: boolean;
  readonly github: EmbeddedGitHub;
  readonly dataDir: string;
  /** The test's own connection. */
  readonly store: Store;
  readonly request: RunRequest;
  readonly baseSha: string;
  /** `alone`: as the only one that lives; it takes over what a killed one held. */
  startWorker(kill: Kill | null, alone?: boolean): Promise<LivingWorker>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `intent`: the repository asks for an intent before the work. */
export async function crashWorld(intent = false): Promise<CrashWorld> {
  const dir = await tempDir("crash-");
  const { publicKey, privateKey } = appKeys();
  const github = await startGitHub({
    dataDir: join(dir.path, "github"),
    clock: systemClock,
    ids: systemIds,
    app: { id: APP_ID, slug: "agent-fix", owner: "acme", publicKey, webhookSecret: WEBHOOK_SECRET },
  });
  const model = await startModelServer({ script: intent ? THINK_FIRST : MEND_OR_NOTE });
  github.createOrganization("acme");
  const repository = await github.createRepository({ owner: "acme", name: "tiny", files: filesWith(intent) });
  github.setPermission(REPO, MAINTAINER, "maintain");
  const installationId = github.install({ repositories: [REPO] });
  const issue = github.openIssue(REPO, "ravi", { title: "add subtracts", body: "1 + 1 is 0" });
  github.label(REPO, issue, MAINTAINER, "agent-fix");
  const dataDir = join(dir.path, "data");
  const env = {
    ...processEnvironment(),
    APP_ID: String(APP_ID),
    PRIVATE_KEY: privateKey,
    WEBHOOK_SECRET,
    GHE_HOST: github.host,
    GHE_PROTOCOL: "http",
    DATA_DIR: dataDir,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "sk-test",
    OPENAI_MODEL: "scripted",
  };
  const path = join(dataDir, "state.db");
  const store = openSqliteStore({ path, clock: systemClock });
  const { id, owner, name, cloneUrl, defaultBranch } = repository;
  const request: RunRequest = {
    runId: systemIds.runId(systemClock.now()),
    repository: { id, owner, name, cloneUrl, defaultBranch, private: false },
    installationId,
    issue: { number: issue, title: "add subtracts", body: "1 + 1 is 0", author: "ravi", updatedAt: 0 },
    askedBy: MAINTAINER,
    trigger: "label",
    parent: null,
    budgetUsd: null,
  };
  return {
    github,
    intent,
    dataDir,
    store,
    request,
    baseSha: repository.headSha ?? "",
    startWorker: (kill, alone = true) =>
      startWorker({ env, path, privateKey, apiUrl: github.apiUrl, alone }, kill),
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await model.close();
      await github.close();
      await dir.remove();
    },
  };
}

/** What a review may ask for. */
export const ADD_A_NOTE = "Add a note on the sign.";

const NOTE = byTurns(
  call("edit_file", { path: "NOTE", old: "", new: "The sign was wrong.\n" }),
  say("Add a note\n\nAs asked."),
);

const MEND_OR_NOTE: ModelScript = (messages, tools) =>
  (taskOf(messages).includes(ADD_A_NOTE) ? NOTE : MEND)(messages, tools);

const THINK_FIRST: ModelScript = (messages, tools) =>
  taskOf(messages).startsWith("Say what")
    ? say("I would add.\n\nFiles: add.js\nProof: the suite\nTurns: 3")
    : MEND(messages, tools);

function filesWith(intent: boolean): Readonly<Record<string, string>> {
  const files = tinyFiles();
  if (!intent) return files;
  return { ...files, ".github/agent-fix.yml": `${files[".github/agent-fix.yml"]}gates: [intent]\n` };
}

interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly path: string;
  readonly privateKey: string;
  readonly apiUrl: string;
  readonly alone: boolean;
}

async function startWorker(place: Place, kill: Kill | null): Promise<LivingWorker> {
  const dead = new AbortController();
  const store = killable(openSqliteStore({ path: place.path, clock: systemClock }), kill, dead);
  const parts = await portsOf(place, store, dead.signal);
  const queue = createEmbeddedQueue({
    concurrency: { work: 1, desk: 2 },
    clock: systemClock,
    log: silentLog,
  });
  const worker = createWorker({ ports: parts.ports, queue, name: systemIds.hex(4), alone: place.alone });
  await worker.start();
  return {
    writes: store.writes,
    push: (runId) => queue.push(runId, "desk"),
    die: store.die,
    until: (done) => store.until(done),
    gone: async () => {
      await worker.stop(STOP_MS);
      await parts.sandbox.sweep();
      await store.close();
    },
  };
}

async function portsOf(
  place: Place,
  store: Store,
  dead: AbortSignal,
): Promise<{ readonly ports: FixPorts; readonly sandbox: Sandbox }> {
  const loaded = loadEnv(place.env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.error));
  const config = loaded.value;
  const shared = { config, env: place.env, clock: systemClock, ids: systemIds, log: silentLog };
  const sandbox = await openSandbox({ ...shared, home: homedir() });
  const redactor = createRedactor();
  const app = createGitHubApp({
    appId: APP_ID,
    privateKey: place.privateKey,
    baseUrl: place.apiUrl,
    ...shared,
    redactor,
  });
  const ports = createPorts(
    { ...shared, sandbox, store, redactor },
    {
      ...onGitHub(app, systemClock),
      // The dead say nothing more to GitHub.
      converse: (request, signal) =>
        githubConversation({ app, request, clock: systemClock, signal: AbortSignal.any([signal, dead]) }),
    },
  );
  return { ports, sandbox };
}

interface KillableStore extends Store, Pick<LivingWorker, "writes" | "until" | "die"> {}

/** The store of a process that is killed at one of its writes: from then on nothing gets through. */
function killable(real: Store, kill: Kill | null, dead: AbortController): KillableStore {
  let writes = 0;
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const end = () => {
    dead.abort(new Error("killed"));
    changed();
  };
  const die = (): never => {
    end();
    throw new Error("the process was killed");
  };
  const alive = () => {
    if (dead.signal.aborted) throw new Error("the process is dead");
  };
  const written = async <T>(write: () => Promise<T>): Promise<T> => {
    alive();
    writes++;
    const fatal = kill !== null && writes === kill.write;
    if (fatal && kill.when === "before") die();
    const result = await write();
    if (fatal) die();
    changed();
    return result;
  };
  const guarded =
    <A extends readonly unknown[], T>(method: (...values: A) => Promise<T>) =>
    async (...values: A): Promise<T> => {
      alive();
      return method(...values);
    };
  return {
    ...real,
    run: guarded(real.run),
    events: guarded(real.events),
    blob: guarded(real.blob),
    createRun: guarded(real.createRun),
    openRuns: guarded(real.openRuns),
    claim: guarded(real.claim),
    renew: guarded(real.renew),
    release: async (lease) => {
      alive();
      await real.release(lease);
      changed();
    },
    append: (...values) => written(() => real.append(...values)),
    putBlob: (...values) => written(() => real.putBlob(...values)),
    settle: (...values) => written(() => real.settle(...values)),
    writes: () => writes,
    die: end,
    until: (done) =>
      new Promise((resolve, reject) => {
        const finish = (end: () => void) => {
          listeners.delete(look);
          cancel();
          end();
        };
        const cancel = systemClock.timer(WAIT_MS, () =>
          finish(() => reject(new Error(`waited in vain after ${writes} writes`))),
        );
        const look = () => {
          if (dead.signal.aborted) return finish(() => resolve(true));
          done().then(
            (yes) => {
              if (yes) finish(() => resolve(dead.signal.aborted));
            },
            (error: Error) => finish(() => reject(error)),
          );
        };
        listeners.add(look);
        look();
      }),
  };
}
