/** What every adapter of the Model port must do; each adapter's test file says how to make it play given turns. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message, Model, ModelEvent } from "#src/model/model.ts";
import type { ScriptedTurn } from "#src/model/scripted.ts";
import { ask, askFailure, askReply, modelRequest, textIn } from "#test/support/ask-model.ts";

export interface PlayingModel {
  readonly model: Model;
  close(): Promise<void>;
}

export interface Subject {
  readonly name: string;
  /** A model that answers the first request with the first turn, and so on; failures are not tried again. */
  play(turns: readonly ScriptedTurn[]): Promise<PlayingModel>;
  /** Cases that mean nothing for this adapter, with the reason; they are left out, not skipped. */
  readonly exempt?: Readonly<Partial<Record<CaseName, string>>>;
}

type CaseName = keyof typeof CASES;

const TRANSCRIPT: readonly Message[] = [
  { role: "system", content: "s" },
  { role: "user", content: "u" },
  {
    role: "assistant",
    content: "",
    calls: [{ id: "taken0001", name: "read_file", arguments: '{"path":"a"}' }],
  },
  { role: "tool", callId: "taken0001", name: "read_file", content: "1: x" },
];

const CASES = {
  "text is streamed, and the final event holds all of it": async (subject: Subject) => {
    await playing(subject, [{ text: "The bug is in the 那 parser 🌍." }], async (model) => {
      const events = await ask(model);
      const reply = await replyOf(events);
      assert.equal(reply.content, "The bug is in the 那 parser 🌍.");
      assert.equal(textIn(events), reply.content);
      assert.deepEqual([reply.calls, reply.finish], [[], "complete"]);
    });
  },
  "calls come in the order asked, whole, with ids of their own": async (subject: Subject) => {
    const calls = ["a", "b", "c"].map((path) => ({ name: "read_file", args: { path, text: 'x"\n\\' } }));
    await playing(subject, [{ text: "Let me look.", calls }], async (model) => {
      const reply = await askReply(model);
      assert.deepEqual(
        reply.calls.map((call) => [call.name, JSON.parse(call.arguments)]),
        calls.map((call) => [call.name, call.args]),
      );
      assert.equal(new Set(reply.calls.map((call) => call.id)).size, 3);
      assert.ok(reply.calls.every((call) => call.id !== "" && call.malformed === undefined));
    });
  },
  "arguments that are no JSON object are marked and can be sent back": async (subject: Subject) => {
    await playing(subject, [{ calls: [{ name: "read_file", args: '{"path":' }] }], async (model) => {
      const call = (await askReply(model)).calls[0];
      assert.deepEqual([call?.malformed, call?.arguments], ['{"path":', "{}"]);
    });
  },
  "ids of the transcript are not used again": async (subject: Subject) => {
    const turn = { calls: [{ id: "taken0001", name: "read_file", args: {} }] };
    await playing(subject, [turn], async (model) => {
      assert.notEqual((await askReply(model, { messages: TRANSCRIPT })).calls[0]?.id, "taken0001");
    });
  },
  "a cut-off and a refused reply are told apart from a complete one": async (subject: Subject) => {
    const turns = [
      { text: "a", finish: "truncated" },
      { text: "b", finish: "refused" },
      { text: "c" },
    ] as const;
    await playing(subject, turns, async (model) => {
      for (const finish of ["truncated", "refused", "complete"])
        assert.equal((await askReply(model)).finish, finish);
    });
  },
  "a failure is an event with its code": async (subject: Subject) => {
    const failure = {
      code: "context_overflow",
      message: "maximum context length is 9 tokens",
      status: 400,
    } as const;
    await playing(subject, [{ failure }], async (model) => {
      const got = await askFailure(model);
      assert.equal(got.code, "context_overflow");
      assert.match(got.message, /maximum context length/);
    });
  },
  "a signal that is aborted before the start gives cancelled": async (subject: Subject) => {
    await playing(subject, [{ text: "never" }], async (model) => {
      const events = await ask(model, { signal: AbortSignal.abort(new Error("by octocat")) });
      assert.deepEqual(
        events.map((event) =>
          event.type === "failed" ? [event.failure.code, event.failure.message] : event.type,
        ),
        [["cancelled", "Cancelled: by octocat"]],
      );
    });
  },
  "a cancel in the middle gives cancelled, at once and once": async (subject: Subject) => {
    await playing(subject, [{ text: "one two three", hang: true }], async (model) => {
      const controller = new AbortController();
      const finals: ModelEvent[] = [];
      for await (const event of model.stream(modelRequest({ signal: controller.signal }))) {
        if (event.type === "text") controller.abort(new Error("by octocat"));
        else finals.push(event);
      }
      assert.deepEqual(
        finals.map((event) => event.type === "failed" && event.failure.code),
        ["cancelled"],
      );
    });
  },
  "a consumer may stop reading": async (subject: Subject) => {
    await playing(subject, [{ text: "one two three", hang: true }, { text: "next" }], async (model) => {
      for await (const event of model.stream(modelRequest())) if (event.type === "text") break;
      assert.equal((await askReply(model)).content, "next");
    });
  },
  "usage that is not reported is unknown, not zero": async (subject: Subject) => {
    await playing(subject, [{ text: "x" }], async (model) => {
      const { usage } = await askReply(model);
      for (const count of Object.values(usage)) assert.ok(count === null || count > 0);
    });
  },
};

export function modelConformance(subject: Subject): void {
  for (const [name, run] of Object.entries(CASES)) {
    if (subject.exempt?.[name as CaseName] === undefined)
      test(`${subject.name}: ${name}`, () => run(subject));
  }
}

async function playing(
  subject: Subject,
  turns: readonly ScriptedTurn[],
  check: (model: Model) => Promise<void>,
): Promise<void> {
  const { model, close } = await subject.play(turns);
  try {
    await check(model);
  } finally {
    await close();
  }
}

async function replyOf(events: readonly ModelEvent[]) {
  const last = events.at(-1);
  assert.ok(last?.type === "done", JSON.stringify(last));
  return last.reply;
}
