/** What a verification runs in which order, and what it makes of tests that answer differently by company, by order or by time, and of checks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { feedbackFor } from "#src/fix/feedback.ts";
import { evidenceTable } from "#src/gate/evidence.ts";
import { type OneRun, play } from "./scripted-suite.ts";
import { A, B, FIX, NEW, WITH_NEW } from "./sides.ts";

const RED = "fail: AssertionError: 1 !== 2";
const LARGE_MS = 25_000;
const NEW_TEXTS = {
  ...WITH_NEW,
  "test/new.test.js": [null, 'test("shows the bug", () => { assert.equal(f(), 2); });\n'],
} as const;

/** A suite of two that pass and, where the patch's tests are there, its new one, which `how` answers for. */
const withNew =
  (how: (run: OneRun) => string) =>
  (run: OneRun): Readonly<Record<string, string>> => {
    if (run.label === "baseline") return { [A]: "pass", [B]: "pass" };
    const onBase = run.label.endsWith("base sources");
    const mine = { [NEW]: onBase ? RED : how(run) };
    return run.files === null ? { [A]: "pass", [B]: "pass", ...mine } : mine;
  };

const AFFECTED = "affected tests on the patched tree: test/new.test.js";

test("a large suite: the patch's tests that fail twice are answer enough, and the whole suite is not run", async () => {
  const { verdict, started } = await play({
    texts: NEW_TEXTS,
    baselineMs: LARGE_MS,
    runs: withNew(() => RED),
  });
  assert.deepEqual(started, [AFFECTED, AFFECTED]);
  assert.equal(verdict.class, "refuted");
  assert.deepEqual(verdict.evidence.newlyFailing, [NEW]);
  assert.match(verdict.class === "refuted" ? verdict.because[0] : "", /before the whole suite was run/);
});

test("a large suite: without a failure among the patch's tests the whole suite runs before there is a verdict", async () => {
  const { verdict, started } = await play({
    texts: NEW_TEXTS,
    baselineMs: LARGE_MS,
    runs: withNew(() => "pass"),
  });
  assert.deepEqual(started.slice(0, 2), [AFFECTED, "patched"]);
  assert.equal(verdict.class, "proven", JSON.stringify(verdict, null, 1));
});

test("a large suite: one failure that does not repeat is no answer, and what the whole suite breaks is seen", async () => {
  const flickers = withNew(({ label, before }) =>
    label.startsWith("affected") && before === 0 ? RED : "pass",
  );
  const { verdict, started } = await play({
    texts: NEW_TEXTS,
    baselineMs: LARGE_MS,
    runs: (run) =>
      run.label === "patched" && run.files?.[0] !== "test/new.test.js"
        ? { ...flickers(run), [A]: RED }
        : flickers(run),
  });
  assert.ok(started.includes("patched"), started.join("\n"));
  assert.equal(verdict.class, "refuted");
  assert.deepEqual(verdict.evidence.newlyFailing, [A]);
});

test("a small suite, a patch without tests, or a test that failed before, get no answer ahead", async () => {
  const small = await play({ texts: NEW_TEXTS, runs: withNew(() => RED) });
  assert.equal(small.started[0], "patched");
  const bare = await play({ texts: FIX, baselineMs: LARGE_MS, runs: withNew(() => "pass") });
  assert.equal(bare.started[0], "patched");
  const old = await play({
    texts: { ...FIX, "test/a.test.js": ["a", "b"] },
    baselineMs: LARGE_MS,
    runs: () => ({ [A]: RED, [B]: "pass" }),
  });
  assert.equal(old.started[0], "affected tests on the patched tree: test/a.test.js");
  assert.ok(old.started.includes("patched"), "it failed on the base as well");
});

test("a test that fails in company and passes alone: neither a regression nor silence", async () => {
  const { verdict } = await play({
    texts: FIX,
    runs: ({ label, files }) => ({ [A]: "pass", [B]: label === "patched" && files === null ? RED : "pass" }),
  });
  assert.equal(verdict.class === "unproven" && verdict.reason, "flaky", JSON.stringify(verdict, null, 1));
  assert.match(
    verdict.class === "unproven" ? verdict.detail : "",
    /passes alone, so it depends on other tests: `test\/a\.test\.js > b`/,
  );
  assert.deepEqual(verdict.evidence.newlyFailing, []);
});

test("a test that needs others to run before it is fixed by nobody when it passes in company only", async () => {
  const { verdict } = await play({
    texts: FIX,
    runs: ({ label, files }) => ({ [A]: files !== null || label === "baseline" ? RED : "pass", [B]: "pass" }),
  });
  assert.equal(verdict.class === "unproven" && verdict.reason, "flaky", JSON.stringify(verdict, null, 1));
  assert.deepEqual(verdict.evidence.fixed, []);
  assert.deepEqual(verdict.evidence.flaky, [A]);
});

test("a test that goes by the time is named, proves nothing and breaks nothing; an honest proof beside it stands", async () => {
  // Each run is a minute later: it passes in every second.
  const clock = { minute: 0 };
  const byTime = () => (clock.minute++ % 2 === 0 ? "pass" : RED);
  const alone = await play({ texts: FIX, runs: () => ({ [A]: "pass", [B]: byTime() }) });
  assert.equal(
    alone.verdict.class === "unproven" && alone.verdict.reason,
    "flaky",
    JSON.stringify(alone.verdict, null, 1),
  );
  assert.deepEqual(alone.verdict.evidence.flaky, [B]);
  clock.minute = 0;
  const beside = await play({
    texts: FIX,
    runs: ({ label }) => ({ [A]: label === "baseline" ? RED : "pass", [B]: byTime() }),
  });
  assert.equal(beside.verdict.class, "proven", JSON.stringify(beside.verdict, null, 1));
  assert.deepEqual(beside.verdict.evidence.flaky, [B]);
  assert.deepEqual(beside.verdict.evidence.newlyFailing, []);
});

test("a new test that fails on the base only at times is flaky, not a proof", async () => {
  const { verdict } = await play({
    texts: NEW_TEXTS,
    runs: (run) => ({
      ...withNew(() => "pass")(run),
      ...(run.label === "new tests on base sources" && run.before === 1 ? { [NEW]: "pass" } : {}),
    }),
  });
  assert.equal(verdict.class === "unproven" && verdict.reason, "flaky", JSON.stringify(verdict, null, 1));
  assert.deepEqual(verdict.evidence.flaky, [NEW]);
});

test("a trial that leaves out other tests is no second look: the patched suite runs again", async () => {
  const bails = await play({
    texts: NEW_TEXTS,
    narrows: false,
    runs: (run) =>
      run.label.startsWith("tests that must fail") ? { [A]: "pass" } : withNew(() => "pass")(run),
  });
  assert.equal(bails.verdict.class, "proven", JSON.stringify(bails.verdict, null, 1));
  assert.equal(bails.started.filter((run) => run === "patched").length, 2);
  const whole = await play({ texts: NEW_TEXTS, narrows: false, runs: withNew(() => "pass") });
  assert.equal(whole.verdict.class, "proven");
  assert.equal(whole.started.filter((run) => run === "patched").length, 1, "the trial ran them all");
  const fickle = await play({
    texts: NEW_TEXTS,
    narrows: false,
    runs: withNew(({ label }) => (label.startsWith("tests that must fail") ? RED : "pass")),
  });
  assert.equal(fickle.verdict.class === "unproven" && fickle.verdict.reason, "flaky");
});

const CHECKS = [
  { name: "lint", command: "npm run lint" },
  { name: "format", command: "npm run format" },
  { name: "typecheck", command: "tsc -p ." },
] as const;

test("checks: only what fails with the patch and not without it is shown, and told to the agent; it makes no verdict", async () => {
  const { verdict, started } = await play({
    texts: NEW_TEXTS,
    runs: withNew(() => "pass"),
    checks: CHECKS,
    check: (command, tree) => {
      if (command === "npm run lint")
        return { code: tree === "patched" ? 1 : 0, text: "src/a.js:1 no semicolon" };
      return { code: command === "tsc -p ." ? 2 : 0, text: `${command} has spoken` };
    },
  });
  assert.equal(verdict.class, "proven", "a check proves and refutes nothing");
  assert.deepEqual(
    started.filter((run) => run.startsWith("check")),
    [
      ...CHECKS.map(({ command }) => `check ${command} on patched`),
      "check npm run lint on base",
      "check tsc -p . on base",
    ],
    "what passes is not run on the base",
  );
  assert.deepEqual(verdict.evidence.failedChecks, [
    { ...CHECKS[0], exitCode: 1, output: "src/a.js:1 no semicolon" },
  ]);
  assert.match(feedbackFor(verdict, null) ?? "", /- lint: npm run lint\n {4}src\/a\.js:1 no semicolon/);
  assert.match(
    evidenceTable(verdict.evidence),
    /Fails only with the patch: `lint`, `npm run lint` \(exit code 1\)/,
  );
});

test("checks: none configured, or all as before, show nothing", async () => {
  const runs = withNew(() => "pass");
  const none = await play({ texts: NEW_TEXTS, runs });
  const same = await play({
    texts: NEW_TEXTS,
    runs,
    checks: CHECKS,
    check: () => ({ code: 1, text: "red before" }),
  });
  for (const { verdict } of [none, same]) {
    assert.equal(verdict.evidence.failedChecks, undefined);
    assert.equal(feedbackFor(verdict, null), null);
  }
});

test("whichever run is cut off, the verification fails once and nothing of it fails unheard", async () => {
  const texts = { ...NEW_TEXTS, "test/a.test.js": ["a", "b"] } as const;
  const answers = withNew(() => "pass");
  const whole = await play({ texts, runs: answers });
  for (let nth = 0; nth < whole.started.length; nth++) {
    let begun = 0;
    const cutOff = (run: OneRun) => {
      if (begun++ >= nth) throw new Error("the process is ending");
      return answers(run);
    };
    await assert.rejects(play({ texts, runs: cutOff }), /the process is ending/);
  }
});
