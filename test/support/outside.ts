/**
 * The server driven only from outside: an embedded GitHub, a scripted model and the real server as a child process.
 * What a test sees is what GitHub, the model and the disk see.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { type ModelScript, type ModelServer, startModelServer } from "#src/demo/model-server.ts";
import { type Marker, type MarkerKind, parseMarker } from "#src/gate/marker.ts";
import type { Permission } from "#src/github/github.ts";
import type { CommentView, IssueView } from "#src/github/sim/issue-controls.ts";
import type { NewRepository, RepositoryView } from "#src/github/sim/repository-controls.ts";
import { type EmbeddedGitHub, startGitHub } from "#src/github/sim/server.ts";
import type { RunEvent } from "#src/run/run.ts";
import { appKeys } from "#test/support/github.ts";
import { leftBehind, queryState, type RunRow, runRows } from "#test/support/left-behind.ts";
import { launchServer, type ServerProcess } from "#test/support/server-process.ts";
import { tempDir } from "#test/support/temp-dir.ts";

export const APP_ID = 4711;
export const OWNER = "acme";
/** The default repository, a copy of fixtures/demo/repository. */
export const REPO = "acme/till";
/** Has the role maintain on every repository. */
export const MAINTAINER = "maya";
/** Has the role read on every repository. */
export const REPORTER = "ravi";
export const LABEL = "agent-fix";
export const DEMO_REPOSITORY = join(import.meta.dirname, "../../fixtures/demo/repository");
/** For waits on a whole run on a busy machine. */
export const RUN_LIMIT_MS = 220_000;

const POLL_MS = 60;
/** Characters of the server's log that a failure shows. */
const LOG_SHOWN = 6_000;

export interface OutsideOptions {
  readonly script: ModelScript;
  /** The default repository's files; with neither these nor a directory those of fixtures/demo/repository. */
  readonly files?: NewRepository["files"];
  readonly fromDirectory?: string;
  /** GitHub speaks https with this key and certificate (PEM), as a GitHub Enterprise Server does. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Further environment variables of the server; they win. An empty text unsets one. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further people of the default repository. */
  readonly people?: Readonly<Record<string, Permission>>;
  /** What the installation grants; default: all that agent-fix asks for. */
  readonly permissions?: Readonly<Record<string, string>>;
}

/** A comment of the app with its marker. */
export interface AppComment extends CommentView {
  readonly marker: Marker;
}

export interface Outside {
  readonly github: EmbeddedGitHub;
  readonly model: ModelServer;
  /** Everything that must never be seen outside DATA_DIR/app.env. */
  readonly secrets: Readonly<Record<"privateKey" | "webhookSecret" | "openaiKey", string>>;
  readonly dataDir: string;
  /** The server's own address; changes only when a restart asks for another port. */
  url(): string;
  /** The process that runs now, or ran last. */
  server(): ServerProcess;
  /** Standard error and output of all processes so far. */
  output(): string;
  /** Another repository of the same owner, with the same people and an installation of its own. */
  addRepository(
    repository: Omit<NewRepository, "owner">,
    permissions?: OutsideOptions["permissions"],
  ): Promise<RepositoryView>;
  /** Opens an issue as the reporter (in the default repository unless said otherwise); returns its number. */
  openIssue(content?: { readonly title?: string; readonly body?: string | null }, repo?: string): number;
  /** SIGKILL of the server. */
  kill9(): Promise<void>;
  /** Starts it again on the same DATA_DIR and port; the process before must have ended. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** SIGTERM; asserts exit code 0 in less than ten seconds. */
  stop(): Promise<void>;
  /** Comments that the app wrote and marked, oldest first. */
  comments(issue: number, kind?: MarkerKind, repo?: string): readonly AppComment[];
  runs(): readonly RunRow[];
  /** The newest run of an issue. */
  run(issue: number, repo?: string): RunRow | null;
  events(runId: string): readonly RunEvent[];
  /** Asks `look` until it gives something; rejects with `what` and the log when the limit passes or the server ends. */
  until<T>(what: string, look: () => T | null | undefined | false, limitMs?: number): Promise<T>;
  untilComment(
    issue: number,
    kind: MarkerKind,
    matching?: { readonly text?: RegExp; readonly forComment?: number; readonly repo?: string },
  ): Promise<AppComment>;
  untilPull(repo?: string): Promise<IssueView>;
  /** Until the issue's newest run is in one of these states. */
  untilState(issue: number, states: string | readonly string[], repo?: string): Promise<RunRow>;
  /** Stops the server if it runs, asserts that nothing is left, and takes the rest down. */
  finish(): Promise<void>;
  /** Takes everything down without any assertion; safe to call after `finish`. */
  close(): Promise<void>;
}

/** Runs `work` in a started world, then asserts that nothing is left; a failure carries the end of the server's log. */
export async function outside(
  options: OutsideOptions,
  work: (world: Outside) => Promise<void>,
): Promise<void> {
  const world = await startOutside(options);
  try {
    await work(world);
    await world.finish();
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\n--- the server said ---\n${world.output().slice(-LOG_SHOWN)}`,
      {
        cause: error,
      },
    );
  } finally {
    await world.close();
  }
}

/** Starts all three; call `finish` (or at least `close`) at the end. */
export async function startOutside(options: OutsideOptions): Promise<Outside> {
  const dir = await tempDir("outside-");
  const { publicKey, privateKey } = appKeys();
  const secrets = { privateKey, webhookSecret: systemIds.hex(20), openaiKey: `sk-${systemIds.hex(24)}` };
  const github = await startGitHub({
    dataDir: join(dir.path, "github"),
    clock: systemClock,
    ids: systemIds,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    app: { id: APP_ID, slug: "agent-fix", owner: OWNER, publicKey, webhookSecret: secrets.webhookSecret },
  });
  const model = await startModelServer({ script: options.script, key: secrets.openaiKey });
  const down = async () => {
    await model.close();
    await github.close();
    await dir.remove();
  };
  try {
    github.createOrganization(OWNER);
    const repositories = repositoriesOf(github, options);
    await repositories.add({
      name: "till",
      ...(options.files === undefined ? {} : { files: options.files }),
      ...(options.files !== undefined && options.fromDirectory === undefined
        ? {}
        : { fromDirectory: options.fromDirectory ?? DEMO_REPOSITORY }),
    });
    const dataDir = options.env?.DATA_DIR ?? join(dir.path, "data");
    const env = {
      APP_ID: String(APP_ID),
      PRIVATE_KEY: privateKey,
      WEBHOOK_SECRET: secrets.webhookSecret,
      GHE_HOST: github.host,
      GHE_PROTOCOL: options.tls === undefined ? "http" : "https",
      PORT: "0",
      HOST: "127.0.0.1",
      DATA_DIR: dataDir,
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: secrets.openaiKey,
      OPENAI_MODEL: "scripted",
      LOG_LEVEL: "info",
      ...options.env,
    };
    const server = await createControl(github, env);
    const { add: addRepository, id: repositoryId } = repositories;
    return worldOf({ github, model, secrets, dataDir, server, down, addRepository, repositoryId });
  } catch (error) {
    await down();
    throw error;
  }
}

function repositoriesOf(github: EmbeddedGitHub, options: OutsideOptions) {
  const ids = new Map<string, number>();
  const add: Outside["addRepository"] = async (repository, permissions = options.permissions) => {
    const created = await github.createRepository({ owner: OWNER, ...repository });
    ids.set(created.fullName, created.id);
    const people: Readonly<Record<string, Permission>> = {
      [MAINTAINER]: "maintain",
      [REPORTER]: "read",
      ...options.people,
    };
    for (const [login, permission] of Object.entries(people))
      github.setPermission(created.fullName, login, permission);
    github.install({
      repositories: [created.fullName],
      ...(permissions === undefined ? {} : { permissions }),
    });
    return created;
  };
  return { add, id: (repo: string) => ids.get(repo) };
}

interface ServerControl {
  process(): ServerProcess;
  url(): string;
  output(): string;
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
}

async function createControl(
  github: EmbeddedGitHub,
  env: Readonly<Record<string, string>>,
): Promise<ServerControl> {
  const processes: ServerProcess[] = [];
  let url = "";
  const start = async (more: Readonly<Record<string, string>>): Promise<void> => {
    const launched = launchServer({ ...env, ...more });
    processes.push(launched);
    try {
      url = await launched.ready();
    } catch (error) {
      await launched.kill9();
      // Somebody else's connection may have got the port meanwhile; the webhooks follow to another one.
      if (more.PORT !== undefined && / is taken/.test(launched.stderr()))
        return start({ ...more, PORT: "0" });
      throw error;
    }
    github.setWebhookUrl(`${url}${WEBHOOK_PATH}`);
  };
  await start({});
  return {
    process: () => processes.at(-1) as ServerProcess,
    url: () => url,
    output: () => processes.map((one) => one.stdout() + one.stderr()).join("--- started again ---\n"),
    restart: (more = {}) => start({ PORT: new URL(url).port, ...more }),
  };
}

interface WorldParts extends Pick<Outside, "github" | "model" | "secrets" | "dataDir" | "addRepository"> {
  readonly server: ServerControl;
  readonly repositoryId: (repo: string) => number | undefined;
  readonly down: () => Promise<void>;
}

function worldOf(parts: WorldParts): Outside {
  const { github, dataDir, server } = parts;
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    if (server.process().exit() === null) await server.process().kill9();
    await parts.down();
  };
  const stop = async () => {
    const exit = await server.process().terminate();
    assert.deepEqual(exit, { code: 0, signal: null }, "SIGTERM ends the server with code 0");
  };
  return {
    github,
    model: parts.model,
    secrets: parts.secrets,
    dataDir,
    addRepository: parts.addRepository,
    url: server.url,
    server: server.process,
    output: server.output,
    restart: server.restart,
    openIssue: (content = {}, repo = REPO) =>
      github.openIssue(repo, REPORTER, { title: "Small amounts are printed wrong", ...content }),
    kill9: () => server.process().kill9(),
    stop,
    ...lookingFor(parts),
    finish: async () => {
      await github.settled();
      if (server.process().exit() === null) await stop();
      assert.deepEqual(await leftBehind(dataDir, server.url()), [], "the server left something behind");
      await close();
    },
    close,
  };
}

type Looking = Pick<
  Outside,
  "comments" | "runs" | "run" | "events" | "until" | "untilComment" | "untilPull" | "untilState"
>;

function lookingFor({ github, dataDir, server, repositoryId }: WorldParts): Looking {
  const comments: Outside["comments"] = (issue, kind, repo = REPO) =>
    github.comments(repo, issue).flatMap((comment) => {
      const marker = comment.login.endsWith("[bot]") ? parseMarker(comment.body) : null;
      return marker === null || (kind !== undefined && marker.kind !== kind) ? [] : [{ ...comment, marker }];
    });
  const stateOf = () =>
    `\n--- runs ---\n${runs()
      .map((row) => JSON.stringify(row))
      .join("\n")}\n--- the server said ---\n${server.output().slice(-LOG_SHOWN)}`;
  const until: Outside["until"] = async (what, look, limitMs = RUN_LIMIT_MS) => {
    const end = systemClock.now() + limitMs;
    for (;;) {
      const found = look();
      if (found !== null && found !== undefined && found !== false) return found;
      const exit = server.process().exit();
      if (exit !== null)
        throw new Error(`the server ended (${JSON.stringify(exit)}) before ${what}${stateOf()}`);
      if (systemClock.now() > end)
        throw new Error(`waited ${limitMs / 1000} s in vain for ${what}${stateOf()}`);
      await systemClock.sleep(POLL_MS);
    }
  };
  const runs = () => runRows(dataDir);
  const run = (issue: number, repo = REPO) =>
    runs().findLast((row) => row.issue === issue && row.repositoryId === repositoryId(repo)) ?? null;
  return {
    comments,
    until,
    runs,
    run,
    events: (runId) =>
      queryState(dataDir, "SELECT body FROM event WHERE run_id = ? ORDER BY seq", runId).map(
        (row) => JSON.parse(String(row.body)) as RunEvent,
      ),
    untilComment: (issue, kind, { text = /(?:)/, forComment, repo = REPO } = {}) =>
      until(`a ${kind} comment on #${issue} that matches ${text}`, () =>
        comments(issue, kind, repo).find(
          (comment) =>
            text.test(comment.body) && (forComment === undefined || comment.marker.forComment === forComment),
        ),
      ),
    untilPull: (repo = REPO) => until(`a pull request in ${repo}`, () => github.pullRequests(repo)[0]),
    untilState: (issue, states, repo = REPO) => {
      const wanted = [states].flat();
      return until(`the run of ${repo}#${issue} being ${wanted.join(" or ")}`, () => {
        const row = run(issue, repo);
        return row !== null && wanted.includes(row.state) ? row : null;
      });
    },
  };
}
