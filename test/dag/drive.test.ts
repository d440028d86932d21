/** Driving a graph: order, memory and retries. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Json } from "#src/base/canonical-json.ts";
import type { Step } from "#src/dag/dag.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { done, driveOf, failed, held, memoryLog, scripted, step } from "./graph.ts";

suite("drive: the way through", () => {
  test("independent steps run at the same time, dependents get the outputs of their needs", async () => {
    const [left, right] = [held(), held()];
    const seen: Json[] = [];
    const log = memoryLog();
    const driving = driveOf(
      [
        step("join", {
          needs: ["left", "right"],
          run: async ({ inputs }) => {
            seen.push(inputs);
            return done("joined");
          },
        }),
        step("left", { run: left.run }),
        step("right", { run: right.run }),
      ],
      { log },
    );
    await Promise.all([left.entered, right.entered]);
    right.end(done(2));
    left.end(done(1));
    assert.deepEqual(await driving, { kind: "complete", outputs: { left: 1, right: 2, join: "joined" } });
    assert.deepEqual(seen, [{ left: 1, right: 2 }]);
    assert.deepEqual(log.lines().slice(0, 2), ["started left", "started right"]);
    assert.deepEqual(log.lines().slice(-2), ["started join", "done join"]);
  });

  test("a dependent starts as soon as its own needs are done, not when all are", async () => {
    const [slow, next] = [held(), held()];
    const driving = driveOf([
      step("slow", { run: slow.run }),
      step("quick"),
      step("next", { needs: ["quick"], run: next.run }),
    ]);
    await Promise.all([slow.entered, next.entered]);
    next.end(done());
    slow.end(done());
    assert.equal((await driving).kind, "complete");
  });

  test("an empty graph is complete", async () => {
    assert.deepEqual(await driveOf([]), { kind: "complete", outputs: {} });
  });

  test("the start is on record before the step runs, and its result before dependents do", async () => {
    const log = memoryLog();
    const observed: string[][] = [];
    const look: Step["run"] = async () => {
      observed.push([...log.lines()]);
      return done();
    };
    await driveOf([step("a", { run: look }), step("b", { needs: ["a"], run: look })], { log });
    assert.deepEqual(observed, [["started a"], ["started a", "done a", "started b"]]);
  });

  test("a bad graph is a TypeError before anything starts", async () => {
    const log = memoryLog();
    await assert.rejects(driveOf([step("a"), step("b", { needs: ["x"] })], { log }), TypeError);
    assert.deepEqual(log.all, []);
  });

  test("subscribers hear of each start and end, after it is on record", async () => {
    const log = memoryLog();
    const heard: string[] = [];
    const clock = createManualClock();
    const slow = held();
    const driving = driveOf(
      [
        step("a", {
          attempts: 2,
          run: ({ attempt, ...rest }) =>
            attempt === 1 ? slow.run({ attempt, ...rest }) : Promise.resolve(done()),
        }),
      ],
      {
        log,
        clock,
        onStart: ({ step: name, attempt }) => heard.push(`${name}#${attempt} after ${log.lines().at(-1)}`),
        onEnd: ({ step: name, outcome, code, ms }) =>
          heard.push(`${name} ${outcome} ${code} ${ms} ms after ${log.lines().at(-1)}`),
      },
    );
    await slow.entered;
    await clock.advance(250);
    slow.end(failed(true, "flaky"));
    await driving;
    assert.deepEqual(heard, [
      "a#1 after started a",
      "a failed flaky 250 ms after failed a",
      "a#2 after started a",
      "a done null 0 ms after done a",
    ]);
  });
});

suite("drive: memory", () => {
  test("a second drive runs nothing; a changed input runs the step and what its output changes", async () => {
    const log = memoryLog();
    const ran: string[] = [];
    const graph = (version: number) => {
      const counted = (name: string, needs: readonly string[], output: Json) =>
        step(name, {
          needs,
          input: () => (name === "a" ? version : null),
          run: async () => {
            ran.push(name);
            return done(output);
          },
        });
      return [
        counted("a", [], version),
        counted("same", ["a"], "constant"),
        counted("after-same", ["same"], 1),
        counted("other", [], 1),
      ];
    };
    await driveOf(graph(1), { log });
    assert.equal(ran.length, 4);
    assert.equal((await driveOf(graph(1), { log })).kind, "complete");
    assert.equal(ran.length, 4);
    ran.length = 0;
    await driveOf(graph(2), { log });
    assert.deepEqual(ran, ["a", "same"], "`after-same` sees the same output, `other` is not concerned");
    await driveOf(graph(1), { log });
    assert.deepEqual(ran, ["a", "same"], "an earlier input still stands");
  });

  test("an output that no longer stands is made again; what follows runs again only if it differs", async () => {
    const log = memoryLog();
    const ran: string[] = [];
    let there = true;
    let path = "/work/1";
    const graph = () => [
      step("clone", {
        stands: async (output) => there && output === path,
        run: async ({ attempt }) => {
          ran.push(`clone#${attempt}`);
          there = true;
          return done(path);
        },
      }),
      step("use", {
        needs: ["clone"],
        run: async () => {
          ran.push("use");
          return done();
        },
      }),
    ];
    await driveOf(graph(), { log });
    await driveOf(graph(), { log });
    assert.deepEqual(ran, ["clone#1", "use"]);
    there = false;
    await driveOf(graph(), { log });
    assert.deepEqual(ran, ["clone#1", "use", "clone#2"]);
    path = "/work/2";
    await driveOf(graph(), { log });
    assert.deepEqual(ran.slice(3), ["clone#3", "use"]);
  });

  test("what a step returned is what its dependents get, now and after a restart", async () => {
    const log = memoryLog();
    const seen: Json[] = [];
    const graph = (version: number) => [
      step("a", { run: async () => done({ kept: 1, dropped: undefined }) }),
      step("b", {
        needs: ["a"],
        input: () => version,
        run: async ({ inputs }) => {
          seen.push(inputs.a ?? null);
          return done();
        },
      }),
    ];
    await driveOf(graph(1), { log });
    const restarted = memoryLog(JSON.parse(JSON.stringify(log.all)));
    await driveOf(graph(2), { log: restarted });
    assert.deepEqual(seen, [{ kept: 1 }, { kept: 1 }]);
    assert.deepEqual(Object.keys(seen[0] as object), ["kept"]);
  });

  test("an output that is no JSON is the step's failure, not the drive's", async () => {
    const end = await driveOf([step("a", { run: async () => done(Number.NaN) })]);
    assert.deepEqual(end, { kind: "failed", step: "a", code: "internal", message: "not a JSON number: NaN" });
  });

  test("input is asked once per drive, so that a changing one cannot run a step for ever", async () => {
    let asked = 0;
    const end = await driveOf([step("a", { input: () => ++asked }), step("b", { needs: ["a"] })]);
    assert.equal(end.kind, "complete");
    assert.equal(asked, 1);
  });
});

suite("drive: failures", () => {
  test("a failure is tried again up to the attempts, also when it was thrown", async () => {
    const { attempts, run } = scripted(failed(true), new Error("boom"), done("third"));
    const log = memoryLog();
    const end = await driveOf([step("a", { attempts: 3, run })], { log });
    assert.deepEqual(end, { kind: "complete", outputs: { a: "third" } });
    assert.deepEqual(attempts, [1, 2, 3]);
    const thrown = log.all[3];
    assert.ok(thrown?.kind === "failed" && thrown.code === "internal" && thrown.retry);
    assert.equal(thrown.message, "boom");
  });

  test("attempts used up, or no retry wanted: the run fails with the last reason", async () => {
    const twice = scripted(failed(true, "first"), failed(true, "second"));
    assert.deepEqual(await driveOf([step("a", { attempts: 2, run: twice.run })]), {
      kind: "failed",
      step: "a",
      code: "second",
      message: "second, says the script",
    });
    const once = scripted(failed(false, "final"));
    const end = await driveOf([step("a", { attempts: 5, run: once.run })]);
    assert.equal(end.kind === "failed" && end.code, "final");
    assert.deepEqual(once.attempts, [1]);
  });

  test("F17: attempts are counted over restarts, a start that a crash cut off included", async () => {
    const log = memoryLog();
    const graph = (run: Step["run"]) => [step("a", { attempts: 2, run })];
    for (const expected of [1, 2]) {
      const stuck = held();
      const abandoned = new AbortController();
      const driving = driveOf(graph(stuck.run), {
        log: {
          records: log.records,
          append: (r) => (abandoned.signal.aborted ? Promise.reject(new Error("killed")) : log.append(r)),
        },
      });
      assert.equal((await stuck.entered).attempt, expected);
      abandoned.abort();
      stuck.end(done());
      await assert.rejects(driving, /killed/);
    }
    const { attempts, run } = scripted(done());
    const end = await driveOf(graph(run), { log });
    assert.equal(end.kind === "failed" && end.code, "interrupted");
    assert.deepEqual(attempts, []);
  });

  test("the first step that used up its attempts stops the others, and the drive waits for them", async () => {
    const [bad, sibling] = [held(), held()];
    const log = memoryLog();
    let settled = false;
    const driving = driveOf(
      [
        step("bad", { run: bad.run }),
        step("sibling", { run: sibling.run }),
        step("after", { needs: ["sibling"] }),
      ],
      { log },
    ).finally(() => {
      settled = true;
    });
    const { signal } = await sibling.entered;
    bad.end(failed(false));
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    assert.equal(settled, false);
    sibling.end(done("in time"));
    assert.equal((await driving).kind, "failed");
    assert.deepEqual(log.lines(), ["started bad", "started sibling", "failed bad", "done sibling"]);
  });

  test("a run that has failed fails again without running anything", async () => {
    const log = memoryLog();
    const graph = [step("a", { run: async () => failed(true) }), step("b")];
    await driveOf(graph, { log });
    const before = log.all.length;
    assert.equal((await driveOf(graph, { log })).kind, "failed");
    assert.equal(log.all.length, before);
  });
});
