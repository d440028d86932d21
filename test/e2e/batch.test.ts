/** An overnight batch with one of each fault among its tasks: every task ends with an outcome that is read back from the store. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chunksOf, type WireMessage } from "#src/demo/model-protocol.ts";
import type { ServedTurn } from "#src/demo/model-server.ts";
import { readTrace } from "#src/trace/read.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { call, say, taskOf } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, REPO, startOutside } from "#test/support/outside.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, inTurn, SEED, sample } from "#test/support/tier.ts";
import { tinyFiles } from "#test/support/tiny.ts";

const TASKS = FULL ? 200 : 4;
/** A run takes seconds; only the waits for a failing model are longer. */
const BATCH_LIMIT_MS = 45 * 60_000;
const MEND = call("edit_file", { path: "add.js", old: "a - b", new: "a + b" });
const DONE = say("Add instead of subtracting\n\nThe sign was wrong.");

/** What the model answers: a turn, or something that only bytes can say. */
type Answer = ServedTurn | ((response: ServerResponse) => void);

interface Place {
  /** Replies that the transcript holds. */
  readonly turn: number;
  /** Requests for this task before this one, failed ones included. */
  readonly asked: number;
}

interface Fault {
  readonly name: string;
  /** The state it ends or stands in, with the code of a failure. */
  readonly outcome: `failed ${string}` | "awaiting_approval" | "cancelled";
  /** Default: the model that mends it. */
  readonly model?: (place: Place) => Answer;
  readonly repo?: string;
  /** Once its label is set. */
  readonly meanwhile?: (world: Outside, issue: number) => void;
  /** Waits for half a minute and more. */
  readonly slow?: true;
}

const mending = ({ turn }: Place): ServedTurn => (turn === 0 ? MEND : DONE);
/** Goes wrong on the first request, and mends it on all that follow. */
const once =
  (answer: Answer) =>
  (place: Place): Answer =>
    place.asked === 0 ? answer : mending(place);
const first =
  (turn: ServedTurn) =>
  ({ turn: at }: Place): ServedTurn =>
    at === 0 ? turn : mending({ turn: at - 1, asked: 0 });
const always = (answer: Answer) => () => answer;
const error = (status: number, code: string | null, message: string): ServedTurn => ({
  status,
  error: { message, code },
});

const sse = (text: string, end: "end" | "drop" | "hang") => (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(text);
  if (end === "end") response.end();
  if (end === "drop") setImmediate(() => response.destroy());
};
const half = chunk({
  tool_calls: [
    { index: 0, id: "c1", type: "function", function: { name: "edit_file", arguments: '{"path": "add' } },
  ],
});

const FAULTS: readonly Fault[] = [
  { name: "nothing wrong", outcome: "awaiting_approval" },
  {
    name: "a key that is refused",
    outcome: "failed model_failed",
    model: always(error(401, "invalid_api_key", "Incorrect API key provided")),
  },
  {
    name: "no credit",
    outcome: "failed model_failed",
    model: always(error(429, "insufficient_quota", "You exceeded your current quota")),
  },
  {
    name: "a malformed request",
    outcome: "failed model_failed",
    model: always(error(400, null, "messages: something is wrong here")),
  },
  {
    name: "nonsense, once",
    outcome: "awaiting_approval",
    model: once(sse("data: {{{\n\ndata: \u0000\n\n<html>", "end")),
  },
  {
    name: "nonsense without end",
    outcome: "failed model_failed",
    model: always(sse("data: {{{\n\n<html>", "end")),
    slow: true,
  },
  {
    name: "a stalled stream",
    outcome: "awaiting_approval",
    model: once(sse(chunk({ content: "Let me" }), "hang")),
  },
  { name: "a truncated stream", outcome: "awaiting_approval", model: once(sse(half, "end")) },
  { name: "a dropped connection", outcome: "awaiting_approval", model: once(sse(half, "drop")) },
  {
    name: "500 from the model, once",
    outcome: "awaiting_approval",
    model: once(error(500, null, "upstream died")),
  },
  {
    name: "500 from the model for ever",
    outcome: "failed model_failed",
    model: always(error(500, null, "upstream died")),
    slow: true,
  },
  {
    name: "an error inside the stream",
    outcome: "awaiting_approval",
    model: once(
      sse(
        'data: {"choices":[],"error":{"code":502,"message":"provider unavailable"}}\n\ndata: [DONE]\n\n',
        "end",
      ),
    ),
  },
  {
    name: "a refusal",
    outcome: "failed model_failed",
    model: always({ text: "I can't.", finish: "content_filter" }),
  },
  {
    name: "a context that never fits",
    outcome: "failed budget",
    model: always(error(400, "context_length_exceeded", "too many tokens")),
  },
  { name: "replies cut off", outcome: "failed budget", model: always({ ...MEND, finish: "length" }) },
  { name: "a tool that does not exist", outcome: "awaiting_approval", model: first(call("hack_planet", {})) },
  {
    name: "broken arguments",
    outcome: "awaiting_approval",
    model: first({ calls: [{ name: "edit_file", args: '{"path": ' }] }),
  },
  {
    name: "a hanging command",
    outcome: "awaiting_approval",
    model: first(call("run_command", { command: "trap '' TERM; sleep 600", timeout: 1 })),
  },
  {
    name: "a flood of output",
    outcome: "awaiting_approval",
    model: first(call("run_command", { command: "head -c 50000000 /dev/zero", timeout: 10 })),
  },
  {
    name: "circles",
    outcome: "failed no_progress",
    model: always(call("read_file", { path: "missing.js" })),
  },
  { name: "empty answers", outcome: "failed no_progress", model: always(say("")) },
  { name: "no change", outcome: "failed no_changes", model: always(DONE) },
  {
    name: "a fix that breaks the suite",
    outcome: "failed refuted",
    model: ({ turn }) =>
      turn === 0 ? call("edit_file", { path: "add.js", old: "a - b", new: "oops" }) : DONE,
  },
  {
    name: "a protected file",
    outcome: "failed protected_path",
    model: ({ turn }) =>
      turn === 0 ? call("edit_file", { path: ".github/workflows/ci.yml", old: "", new: "on: push\n" }) : DONE,
  },
  { name: "out of budget", outcome: "failed budget", repo: `${OWNER}/poor` },
  {
    name: "out of turns",
    outcome: "failed budget",
    repo: `${OWNER}/short`,
    model: ({ turn }) => call("run_command", { command: `echo ${turn}` }),
  },
  { name: "an empty repository", outcome: "failed empty_repository", repo: `${OWNER}/empty` },
  { name: "settings with mistakes", outcome: "failed bad_config", repo: `${OWNER}/mistaken` },
  { name: "a missing permission", outcome: "failed permission", repo: `${OWNER}/closed` },
  { name: "a set-up that fails", outcome: "awaiting_approval", repo: `${OWNER}/broken` },
  {
    name: "500 from GitHub at the plan",
    outcome: "awaiting_approval",
    meanwhile: atComments({ kind: "status", status: 500, body: { message: "Server Error" } }, 2),
  },
  {
    name: "a lost answer from GitHub",
    outcome: "awaiting_approval",
    meanwhile: atComments({ kind: "drop_after" }, 1),
  },
  {
    name: "a cancel",
    outcome: "cancelled",
    model: always(call("run_command", { command: "sleep 600" })),
    meanwhile: (world, issue) => {
      world.github.comment(REPO, issue, MAINTAINER, "/cancel");
    },
  },
];

function atComments(
  fault: Parameters<Outside["github"]["fault"]>[0]["fault"],
  times: number,
): NonNullable<Fault["meanwhile"]> {
  return (world, issue) => {
    const path = new RegExp(`^/repos/${REPO}/issues/${issue}/comments$`);
    world.github.fault({ method: "POST", path, times, fault });
  };
}

/** One of each fault; the rest of the batch is ordinary work. */
function tasks(): readonly Fault[] {
  const faults = sample(FULL ? FAULTS : FAULTS.filter(({ slow }) => slow !== true), TASKS);
  const ordinary = FAULTS[0] as Fault;
  return Array.from({ length: TASKS }, (_, at) => faults[at] ?? ordinary);
}

/** Takes turns with long runs and failure stories: each fills half a minute of the quick tier. */
const suite = inTurn(2, 12) ? describe : () => undefined;

suite(`a batch of ${TASKS} tasks with one of each fault (seed ${SEED})`, () => {
  let world: Outside;
  let model: ReturnType<typeof createServer>;
  const requests = new Map<string, number>();
  const dir = tempDir("batch-");

  before(async () => {
    model = createServer((request, response) => {
      answer(requests, request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
    const { path } = await dir;
    await writeTree(path, { "prices.json": '{"scripted": {"input": 1, "cached": 1, "output": 1}}' });
    world = await startOutside({
      script: () => say("not asked"),
      files: tinyFiles(),
      env: {
        CONCURRENCY: "4",
        MODEL_IDLE_SECONDS: "2",
        PRICES: join(path, "prices.json"),
        OPENAI_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`,
      },
    });
    const settings = (text: string) => ({
      ...tinyFiles(),
      ".github/agent-fix.yml": `test: sh test.sh\n${text}`,
    });
    await world.addRepository({ name: "empty" });
    await world.addRepository({ name: "poor", files: settings("budget:\n  usd: 0.0001\n") });
    await world.addRepository({ name: "short", files: settings("budget:\n  turns: 3\n") });
    await world.addRepository({ name: "mistaken", files: settings("budget: lots\n") });
    await world.addRepository({ name: "broken", files: tinyFiles({ setup: "exit 3" }) });
    await world.addRepository(
      { name: "closed", files: tinyFiles() },
      { metadata: "read", contents: "read", issues: "write" },
    );
  });
  after(async () => {
    try {
      await world.finish();
    } finally {
      await world.close();
      model.closeAllConnections();
      await new Promise((resolve) => model.close(resolve));
      await (await dir).remove();
    }
  });

  test("every task has one run with the outcome that its fault asks for, told on its issue and in its trace", async () => {
    const asked = tasks().map((fault, at) => {
      const repo = fault.repo ?? REPO;
      const issue = world.openIssue({ title: `task ${at}: ${fault.name}.` }, repo);
      world.github.label(repo, issue, MAINTAINER, LABEL);
      return { fault, repo, issue };
    });
    for (const { fault, issue, repo } of asked) {
      if (fault.meanwhile === undefined) continue;
      await world.untilComment(issue, "status", { repo });
      fault.meanwhile(world, issue);
    }
    const ended = new Set(["awaiting_approval", "failed", "cancelled"]);
    await world.until(
      "the end of all tasks",
      () => world.runs().length === TASKS && world.runs().every(({ state }) => ended.has(state)),
      BATCH_LIMIT_MS,
    );
    const outcomes = asked.map(({ fault, issue, repo }) => {
      const row = world.run(issue, repo);
      const failed = world.events(row?.runId ?? "").findLast((event) => event.type === "failed");
      const outcome = `${row?.state}${failed?.type === "failed" ? ` ${failed.code}` : ""}`;
      return [fault.name, outcome];
    });
    assert.deepEqual(
      outcomes,
      asked.map(({ fault }) => [fault.name, fault.outcome]),
    );
    assert.equal(new Set(world.runs().map(({ runId }) => runId)).size, TASKS);
    for (const { fault, issue, repo } of asked) {
      if (fault.outcome === "awaiting_approval") await world.untilComment(issue, "plan", { repo });
      else if (fault.outcome === "cancelled")
        await world.untilComment(issue, "status", { repo, text: /cancelled/ });
      else await world.untilComment(issue, "answer", { repo });
      assert.equal(world.comments(issue, "status", repo).length, 1, fault.name);
      const trace = await readTrace(join(world.dataDir, "traces", `${world.run(issue, repo)?.runId}.jsonl`));
      assert.ok(trace.ok, fault.name);
      assert.deepEqual(trace.value.skipped, []);
    }
  });
});

async function answer(
  requests: Map<string, number>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const { messages } = JSON.parse(Buffer.concat(parts).toString("utf8")) as {
    messages: readonly WireMessage[];
  };
  const title = /task \d+: [^.]*\./.exec(taskOf(messages))?.[0] ?? "";
  const asked = requests.get(title) ?? 0;
  requests.set(title, asked + 1);
  const fault = FAULTS.find(({ name }) => title.endsWith(`: ${name}.`));
  const turn = messages.filter((message) => message.role === "assistant").length;
  const reply = (fault?.model ?? mending)({ turn, asked });
  if (typeof reply === "function") return reply(response);
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: reply.error }));
    return;
  }
  const calls = (reply.calls ?? []).map(({ name, args }, at) => ({
    id: `call${turn}x${at}y${asked}`,
    type: "function" as const,
    function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
  }));
  const served = {
    ...{ id: "x", model: "scripted", text: reply.text ?? "", calls },
    finish: reply.finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
    usage: { prompt_tokens: 2_000, completion_tokens: 100, total_tokens: 2_100 },
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const one of chunksOf(served, true)) response.write(`data: ${JSON.stringify(one)}\n\n`);
  response.end("data: [DONE]\n\n");
}

function chunk(delta: object): string {
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "scripted", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
}
