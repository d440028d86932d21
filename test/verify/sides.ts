/** The runs and patches that verdict tests are made of, and how a row of them becomes a test. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { VerdictFacts } from "#src/verify/verify.ts";
import { ran, suiteResult, type Texts, verdictOf } from "./facts.ts";

export const A = "test/a.test.js > a";
export const B = "test/a.test.js > b";
export const NEW = "test/new.test.js > shows the bug";

export const FIX: Texts = { "src/a.js": ["bug", "fix"] };
export const TEST_TEXT =
  'import assert from "node:assert";\nimport { test } from "node:test";\ntest("a", () => { assert.equal(f(), 1); });\n';
export const WITH_NEW: Texts = { ...FIX, "test/new.test.js": [null, 'test("shows the bug", () => {});'] };
export const WITH_CHANGED: Texts = { ...FIX, "test/a.test.js": [TEST_TEXT, TEST_TEXT.replace("1);", "2);")] };
export const ONLY_CHANGED: Texts = {
  "test/a.test.js": WITH_CHANGED["test/a.test.js"] as readonly [string, string],
};

export const RED = ran({ [A]: "fail", [B]: "pass" }, { label: "baseline" });
export const GREEN = ran({ [A]: "pass", [B]: "pass" });
export const NEW_GREEN = ran({ [A]: "pass", [B]: "pass", [NEW]: "pass" });
export const NEW_RED = ran({ [A]: "pass", [B]: "pass", [NEW]: "fail: AssertionError: 1 !== 2" });
export const TIMEOUT = suiteResult({ stopped: "timeout" });
export const NO_REPORT = { mismatch: "no test report was written" };

/** `expected` is the class, and for `unproven` the reason behind it. */
export type Row = readonly [name: string, expected: string, texts: Texts, facts: Partial<VerdictFacts>];

export function checkRows(rows: readonly Row[]): void {
  for (const [name, expected, texts, facts] of rows)
    test(`verdict: ${name} → ${expected}`, async () => {
      const verdict = await verdictOf(texts, facts);
      assert.equal(
        verdict.class === "unproven" ? `unproven ${verdict.reason}` : verdict.class,
        expected,
        JSON.stringify(verdict, null, 1),
      );
    });
}
