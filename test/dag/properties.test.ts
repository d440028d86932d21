/** Random step graphs: order, memory, crashes at every record, and the limit on starts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json } from "#src/base/canonical-json.ts";
import type { Outcome, Step, StepRecord } from "#src/dag/dag.ts";
import { drive } from "#src/dag/drive.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { FULL } from "#test/support/tier.ts";
import { done, driveOf, failed, memoryLog, NEVER, step } from "./graph.ts";

const RUNS = { numRuns: FULL ? 10_000 : 400 };

interface Node {
  readonly name: string;
  readonly needs: readonly string[];
  readonly attempts: number;
  /** The output says nothing of the input, so that dependents do not notice a change. */
  readonly constant: boolean;
}

/** Up to 7 nodes, each needing some of those before it, listed in any order. */
const graph: fc.Arbitrary<readonly Node[]> = fc
  .array(
    fc.record({ needs: fc.nat(127), attempts: fc.integer({ min: 2, max: 4 }), constant: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 7,
    },
  )
  .map((rows) =>
    rows.map((row, index) => ({
      name: `s${index}`,
      needs: rows.slice(0, index).flatMap((_, need) => ((row.needs >> need) & 1 ? [`s${need}`] : [])),
      attempts: row.attempts,
      constant: row.constant,
    })),
  )
  .chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length }));

interface Play {
  /** Input of each step; 0 when not named. */
  readonly versions?: Readonly<Record<string, number>>;
  /** What a step does instead of being done. */
  readonly outcome?: (name: string, attempt: number) => Outcome | Error | null;
}

/** Steps that record their names in `ran`, in the order in which they start. */
function stepsOf(
  nodes: readonly Node[],
  ran: string[],
  { versions = {}, outcome = () => null }: Play = {},
): Step[] {
  return nodes.map((node) => {
    const version = versions[node.name] ?? 0;
    return step(node.name, {
      needs: node.needs,
      attempts: node.attempts,
      input: () => version,
      run: async ({ inputs, attempt }) => {
        ran.push(node.name);
        const instead = outcome(node.name, attempt);
        if (instead instanceof Error) throw instead;
        return instead ?? done(node.constant ? node.name : ({ version, inputs } as Json));
      },
    });
  });
}

test("each step runs once and after its needs, and a second drive runs nothing", async () => {
  await fc.assert(
    fc.asyncProperty(graph, async (nodes) => {
      const ran: string[] = [];
      const log = memoryLog();
      const end = await driveOf(stepsOf(nodes, ran), { log });
      assert.equal(end.kind, "complete");
      assert.deepEqual(ran.toSorted(), nodes.map((node) => node.name).toSorted());
      for (const node of nodes)
        for (const need of node.needs) {
          assert.ok(ran.indexOf(need) < ran.indexOf(node.name));
          assert.ok(log.lines().indexOf(`done ${need}`) < log.lines().indexOf(`started ${node.name}`));
        }
      const before = log.all.length;
      assert.deepEqual(await driveOf(stepsOf(nodes, ran), { log }), end);
      assert.equal(ran.length, nodes.length);
      assert.equal(log.all.length, before);
    }),
    RUNS,
  );
});

test("changing one step's input runs exactly it and those whose inputs change by it", async () => {
  await fc.assert(
    fc.asyncProperty(graph, fc.nat(), async (nodes, pick) => {
      const changed = nodes[pick % nodes.length]?.name ?? "";
      const log = memoryLog();
      await driveOf(stepsOf(nodes, []), { log });
      const ran: string[] = [];
      await driveOf(stepsOf(nodes, ran, { versions: { [changed]: 1 } }), { log });

      const inOrder = nodes.toSorted((x, y) => x.name.localeCompare(y.name));
      const expected: string[] = [];
      const differing = new Set<string>();
      for (const node of inOrder) {
        if (node.name !== changed && !node.needs.some((need) => differing.has(need))) continue;
        expected.push(node.name);
        if (!node.constant) differing.add(node.name);
      }
      assert.deepEqual(ran.toSorted(), expected);
    }),
    RUNS,
  );
});

/** Starts without a pause since the step's last result, per input: what `attempts` limits. */
function checkStarts(nodes: readonly Node[], records: readonly StepRecord[]): void {
  const used = new Map<string, number>();
  const limits = new Map(nodes.map((node) => [node.name, node.attempts]));
  for (const record of records) {
    const key = `${record.inputHash} ${record.step}`;
    const count = used.get(key) ?? 0;
    if (record.kind === "started") used.set(key, count + 1);
    if (record.kind === "paused") used.set(key, count - 1);
    if (record.kind === "done") used.set(key, 0);
    assert.ok((used.get(key) ?? 0) <= (limits.get(record.step) ?? 0), `${record.step} was started too often`);
  }
}

test("every prefix of the records resumes to the same end", async () => {
  await fc.assert(
    fc.asyncProperty(graph, fc.option(fc.nat()), fc.boolean(), async (nodes, doom, retry) => {
      const doomed = doom === null ? null : nodes[doom % nodes.length]?.name;
      const outcome = (name: string) => (name === doomed ? failed(retry) : null);
      const log = memoryLog();
      const end = await driveOf(stepsOf(nodes, [], { outcome }), { log });
      for (let length = 0; length <= log.all.length; length++) {
        const resumed = memoryLog(log.all.slice(0, length));
        const again = await driveOf(stepsOf(nodes, [], { outcome }), { log: resumed });
        checkStarts(nodes, resumed.all);
        if (end.kind === "failed") {
          // A crash in the last attempt leaves no other reason than the crash.
          assert.ok(again.kind === "failed" && again.step === end.step);
          assert.ok([end.code, "interrupted"].includes(again.code));
        } else assert.deepEqual(again, end);
      }
    }),
    { numRuns: FULL ? 2000 : 120 },
  );
});

test("no step is started more often than its attempts, over any failures, waits, crashes and restarts", async () => {
  const acts = fc.infiniteStream(
    fc.constantFrom("done", "retry", "throw", "waiting", "crash") as fc.Arbitrary<string>,
  );
  await fc.assert(
    fc.asyncProperty(graph, acts, async (nodes, script) => {
      const log = memoryLog();
      let crashed = false;
      const outcome = (): Outcome | Error | null => {
        const act = script.next().value;
        if (act === "retry") return failed(true);
        if (act === "throw") return new Error("thrown");
        if (act === "waiting") return { kind: "waiting" };
        if (act === "crash") crashed = true;
        return null;
      };
      for (let restart = 0; restart < 60; restart++) {
        crashed = false;
        const end = await drive({
          steps: stepsOf(nodes, [], { outcome }),
          log: {
            records: log.records,
            append: (r) => (crashed ? Promise.reject(new Error("killed")) : log.append(r)),
          },
          clock: createManualClock(),
          signal: NEVER,
        }).catch((error: unknown) => {
          assert.match(String(error), /killed/);
          return null;
        });
        checkStarts(nodes, log.all);
        if (end?.kind === "complete" || end?.kind === "failed") return;
      }
    }),
    RUNS,
  );
});
