/** Every way a run can end, each reached by a scripted model, with the work kept; and the notice before the caps. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { AgentEnd, StopStatus } from "#src/harness/agent.ts";
import { checkTranscript } from "#src/harness/transcript.ts";
import type { ModelEvent } from "#src/model/model.ts";
import { call, failure, reply, type Step } from "#test/support/canned-model.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { type Played, type PlaySetup, playAgent } from "./fixture.ts";

let n = 0;
/** A turn that makes progress: its call is never the same. */
const working: Step = async function* () {
  const usage = { inputTokens: 9_000, cachedTokens: 0, outputTokens: 1_000 };
  yield { type: "done", reply: { ...reply("", call("write", { value: `file ${++n}` })), usage } };
};
const PRICE = { inputUsd: 10, cachedUsd: 1, outputUsd: 100 };

interface Case {
  readonly steps: readonly Step[];
  readonly setup?: PlaySetup;
  /** Aborts the run after so many calls. */
  readonly cancelAfter?: number;
  /** Minutes that pass with each call. */
  readonly minutes?: number;
  readonly message: RegExp;
}

/** One entry for each status: the compiler refuses the table while one is missing. */
const CASES: Record<StopStatus, Case> = {
  done: { steps: [working, reply("the answer")], message: /final answer/ },
  turn_cap: { steps: [working], setup: { limits: { turns: 3 } }, message: /3 of 3 turns/ },
  token_cap: { steps: [working], setup: { limits: { totalTokens: 45_000 } }, message: /of 45000 tokens/ },
  cost_cap: { steps: [working], setup: { limits: { costUsd: 1 }, price: PRICE }, message: /of \$1\.00/ },
  wall_clock: { steps: [working], minutes: 11, message: /30\.0 minutes|time limit/ },
  no_progress: { steps: [working, reply("", call("read", { value: "same" }))], message: /same calls/ },
  context_full: {
    steps: [working, failure("context_overflow", "too long")],
    message: /window is full: too long/,
  },
  truncated: { steps: [working, { ...reply("half"), finish: "truncated" }], message: /3 replies in a row/ },
  refused: { steps: [working, { ...reply("no"), finish: "refused" }], message: /refused/ },
  cancelled: { steps: [working], cancelAfter: 1, message: /cancelled by octocat/ },
  model_failed: {
    steps: [working, failure("server_error", "500 after 6 tries")],
    message: /500 after 6 tries/,
  },
  internal: {
    steps: [working],
    setup: {
      checkpoint: async () => {
        throw new Error("the disk is full");
      },
    },
    message: /disk is full/,
  },
};

async function playCase({ steps, setup = {}, cancelAfter, minutes = 0 }: Case): Promise<Played> {
  const clock = createManualClock();
  const controller = new AbortController();
  let calls = 0;
  const passing: Step[] = steps.map((step) =>
    minutes === 0 || typeof step !== "function"
      ? step
      : async function* (request): AsyncIterable<ModelEvent> {
          await clock.advance(minutes * 60_000);
          yield* step(request);
        },
  );
  return playAgent(passing, {
    clock,
    signal: controller.signal,
    ...setup,
    observe: (event) => {
      if (event.type === "call" && ++calls === cancelAfter) controller.abort("cancelled by octocat");
    },
  });
}

/** What a run leaves whatever ends it: a valid transcript with the work in it, and what it cost. */
function assertKept(end: AgentEnd): void {
  assert.deepEqual(checkTranscript(end.messages), []);
  assert.ok(end.messages.some(({ role }) => role === "tool"));
  assert.ok(end.spent.turns >= 1 && end.spent.inputTokens >= 9_000);
}

suite("every status is reached", () => {
  for (const [status, how] of Object.entries(CASES))
    test(status, async () => {
      const { end } = await playCase(how);
      assert.equal(end.status, status, end.message);
      assert.match(end.message, how.message);
      assertKept(end);
      if (status !== "done") assert.equal(end.finalText, "");
    });
});

test("the page on the trace explains every status, and no other", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/trace.md"), "utf8");
  const table = /## How the agent stops\n[\s\S]*?(?=\n## )/.exec(page)?.[0] ?? "";
  const explained = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, status]) => status);
  assert.deepEqual(explained.toSorted(), Object.keys(CASES).sort());
});

suite("80 % of a cap", () => {
  const caps: readonly (readonly [string, Case])[] = [
    ["turns", { steps: [working], setup: { limits: { turns: 10 } }, message: /8 of 10 turns/ }],
    [
      "tokens",
      { steps: [working], setup: { limits: { totalTokens: 100_000 } }, message: /of 100000 tokens/ },
    ],
    ["money", { steps: [working], setup: { limits: { costUsd: 2 }, price: PRICE }, message: /of \$2\.00/ }],
    ["time", { steps: [working], minutes: 6, message: /24\.0 of 30\.0 minutes/ }],
  ];
  for (const [what, how] of caps)
    test(`of ${what} is told once, while there is a turn left to act on it`, async () => {
      const events: { type: string; kind?: string; text?: string }[] = [];
      const clock = createManualClock();
      const step: Step = async function* (request) {
        await clock.advance((how.minutes ?? 0) * 60_000);
        if (typeof working === "function") yield* working(request);
      };
      const { end, model } = await playAgent([step], {
        clock,
        ...how.setup,
        observe: (event) => void events.push(event),
      });
      const told = events.filter((event) => event.type === "notice");
      assert.equal(told.length, 1);
      assert.equal(told[0]?.kind, "wrap_up");
      assert.match(told[0]?.text ?? "", how.message);
      const heard = model.requests.filter(({ messages }) =>
        messages.some(({ content }) => content.startsWith("[harness] Time to wrap up")),
      );
      assert.ok(heard.length >= 1, "a request followed the notice");
      assert.notEqual(end.status, "done");
    });
});

test("a finished answer is done, whichever caps that very reply crosses", async () => {
  const usage = { inputTokens: 90_000, cachedTokens: 0, outputTokens: 50_000 };
  const { end } = await playAgent([{ ...reply("the answer"), usage }], {
    limits: { turns: 1, totalTokens: 10_000, costUsd: 0.2 },
    price: PRICE,
  });
  assert.equal(end.status, "done");
  assert.equal(end.finalText, "the answer");
});

test("no cap on cost is crossed by what a request may cost: it is not sent", async () => {
  for (const costUsd of [0.5, 1, 3]) {
    const { end } = await playAgent([working], { limits: { costUsd }, price: PRICE });
    assert.equal(end.status, "cost_cap");
    assert.ok((end.spent.costUsd ?? 99) <= costUsd);
  }
});
