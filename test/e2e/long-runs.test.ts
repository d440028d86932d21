/** Runs that ask a sub-agent, or outgrow a small window: they end in a proven plan, the trace shows how, and every token is paid once. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { WireMessage } from "#src/demo/model-protocol.ts";
import type { ModelScript } from "#src/demo/model-server.ts";
import { scriptOf } from "#src/demo/scripts.ts";
import { flagField, numberField, objectField, textField } from "#src/trace/fields.ts";
import { readTrace } from "#src/trace/read.ts";
import type { TraceEvent } from "#src/trace/trace.ts";
import { agentFix } from "#test/cli/command.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { byIssue, byTurns, call, say, taskOf } from "#test/support/model-turns.ts";
import {
  DEMO_REPOSITORY,
  LABEL,
  MAINTAINER,
  type Outside,
  OWNER,
  startOutside,
} from "#test/support/outside.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { inTurn, sample } from "#test/support/tier.ts";

const REPO = `${OWNER}/pages`;
const WINDOW = 16_000;
const PAGES = 28;
/** While pages are short, clearing old results is enough; those that follow are long. */
const SHORT_PAGES = 20;
/** US dollars a token, input and output. */
const USD = { input: 3 / 1e6, output: 15 / 1e6 };
const QUESTION = "sub-question: which function prints prices?";

/** Reads page after page; where it stands is read from the newest call, since older ones may be gone. */
const reader: ModelScript = (messages, tools) => {
  if (messages.at(-1)?.content?.includes("Write a hand-over note"))
    return say("Pages are read in order; nothing found yet; formatPrice is in src/price.js.");
  const pages = messages.flatMap((message) =>
    (message.tool_calls ?? []).flatMap(
      ({ function: { arguments: text } }) => /page-(\d+)/.exec(text)?.[1] ?? [],
    ),
  );
  const last = Number(pages.at(-1) ?? 0);
  if (last < PAGES) return call("read_file", { path: `pages/page-${last + 1}.txt` });
  const lastPage = messages.findLastIndex((message) =>
    (message.tool_calls ?? []).some((one) => one.function.arguments.includes("page-")),
  );
  return scriptOf("good")(withoutPages(messages, lastPage), tools);
};

/** The transcript as the model of the demo would have it. */
function withoutPages(messages: readonly WireMessage[], lastPage: number): readonly WireMessage[] {
  return [...messages.slice(0, 2), ...messages.slice(lastPage + 2)];
}

/** Has a sub-agent look first. */
const delegating: ModelScript = (messages, tools) => {
  const asked = messages.findIndex((message) => message.role === "assistant");
  if (asked < 0) return call("delegate", { task: QUESTION });
  return scriptOf("good")([...messages.slice(0, asked), ...messages.slice(asked + 2)], tools);
};

/** Long runs, batches and failure stories take turns in the quick tier: each fills half a minute. */
const suite = inTurn(6, 12) ? describe : () => undefined;

suite("long runs", { concurrency: true }, () => {
  let world: Outside;
  const dir = tempDir("long-");

  before(async () => {
    const { path } = await dir;
    const price = { input: USD.input * 1e6, cached: USD.input * 1e6, output: USD.output * 1e6 };
    await writeTree(path, { "prices.json": JSON.stringify({ scripted: price }) });
    world = await startOutside({
      script: byIssue(
        {
          [QUESTION]: byTurns(
            call("search", { pattern: "formatPrice" }),
            call("edit_file", { path: "src/price.js", old: "a", new: "b" }),
            say("formatPrice in src/price.js, line 2."),
          ),
          "Delegate it": delegating,
          "Read it all": reader,
        },
        byTurns(say("not asked")),
      ),
      env: { MODEL_CONTEXT_TOKENS: String(WINDOW), PRICES: join(path, "prices.json") },
    });
    await world.addRepository({
      name: "pages",
      fromDirectory: DEMO_REPOSITORY,
      files: Object.fromEntries(
        Array.from({ length: PAGES }, (_, at) => [
          `pages/page-${at + 1}.txt`,
          Array.from(
            { length: at < SHORT_PAGES ? 15 : 90 },
            (_, line) => `page ${at + 1}, line ${line}: nothing about prices here\n`,
          ).join(""),
        ]),
      ),
    });
  });
  after(async () => {
    try {
      await world.finish();
    } finally {
      await world.close();
      await (await dir).remove();
    }
  });

  const stories: (readonly [string, () => Promise<void>])[] = [];
  const story = (name: string, work: () => Promise<void>) => stories.push([name, work]);

  story(
    "a run that delegates: the sub-agent only reads, its trace nests under the call, its cost is counted once",
    async () => {
      const { trace, told, plan } = await proven(world, "Delegate it");
      const nested = trace.filter((event) => event.parent !== undefined);
      const asked = trace.find(
        (event) => event.type === "tool_call" && textField(event.data, "name") === "delegate",
      );
      assert.ok(asked !== undefined);
      assert.deepEqual([...new Set(nested.map((event) => event.parent))], [textField(asked.data, "id")]);
      assert.equal(nested.filter((event) => event.type === "model_reply").length, 3);
      const refused = nested.find(
        (event) => event.type === "tool_result" && textField(event.data, "name") === "edit_file",
      );
      assert.equal(textField(refused?.data ?? {}, "status"), "error", "it has no tool that writes");
      const answer = trace.find(
        (event) => event.type === "tool_result" && textField(event.data, "name") === "delegate",
      );
      assert.equal(textField(answer?.data ?? {}, "text"), "formatPrice in src/price.js, line 2.");
      assert.match(told, /delegate/);
      assert.match(told, /sub-question/);
      assert.match(plan, /`delegate` 1/);
    },
  );

  story(
    "a run that outgrows its window: results are cleared, turns give way to a note, no request is too large",
    async () => {
      const { trace, told } = await proven(world, "Read it all");
      const changes = trace.filter((event) => event.type === "context").map((event) => event.data);
      const actions = new Set(changes.map((data) => textField(data, "action")));
      assert.deepEqual([...actions].sort(), ["compacted", "stubbed"]);
      for (const data of changes)
        assert.ok((numberField(data, "tokensAfter") ?? 0) < (numberField(data, "tokensBefore") ?? 0));
      const noted = changes.filter((data) => textField(data, "noteBy") === "model");
      assert.ok(noted.length > 0);
      for (const data of noted) assert.match(textField(data, "note"), /formatPrice is in src\/price\.js/);
      const sizes = trace
        .filter((event) => event.type === "model_request")
        .map((event) => numberField(event.data, "estimatedInputTokens") ?? Number.NaN);
      assert.ok(Math.max(...sizes) <= (WINDOW * 3) / 4, `${Math.max(...sizes)} tokens`);
      assert.deepEqual(
        trace.filter((event) => event.type === "model_failed"),
        [],
      );
      assert.match(told, /compacted|hand-over|cleared/i);
    },
  );

  // Each costs many turns on a repository with a suite of its own.
  for (const [name, work] of sample(stories, 1)) test(name, work);
});

interface Proven {
  readonly trace: readonly TraceEvent[];
  /** What `agent-fix trace` prints. */
  readonly told: string;
  readonly plan: string;
}

/** From the label to a proven plan, whose cost is that of all requests that were made for it, each once. */
async function proven(world: Outside, title: string): Promise<Proven> {
  const issue = world.openIssue({ title }, REPO);
  world.github.label(REPO, issue, MAINTAINER, LABEL);
  const { body: plan } = await world.untilComment(issue, "plan", { repo: REPO });
  const { runId } = await world.untilState(issue, "awaiting_approval", REPO);
  assert.match(plan, /Plan: proven/);
  const read = await readTrace(join(world.dataDir, "traces", `${runId}.jsonl`));
  assert.ok(read.ok);
  const trace = read.value.events;
  const replies = trace.filter((event) => event.type === "model_reply");
  const keys = title === "Delegate it" ? [title, QUESTION] : [title];
  assert.equal(replies.length, requestsFor(world, keys), "each request has one reply in the trace");
  const usages = replies.map(({ data }) => objectField(data, "usage"));
  const [input, output] = ["inputTokens", "outputTokens"].map((name) =>
    usages.reduce((sum, usage) => sum + (numberField(usage, name) ?? Number.NaN), 0),
  ) as [number, number];
  const costUsd = input * USD.input + output * USD.output;
  assert.ok(replies.every(({ data }) => !flagField(data, "estimated")));
  assert.match(plan, new RegExp(`${input} tokens in, ${output} out`), "the plan counts every token once");
  assert.ok(
    plan.includes(`$${costUsd.toFixed(4)}`) || plan.includes(`$${costUsd.toFixed(2)}`),
    `${costUsd}\n${plan}`,
  );
  const { code, stdout, stderr } = await agentFix(["trace", runId], { env: { DATA_DIR: world.dataDir } });
  assert.equal(code, 0, stderr);
  return { trace, told: stdout, plan };
}

function requestsFor(world: Outside, keys: readonly string[]): number {
  return world.model.requests().filter(({ body }) => {
    const task = taskOf((body as { readonly messages: readonly WireMessage[] }).messages);
    return keys.some((key) => task.includes(key));
  }).length;
}
