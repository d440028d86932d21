/** Attacks on the app's time: each title of the list is played here. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { globProblem, matchesGlob } from "#src/config/glob.ts";
import { parseReports, toCases } from "#src/verify/reports.ts";
import { createTamper } from "#src/verify/tamper/offload.ts";
import { changedTexts } from "#src/verify/tamper/report.ts";
import { SLOW } from "#test/attacks/list/slow.ts";
import { FULL, sample } from "#test/support/tier.ts";
import { openWorkspace } from "#test/tools/fixture.ts";
import { changesOf, type Texts } from "#test/verify/facts.ts";
import { commit } from "#test/workspace/repository.ts";
import { createWorld, REPOSITORY_ID, RUN } from "#test/workspace/world.ts";

type Name = (typeof SLOW)[number]["name"];

const LONG = FULL ? 1_000_000 : 200_000;
/** The thread that reads a patch is given up after 120 s. */
const PATCH_MS = 150_000;
/** Generous, since the machine may be busy: what is hostile takes hours. */
const SOON_MS = 20_000;
const LAG_MS = 2_000;

/** How long the work takes, and the longest time that nothing else could run meanwhile. */
async function measured(
  work: () => Promise<unknown>,
): Promise<{ readonly ms: number; readonly lag: number }> {
  const start = performance.now();
  let last = start;
  let lag = 0;
  const ticker = setInterval(() => {
    lag = Math.max(lag, performance.now() - last);
    last = performance.now();
  }, 20);
  try {
    await work();
  } finally {
    clearInterval(ticker);
  }
  return { ms: performance.now() - start, lag: Math.max(lag, performance.now() - last) };
}

async function tamperOf(texts: Texts): Promise<void> {
  const tamper = createTamper(systemClock);
  const { ms, lag } = await measured(() =>
    Promise.resolve(
      tamper(
        changedTexts({
          changes: changesOf(texts),
          baseText: (path) => texts[path]?.[0] ?? null,
          patchedText: (path) => texts[path]?.[1] ?? null,
        }),
        [],
      ),
    ),
  );
  assert.ok(ms < PATCH_MS, `${ms} ms`);
  assert.ok(lag < LAG_MS, `nothing else ran for ${lag} ms`);
}

const PLAY: Readonly<Record<Name, () => Promise<void>>> = {
  "a test file of one line of a megabyte, made for the patterns of the tamper report": async () => {
    for (const piece of ["t.", "test .", "assert", "it ", "@a.", "describe.x "])
      await tamperOf({ "test/a.test.js": ["test('a', () => {});\n", piece.repeat(LONG / piece.length / 4)] });
  },
  "a source file of one line of a megabyte": async () => {
    await tamperOf({
      "src/a.js": ["x\n", `"${'a"b\\'.repeat(LONG / 5)}`],
      "src/b.py": ["x\n", "def __eq__(".repeat(LONG / 12)],
      Makefile: ["x\n", "a ?:+!".repeat(LONG / 6)],
    });
  },
  "reports of results that are deep, long or full of entities": async () => {
    const entities = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${Array.from({ length: 20 }, (_, n) => `<!ENTITY a${n} "${`&a${n === 0 ? "" : n - 1};`.repeat(10)}">`).join("")}]>`;
    const hostile = {
      "a.xml": `${entities}<testsuites><testcase name="&a19;"/></testsuites>`,
      "b.xml": "<testsuite>".repeat(LONG / 20),
      "c.json": "[".repeat(LONG),
      "d.json": `{"testResults":${'[{"testResults":'.repeat(LONG / 100)}`,
      "e.ndjson": `{"begin":"x"}\n${'{"file":"a","names":["b"],"outcome":"pass","message":""}\n'.repeat(LONG / 60)}`,
      "f.tap": `TAP version 13\n${`${" ".repeat(4)}ok 1 - a\n`.repeat(LONG / 20)}`,
      "g.ndjson": `{"begin":"x"}\n{"file":"a","names":["${"\\u001b[31m ".repeat(LONG / 30)}"],"outcome":"fail","message":"${" at x".repeat(LONG / 6)}"}\n{"end":true}`,
      "h.trx": "<TestRun><Results>".repeat(LONG / 40),
    };
    for (const [name, text] of Object.entries(hostile)) {
      const { ms } = await measured(async () => toCases(parseReports([{ name, text }]).cases, "/workspace"));
      assert.ok(ms < SOON_MS, `${name}: ${ms} ms`);
    }
  },
  "a hundred thousand new files in the workspace": async () => {
    await using world = await createWorld();
    commit(world.bare, { "a.txt": "1\n" });
    const { sha, directory } = await world.checkout();
    const folders = FULL ? 100 : 5;
    await world.shell(
      directory,
      `echo 2 > a.txt; for d in $(seq ${folders}); do mkdir -p many/$d; (cd many/$d; touch $(seq 1000)); done`,
    );
    const before = process.memoryUsage().rss;
    const { lag } = await measured(async () => {
      const built = await world.workspaces.buildTree({
        runId: RUN,
        repositoryId: REPOSITORY_ID,
        baseSha: sha,
        directory,
        edited: [],
        noise: [],
      });
      if (built.ok)
        assert.deepEqual(
          built.value.changes.map(({ path }) => path),
          ["a.txt"],
        );
      else assert.match(built.error.message, /too many|too large|stopped/);
    });
    assert.ok(lag < LAG_MS, `nothing else ran for ${lag} ms`);
    assert.ok(process.memoryUsage().rss - before < 600 * 1024 * 1024);
  },
  "a pattern for the search tool that makes most engines run for ever": async () => {
    await using space = await openWorkspace({ "a.txt": `${"a".repeat(LONG)}!\n` });
    for (const pattern of ["(a+)+$", "(a|aa)+b", "(.*a){20}b", "((a*)*)*b", "^(a?){60}a{60}$"]) {
      const { ms } = await measured(() => space.run("search", { pattern }));
      assert.ok(ms < 90_000, `${pattern}: ${ms} ms`);
    }
  },
  "globs of the repository's settings that make most engines run for ever": async () => {
    const { ms } = await measured(async () => {
      for (const glob of [
        `${"*a".repeat(90)}b`,
        `${"**/".repeat(60)}x`,
        `${"{a,b}".repeat(5)}*`,
        "*".repeat(199),
      ])
        if (globProblem(glob) === null) matchesGlob(glob, `${"a/".repeat(500)}${"a".repeat(3_000)}`);
    });
    assert.ok(ms < SOON_MS, `${ms} ms`);
  },
};

for (const { name, holds } of sample(SLOW, 2)) test(`${name}: ${holds}`, () => PLAY[name]());
