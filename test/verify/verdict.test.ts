/** The verdict: its evidence, second looks, and the invariants that no facts may break. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { needsRerun } from "#src/verify/compare.ts";
import { FULL } from "#test/support/tier.ts";
import { ran, type Texts, verdictOf } from "./facts.ts";
import {
  A,
  B,
  FIX,
  GREEN,
  NEW,
  NEW_GREEN,
  ONLY_CHANGED,
  RED,
  TIMEOUT,
  WITH_CHANGED,
  WITH_NEW,
} from "./sides.ts";

test("the evidence names what was fixed and by whose test, what still fails, what broke and what flickered", async () => {
  const proven = await verdictOf(WITH_NEW, {
    baseline: ran({ [A]: "fail: AssertionError: 1 !== 2", [B]: "fail" }),
    patched: ran({ [A]: "pass", [B]: "fail", [NEW]: "pass" }),
    newTestsOnBase: ran({ [A]: "fail", [B]: "fail", [NEW]: "fail: AssertionError: bug" }),
  });
  assert.equal(proven.class, "proven");
  assert.deepEqual(proven.evidence.fixed, [
    { test: A, source: "existing", failedWith: "AssertionError: 1 !== 2" },
    { test: NEW, source: "new", failedWith: "AssertionError: bug" },
  ]);
  assert.deepEqual(proven.evidence.stillFailing, [B]);
  const flaky = await verdictOf(FIX, {
    baseline: GREEN,
    baselineAgain: GREEN,
    patched: RED,
    patchedAgain: GREEN,
  });
  assert.deepEqual(flaky.evidence.flaky, [A], "G04: named");
  assert.deepEqual(flaky.evidence.newlyFailing, []);
  assert.match(
    flaky.evidence.notes.join("\n"),
    /`npm test` in the root \(scripts\.test in package\.json\)/,
    "G10: command, directory and reason",
  );
});

test("G04: a second look is asked for exactly when the runs differ", () => {
  assert.equal(needsRerun(GREEN, GREEN), false);
  assert.equal(needsRerun(RED, RED), false);
  assert.equal(needsRerun(GREEN, NEW_GREEN), false);
  assert.equal(needsRerun(RED, GREEN), true);
  assert.equal(needsRerun(GREEN, RED), true);
  assert.equal(needsRerun(GREEN, ran({ [A]: "pass" })), true);
  assert.equal(needsRerun(RED, TIMEOUT), false);
});

test("ids that never repeat are nobody's loss once the base was run twice", async () => {
  const at = (time: string) => ran({ [A]: "fail", [`test/a.test.js > at ${time}`]: "pass" });
  const verdict = await verdictOf(FIX, {
    baseline: at("1"),
    baselineAgain: at("2"),
    patched: ran({ [A]: "pass", "test/a.test.js > at 3": "pass" }),
  });
  assert.equal(verdict.class, "proven");
});

const outcome = fc.constantFrom("pass", "fail", "skip", "fail: Cannot find module 'x'");
const someRun = fc
  .record({
    cases: fc.dictionary(fc.constantFrom(A, B, NEW, "test/a.test.js", "test/new.test.js", "t > z"), outcome, {
      maxKeys: 6,
    }),
    exitCode: fc.constantFrom(undefined, 0, 1, 127),
    stopped: fc.constantFrom(null, null, null, "timeout" as const, "memory" as const),
    strength: fc.constantFrom(undefined, undefined, "text" as const, "exit_code" as const),
    mismatch: fc.constantFrom(null, null, "odd"),
  })
  .map(({ cases, exitCode, strength, ...rest }) =>
    ran(cases, {
      ...rest,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(strength === undefined ? {} : { strength }),
    }),
  );
const perhaps = fc.option(someRun, { nil: null });

test("property: proven needs a proof, both runs, no finding and agreement; the precedence holds whatever the facts", async () => {
  const texts = fc.constantFrom(FIX, WITH_NEW, WITH_CHANGED, ONLY_CHANGED, {
    ...FIX,
    ".npmrc": [null, "x"],
  } as Texts);
  const facts = fc.record({
    baseline: perhaps,
    baselineAgain: perhaps,
    patched: perhaps,
    patchedAgain: perhaps,
    originalTests: perhaps,
    newTestsOnBase: perhaps,
    newTestsOnBaseAgain: perhaps,
  });
  await fc.assert(
    fc.asyncProperty(texts, facts, async (changed, given) => {
      const verdict = await verdictOf(changed, given);
      const { evidence } = verdict;
      if (verdict.class === "proven") {
        assert.deepEqual(verdict.by, evidence.fixed);
        assert.ok(evidence.fixed.length > 0);
        assert.deepEqual([evidence.tampering, evidence.newlyFailing], [[], []]);
        assert.equal(given.patched?.strength, "report");
        assert.equal(given.patched?.mismatch, null);
        assert.equal(given.patched?.evidence.stopped ?? given.baseline?.evidence.stopped, null);
        for (const proof of evidence.fixed) {
          assert.ok(given.patched?.cases.some((one) => one.id === proof.test && one.outcome === "pass"));
          assert.ok(!evidence.flaky.includes(proof.test));
          const failed = proof.source === "new" ? given.newTestsOnBase : given.baseline;
          assert.ok(failed?.cases.some((one) => one.id === proof.test && one.outcome === "fail"));
        }
      }
      if (evidence.fixed.length === 0) assert.notEqual(verdict.class, "proven");
      // A module that a changed registry would have brought, and that is not installed, speaks against nobody.
      const missing = (id: string) =>
        ".npmrc" in changed &&
        given.patched?.cases.some((one) => one.id === id && /Cannot find module/.test(one.message ?? ""));
      if (!evidence.newlyFailing.every(missing)) assert.equal(verdict.class, "refuted");
      const strong = evidence.tampering.some(
        (finding) => finding.kind === "fewer_tests" || finding.path === ".npmrc",
      );
      if (strong && verdict.class !== "refuted")
        assert.equal(verdict.class === "unproven" && verdict.reason, "tampered");
    }),
    { numRuns: FULL ? 20_000 : 1500 },
  );
});
