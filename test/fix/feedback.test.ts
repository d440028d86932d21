import assert from "node:assert/strict";
import { test } from "node:test";
import { feedbackFor } from "#src/fix/feedback.ts";
import { diffOf } from "#src/fix/steps/propose.ts";
import type { UnprovenReason, Verdict } from "#src/run/verdict.ts";
import { sampleEvidence, sampleVerdict } from "#test/run/sample.ts";

function unproven(reason: UnprovenReason): Verdict {
  const tampering = [
    { kind: "test_skipped", path: "test/a.test.js", detail: "`it.skip` was added" },
  ] as const;
  return { class: "unproven", reason, detail: "it took too long", evidence: sampleEvidence({ tampering }) };
}

test("a proven and a passing result are not sent back", () => {
  assert.equal(feedbackFor(sampleVerdict("proven"), null), null);
  assert.equal(feedbackFor(sampleVerdict("passing"), null), null);
});

test("a refuted result is sent back with what speaks against it and what it broke", () => {
  const text = feedbackFor(sampleVerdict("refuted"), null) ?? "";
  assert.match(text, /It is refuted:\n- test\/price\.test\.js > adds passed before/);
  assert.match(text, /Tests that passed before and fail now:\n- test\/price\.test\.js > adds/);
  assert.match(text, /finish with the title and explanation as before\.$/);
});

test("a refuted result names the first lines of what the tests said, and what is missing for a proof", () => {
  const refuted: Verdict = {
    class: "refuted",
    because: ["Passed on the base and fails now: `a`."],
    evidence: sampleEvidence({
      newlyFailing: ["a"],
      newlyFailingWith: { a: "AssertionError: 1 !== 2\nat a.js" },
    }),
  };
  const text = feedbackFor(refuted, null) ?? "";
  assert.match(text, /- a\n {4}AssertionError: 1 !== 2\n {4}at a\.js/);
  assert.match(text, /at least one test that fails without your change/);
});

test("checks that only the patch breaks are sent back whatever the verdict", () => {
  const failedChecks = [
    { name: "lint", command: "npm run lint", exitCode: 1, output: "src/a.js:1 no semicolon" },
  ];
  const proven = sampleVerdict("proven");
  const text = feedbackFor({ ...proven, evidence: { ...proven.evidence, failedChecks } }, null) ?? "";
  assert.match(text, /pass without your change and fail with it:\n- lint: npm run lint\n {4}src\/a\.js:1/);
});

test("G01: tampering is named by place and kind, and undoing it is what is asked", () => {
  const text = feedbackFor(unproven("tampered"), null) ?? "";
  assert.match(text, /Undo this.*\n- test_skipped in test\/a\.test\.js: `it\.skip` was added/);
});

test("of what is unproven only that is sent back which the agent can mend", () => {
  const mendable = ["tampered", "none_ran", "timed_out"];
  const reasons: readonly UnprovenReason[] = [
    "no_tests",
    "none_ran",
    "cannot_set_up",
    "timed_out",
    "flaky",
    "tampered",
    "dependencies_changed",
    "no_toolchain",
  ];
  for (const reason of reasons)
    assert.equal(feedbackFor(unproven(reason), null) !== null, mendable.includes(reason), reason);
});

test("a protected file is sent back whatever the verdict, together with what else is wrong", () => {
  assert.match(feedbackFor(sampleVerdict("proven"), ".github/x.yml") ?? "", /\.github\/x\.yml.*put it back/);
  const both = feedbackFor(sampleVerdict("refuted"), "package-lock.json") ?? "";
  assert.ok(both.includes("put it back") && both.includes("It is refuted"));
});

test("however much went wrong, the message stays short and whole", () => {
  const long = "😀".repeat(5_000);
  const names = Array.from({ length: 300 }, (_, index) => `${index} ${long}`);
  const refuted: Verdict = {
    class: "refuted",
    because: ["x", ...names],
    evidence: sampleEvidence({ newlyFailing: names }),
  };
  const text = feedbackFor(refuted, null) ?? "";
  assert.ok(text.length < 12_000, String(text.length));
  assert.ok(text.isWellFormed());
  assert.match(text, /- and 293 more\n.*\n- and 292 more|and 29\d more/s);
});

function part(name: string, content = "+x\n", old = name): string {
  return `diff --git a/${old} b/${name}\nindex 1..2 100644\n--- a/${old}\n+++ b/${name}\n@@ -1 +1 @@\n${content}`;
}

test("the part of a diff is found by its file, among others and whatever their lines look like", () => {
  const forged = part("src/evil.js", "-x\n+++ b/test/a.test.js\n+diff --git a/y b/test/a.test.js\n");
  const wanted = part("test/a.test.js");
  const diff = forged + part("test/a.test.jsx") + part("a.test.js") + wanted + part("z");
  assert.equal(diffOf(diff, "test/a.test.js"), wanted);
  assert.equal(diffOf(diff, "src/evil.js"), forged);
  assert.equal(diffOf(diff, "missing"), "");
  assert.equal(diffOf("", "x"), "");
});

test("names with blanks, quotes, control characters and other scripts are found as git writes them", () => {
  const blank = part("test/a b.js\t", "+x\n", "test/a b.js");
  const other = part("test/日本 é.js\t", "+x\n", "test/日本 é.js");
  const quoted =
    'diff --git "a/q\\"b\\\\s\\tt\\001.js" "b/q\\"b\\\\s\\tt\\001.js"\n--- /dev/null\n+++ "b/q\\"b\\\\s\\tt\\001.js"\n@@ -0,0 +1 @@\n+x\n';
  const diff = blank + other + quoted;
  assert.equal(diffOf(diff, "test/a b.js"), blank);
  assert.equal(diffOf(diff, "test/日本 é.js"), other);
  assert.equal(diffOf(diff, 'q"b\\s\tt\u0001.js'), quoted);
});

test("a deleted file, a new mode and a binary file have no part to show", () => {
  const deleted = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
  const mode = "diff --git a/y b/y\nold mode 100644\nnew mode 100755\n";
  const binary = "diff --git a/z b/z\nindex 1..2 100644\nBinary files a/z and b/z differ\n";
  for (const path of ["x", "y", "z"]) assert.equal(diffOf(deleted + mode + binary, path), "");
});
