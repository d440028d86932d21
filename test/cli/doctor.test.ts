/** `agent-fix doctor`: one line for each check, what to do about what does not hold, and the exit code that says it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { startModelServer } from "#src/demo/model-server.ts";
import { scriptOf } from "#src/demo/scripts.ts";
import { setStage } from "#src/demo/stage.ts";
import { testPart } from "#test/support/tier.ts";
import { startWireServer } from "#test/support/wire-server.ts";
import { agentFix } from "./command.ts";

const KEY = "the-doctor-s-key";

interface Line {
  readonly mark: string;
  readonly name: string;
  readonly detail: string;
}

async function examined(change: Readonly<Record<string, string>>): Promise<{
  readonly code: number | null;
  readonly lines: readonly Line[];
  readonly output: string;
}> {
  const stage = await setStage({
    clock: systemClock,
    ids: systemIds,
    scenario: "good",
    keep: false,
    port: 0,
  });
  const model = await startModelServer({ script: scriptOf("good"), key: KEY });
  try {
    const env = {
      ...stage.env,
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: model.url,
      OPENAI_MODEL: "scripted",
      ...change,
    };
    const ended = await agentFix(["doctor"], { env });
    const lines = ended.stdout.split("\n").flatMap((line): Line[] => {
      const match = /^([✔✗]) ([^:]+): (.*)$/.exec(line);
      return match === null ? [] : [{ mark: match[1] ?? "", name: match[2] ?? "", detail: match[3] ?? "" }];
    });
    return { code: ended.code, lines, output: ended.stdout + ended.stderr };
  } finally {
    await model.close();
    await stage.close();
  }
}

function named(lines: readonly Line[], name: string): Line {
  const found = lines.find((line) => line.name === name || line.name.startsWith(name));
  assert.ok(found !== undefined, `no line ${name}`);
  return found;
}

testPart(0.9)(
  "on a machine where everything holds each check has its line, and the exit code is 0",
  async () => {
    const { code, lines, output } = await examined({});
    assert.equal(code, 0, output);
    for (const name of ["Node", "git", "ripgrep", "sandbox, ", "GitHub app", "model scripted"])
      assert.equal(named(lines, name).mark, "✔", output);
    assert.match(named(lines, "GitHub app").detail, /^agent-fix, owned by acme$/);
    assert.ok(lines.filter(({ name }) => name.startsWith("sandbox, ")).length > 3);
    assert.match(output, /Everything holds\.\n$/);
    assert.ok(!output.includes(KEY));
  },
);

test("what does not hold is marked, says what to do, and the exit code is 1", async () => {
  const { code, lines, output } = await examined({
    PATH: "/nowhere",
    APP_ID: "999",
    OPENAI_API_KEY: "wrong",
    SANDBOX: "none",
  });
  assert.equal(code, 1, output);
  assert.match(named(lines, "git").detail, /not found: install git/);
  assert.match(named(lines, "GitHub app").detail, /check APP_ID, the private key, GHE_HOST and the network/);
  assert.match(named(lines, "model scripted").detail, /refuses the key \(401\): check OPENAI_API_KEY/);
  for (const name of ["git", "GitHub app", "model scripted"]) assert.equal(named(lines, name).mark, "✗");
  assert.equal(named(lines, "Node").mark, "✔");
  assert.match(output, /\d+ of \d+ do not hold\.\n$/);
  assert.ok(!output.includes("BEGIN RSA PRIVATE KEY") && !output.includes("    at "));
});

test("broken settings are listed one by one, and the rest is examined all the same", async () => {
  const { code, lines, output } = await examined({ PORT: "no", WEBHOOK_SECRET: "", SANDBOX: "none" });
  assert.equal(code, 1);
  for (const name of ["PORT", "WEBHOOK_SECRET"]) assert.equal(named(lines, name).mark, "✗", output);
  assert.ok(named(lines, "sandbox").detail.length > 0);
});

test("each vendor is asked with its own header for the key", async () => {
  await using server = await startWireServer(({ answer, headers }) => {
    const known = headers["x-api-key"] === KEY && headers["anthropic-version"] !== undefined;
    answer(known && headers.authorization === undefined ? 200 : 401, {});
  });
  const base = server.url.replace(/\/v1$/, "");
  // Without a sandbox, whose checks another test reads.
  const env = { MODEL_API: "anthropic", ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: base, SANDBOX: "none" };
  const { lines, output } = await examined(env);
  assert.equal(named(lines, "model scripted").mark, "✔", output);
});
