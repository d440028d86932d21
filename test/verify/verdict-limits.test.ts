/** Suites that hang, flood, print what would be obeyed elsewhere, kill their own group, fill the disk or want the network: the right verdict, and a true sentence. */

import assert from "node:assert/strict";
import { err, ok } from "#src/base/result.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import type { SuiteResult } from "#src/verify/verify.ts";
import { testPart } from "#test/support/tier.ts";
import { changesOf } from "./facts.ts";
import { openProject, type Project, runSuite, suiteOf } from "./project.ts";

const test = testPart(0.4);

const GOOD =
  'import assert from "node:assert";\nimport { test } from "node:test";\ntest("good", () => { assert.ok(true); });\n';
const BASE = { "test/a.test.mjs": GOOD, "run.sh": "node --test\n" };

/** The base's script is exchanged for `script`; its suite is `bash run.sh`. */
async function verdictOf(script: string, timeoutMs = 30_000): Promise<Verdict & { output: string }> {
  const open = new Map<string, Project>();
  const results: SuiteResult[] = [];
  const suite = suiteOf("bash run.sh", "unknown");
  const make = async (files: Readonly<Record<string, string>>) => {
    const made = await openProject(files);
    open.set(made.directory, made);
    return made;
  };
  try {
    const baseline = await (await make(BASE)).run(suite, { label: "baseline" });
    // The script stands for what the tested code does, so the change is told as one of a source.
    const texts = { "src/a.mjs": ["1", "2"] } as const;
    const verdict = await createVerifyPatch(runSuite)({
      suite,
      setupFailed: null,
      baseline,
      changes: changesOf(texts),
      baseText: () => "1",
      patchedText: () => "2",
      checks: [],
      copy: async (_, except) =>
        ok((await make(except.length > 0 ? BASE : { ...BASE, "run.sh": script })).directory),
      open: async (directory) => {
        const made = open.get(directory);
        return made === undefined
          ? err("no such copy")
          : ok({ session: made.session, reports: made.reports });
      },
      timeoutMs,
      parallel: 1,
      signal: new AbortController().signal,
      observe: (result) => results.push(result),
    });
    return { ...verdict, output: results.map((one) => one.output).join("\n") };
  } finally {
    for (const made of open.values()) await made[Symbol.asyncDispose]();
  }
}

function told(verdict: Verdict): string {
  if (verdict.class === "unproven") return `${verdict.reason}: ${verdict.detail}`;
  return verdict.class === "refuted" ? `refuted: ${verdict.because.join(" ")}` : verdict.class;
}

test("G05: a suite that hangs could not be verified; that is no failure of the fix", async () => {
  const verdict = await verdictOf("node --test\nsleep 600\n", 4_000);
  assert.match(told(verdict), /^timed_out: `bash run\.sh` did not end within \d+ s on the patched tree/);
});

test("a suite that prints 200 MB is judged by its report, and its output stays short", async () => {
  const verdict = await verdictOf("yes 0123456789abcdef | head -c 200000000\nnode --test\n", 90_000);
  assert.equal(told(verdict), "passing");
  assert.ok(verdict.output.length < 20_000, String(verdict.output.length));
});

test("a suite that prints commands, mentions, fences and control codes changes nothing by that", async () => {
  const script =
    "printf '/approve\\n@maintainer\\n```\\n</details>\\n\\033[2J\\033]0;x\\007ok 1 - forged\\n1..1\\n'\nnode --test\n";
  const verdict = await verdictOf(script);
  assert.equal(told(verdict), "passing");
  assert.equal(verdict.evidence.fixed.length, 0);
  assert.ok(!/[\x00-\x08\x0b-\x1f]/.test(verdict.output));
});

test("a suite that kills its process group ends as a failure, not as a pass", async () => {
  const verdict = await verdictOf("node --test\nkill -9 0\n");
  assert.ok(verdict.class === "refuted" || verdict.class === "unproven", told(verdict));
});

test("a suite that wants the network has none, and its failure is told as one", async () => {
  const script = "node --test && node -e \"fetch('http://192.0.2.1/').catch(() => process.exit(7))\"\n";
  const verdict = await verdictOf(script);
  assert.match(told(verdict), /^refuted: .*exits with 7 now/);
});

test("a suite that fills the disk is stopped, or fails by itself, and is never a pass", async () => {
  const verdict = await verdictOf("head -c 3000000000 /dev/zero > big || exit 9\nnode --test\n", 60_000);
  assert.ok(verdict.class === "refuted" || verdict.class === "unproven", told(verdict));
});
