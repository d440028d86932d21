/** What is stored of a run is enough to go on from it, costs the same late as early, and is refused when it cannot be read. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { NOTHING_SPENT } from "#src/harness/agent.ts";
import type { Entry, Stored } from "#src/harness/resume.ts";
import { entryFor, NOTHING_STORED, parseEntry, resume, withEntry } from "#src/harness/resume.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { Message } from "#src/model/model.ts";
import { call, reply } from "#test/support/canned-model.ts";
import { type Played, playAgent } from "./fixture.ts";

/** Stores every checkpoint as text and puts the texts together again, as a new process does. */
function reloaded(played: Played, upTo = played.checkpoints.length): { stored: Stored; texts: string[] } {
  const texts: string[] = [];
  let last = NOTHING_STORED;
  for (const state of played.checkpoints.slice(0, upTo)) {
    const next = { ...state, round: 0 };
    texts.push(JSON.stringify(entryFor(last, next)));
    last = next;
  }
  const stored = texts.reduce((sum, text) => {
    const entry = parseEntry(text);
    assert.ok(entry.ok);
    return withEntry(sum, entry.value);
  }, NOTHING_STORED);
  return { stored, texts };
}

const turn = (name: string, value: string) => reply("", call(name, { value }));

suite("checkpoints", () => {
  test("put together they are the state, written paths and money included", async () => {
    const played = await playAgent([
      turn("read", "a"),
      turn("write", "src/b.ts"),
      turn("fail", "c"),
      reply("done"),
    ]);
    const { stored } = reloaded(played);
    assert.deepEqual(stored.messages, played.end.messages);
    assert.deepEqual(stored.spent, played.end.spent);
    assert.deepEqual(stored.dirty, ["src/b.ts"]);
    const resumed = resume(stored);
    assert.ok(resumed.ok);
    assert.deepEqual(resumed.value.prior, played.end.messages);
  });

  test("one entry holds one turn, however late in the run", async () => {
    let n = 0;
    const step = async function* () {
      yield {
        type: "done" as const,
        reply: ++n > 40 ? reply("done") : turn("read", `${n}`.padEnd(500, "x")),
      };
    };
    const { texts } = reloaded(await playAgent([step]));
    const sizes = texts.map(({ length }) => length);
    assert.ok(Math.max(...sizes.slice(1, -1)) < 1.1 * Math.min(...sizes.slice(1, -1)), sizes.join());
  });

  test("an entry of a later release, torn text and a wrong shape are refused with the reason", () => {
    const entry: Entry = entryFor(NOTHING_STORED, NOTHING_STORED);
    assert.equal(parseEntry(JSON.stringify(entry)).ok, true);
    const cases: readonly (readonly [string, RegExp])[] = [
      [JSON.stringify({ ...entry, v: 2 }), /version 2, this release reads 1/],
      ['{"v":1,"add":[', /no JSON/],
      ["null", /version undefined/],
      [JSON.stringify({ ...entry, spent: { ...entry.spent, turns: "3" } }), /malformed.*turns/s],
      [JSON.stringify({ ...entry, add: [{ role: "tool", content: "x" }] }), /malformed/],
    ];
    for (const [text, reason] of cases) {
      const read = parseEntry(text);
      assert.ok(!read.ok && reason.test(read.error), text);
    }
  });
});

suite("going on", () => {
  const OPEN: readonly Message[] = [
    { role: "system", content: "s" },
    { role: "user", content: "u" },
    {
      role: "assistant",
      content: "",
      calls: [call("read", { value: "a" }, "open00001"), call("write", { value: "b" }, "open00002")],
    },
    { role: "tool", callId: "open00001", name: "read", content: "read a" },
  ];

  test("I02, I05: calls that a crash left open are answered as such, and finished results are kept", () => {
    const resumed = resume({ ...NOTHING_STORED, messages: OPEN });
    assert.ok(resumed.ok);
    assert.deepEqual(checkTranscript(resumed.value.prior), []);
    assert.deepEqual(resumed.value.prior.slice(0, 4), OPEN);
    assert.match(
      resumed.value.prior[4]?.content ?? "",
      /interrupted by a restart.*may or may not have had effects/,
    );
  });

  test("a stored transcript that breaks a rule is not sent", () => {
    const resumed = resume({ ...NOTHING_STORED, messages: [...OPEN.slice(0, 2), ...OPEN.slice(3)] });
    assert.ok(!resumed.ok && /not valid/.test(resumed.error));
  });

  test("a run cut off after any turn goes on to the same end, with nothing told or paid twice", async () => {
    const script = [
      turn("read", "a"),
      turn("write", "b"),
      turn("read", "c"),
      turn("write", "d"),
      reply("done"),
    ];
    const whole = await playAgent(script, { limits: { turns: 5 } });
    assert.equal(whole.end.status, "done");
    for (let cut = 1; cut < script.length; cut++) {
      const resumed = resume(reloaded(whole, cut).stored);
      assert.ok(resumed.ok);
      const rest = await playAgent(script.slice(cut), {
        task: "",
        prior: resumed.value.prior,
        spent: resumed.value.spent,
        limits: { turns: 5 },
      });
      assert.deepEqual(rest.end.messages, whole.end.messages, `cut after turn ${cut}`);
      assert.equal(rest.end.spent.turns, 5);
      assert.equal(rest.end.spent.inputTokens, whole.end.spent.inputTokens);
    }
  });
});

suite("circles are noticed across rounds and restarts", () => {
  const same = () => turn("read", "same");
  const wrong = (n: number) => turn("fail", `try ${n}`);
  const cases: readonly (readonly [
    string,
    readonly ReturnType<typeof turn>[],
    readonly ReturnType<typeof turn>[],
  ])[] = [
    ["the same calls with the same results", [same(), same()], [same()]],
    ["two alternating steps", [turn("read", "a"), turn("read", "b"), turn("read", "a")], [turn("read", "b")]],
    ["the same error from different arguments", [wrong(1), wrong(2)], [wrong(3)]],
  ];
  for (const [what, before, after] of cases)
    test(what, async () => {
      const first = await playAgent([...before, reply("first answer")]);
      const reread = JSON.parse(JSON.stringify(first.end.messages)) as readonly Message[];
      const second = await playAgent([...after, reply("second answer")], { prior: reread, task: "Not yet." });
      const told = second.events.flatMap((event) => (event.type === "notice" ? [event.kind] : []));
      assert.deepEqual(told, ["no_progress"]);
    });

  test("a model that was told in an earlier round is stopped in a later one, not told again", async () => {
    const first = await playAgent([same(), same(), same(), turn("write", "x"), reply("answer")]);
    assert.equal(first.end.status, "done");
    const second = await playAgent([same()], {
      prior: first.end.messages,
      spent: NOTHING_SPENT,
      task: "Not yet.",
    });
    assert.equal(second.end.status, "no_progress");
    assert.equal(second.end.spent.turns, 3);
    assert.equal(second.events.filter((event) => event.type === "notice").length, 0);
  });

  test("results that were cleared are not taken for equal ones", async () => {
    const asked = (value: string, id: string, content: string): Message[] => [
      { role: "assistant", content: "", calls: [call("read", { value }, id)] },
      { role: "tool", callId: id, name: "read", content },
    ];
    // What the first and the third turn really answered is not known any more.
    const prior: Message[] = [
      { role: "system", content: "s" },
      { role: "user", content: "u" },
      ...asked("a", "read00001", "[cleared: read, 90 lines]"),
      ...asked("b", "read00002", "read b"),
      ...asked("a", "read00003", "[cleared: read, 90 lines]"),
    ];
    const { events } = await playAgent([turn("read", "b"), reply("answer")], { prior });
    assert.equal(events.filter((event) => event.type === "notice").length, 0);
  });
});
