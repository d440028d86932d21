/** What stops a drive: time limits, waiting, aborting and a log that refuses. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Step, StepLog } from "#src/dag/dag.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { done, driveOf, failed, held, memoryLog, scripted, step } from "./graph.ts";

suite("drive: time limits", () => {
  test("the limit aborts the step's signal; a step that stops counts as a timeout and is tried again", async () => {
    const clock = createManualClock();
    const first = held();
    const log = memoryLog();
    const run: Step["run"] = (context) =>
      context.attempt === 1 ? first.run(context) : Promise.resolve(done());
    const driving = driveOf([step("a", { attempts: 2, timeLimitMs: 500, run })], { clock, log });
    const { signal } = await first.entered;
    await clock.advance(499);
    assert.equal(signal.aborted, false);
    await clock.advance(1);
    assert.equal(signal.aborted, true);
    first.end(done("too late"));
    assert.equal((await driving).kind, "complete");
    const second = log.all[1];
    assert.ok(second?.kind === "failed" && second.code === "timeout" && second.retry);
    assert.match(second.message, /limit of 0.5 s/);
    assert.equal(clock.pending(), 0, "no timer is left");
  });

  test("F18: a step that ignores its signal is left behind after 10 s of grace, and its later result counts for nothing", async () => {
    const clock = createManualClock();
    const deaf = held();
    const log = memoryLog();
    const driving = driveOf([step("a", { timeLimitMs: 1000, run: deaf.run })], { clock, log });
    await deaf.entered;
    await clock.advance(1000);
    await clock.advance(9_999);
    assert.deepEqual(log.lines(), ["started a"]);
    await clock.advance(1);
    const end = await driving;
    assert.ok(end.kind === "failed" && end.code === "timeout");
    assert.match(end.message, /did not stop/);
    deaf.fail(new Error("late"));
    await clock.advance(1);
    assert.deepEqual(log.lines(), ["started a", "failed a"]);
  });
});

suite("drive: waiting and aborting", () => {
  test("a waiting step returns once nothing else can run, costs no attempt, and is asked again by the next drive", async () => {
    const log = memoryLog();
    const slow = held();
    let approved = false;
    const graph = [
      step("gate", { run: async () => (approved ? done("yes") : { kind: "waiting" }) }),
      step("slow", { run: slow.run }),
      step("publish", { needs: ["gate"] }),
    ];
    const driving = driveOf(graph, { log });
    await slow.entered;
    slow.end(done());
    assert.deepEqual(await driving, { kind: "waiting", step: "gate" });
    for (let visit = 0; visit < 5; visit++) assert.equal((await driveOf(graph, { log })).kind, "waiting");
    approved = true;
    assert.equal((await driveOf(graph, { log })).kind, "complete");
    assert.equal(log.lines().filter((line) => line === "started slow").length, 1);
  });

  test("a failure beside a waiting step wins", async () => {
    const end = await driveOf([
      step("gate", { run: async () => ({ kind: "waiting" }) }),
      step("bad", { run: async () => failed(false) }),
    ]);
    assert.equal(end.kind, "failed");
  });

  test("an abort stops every step and waits for them; their starts cost no attempt", async () => {
    const log = memoryLog();
    const controller = new AbortController();
    const [one, two] = [held(), held()];
    const graph = (first: Step["run"], second: Step["run"]) => [
      step("one", { run: first }),
      step("two", { run: second }),
    ];
    const driving = driveOf(graph(one.run, two.run), { log, signal: controller.signal });
    const contexts = await Promise.all([one.entered, two.entered]);
    controller.abort(new Error("cancelled by octocat"));
    for (const { signal } of contexts) assert.match(String(signal.reason), /cancelled by octocat/);
    one.fail(new Error("aborted"));
    two.end(done("finished all the same"));
    assert.deepEqual(await driving, { kind: "aborted" });
    assert.deepEqual(log.lines().toSorted(), ["done two", "paused one", "started one", "started two"]);
    const again = scripted(done());
    assert.equal((await driveOf(graph(again.run, again.run), { log })).kind, "complete");
    assert.deepEqual(again.attempts, [2], "`one` learns that it was started before; `two` stands");
  });

  test("an aborted step that never stops is left after 10 s, and its start stays open", async () => {
    const clock = createManualClock();
    const log = memoryLog();
    const controller = new AbortController();
    const deaf = held();
    const driving = driveOf([step("a", { run: deaf.run })], { clock, log, signal: controller.signal });
    await deaf.entered;
    controller.abort();
    await clock.waitForTimers(1);
    await clock.advance(10_000);
    assert.deepEqual(await driving, { kind: "aborted" });
    assert.deepEqual(log.lines(), ["started a"]);
    assert.equal(clock.pending(), 0);
    deaf.end(done());
  });

  test("a signal aborted before the start runs nothing; a complete graph stays complete", async () => {
    const log = memoryLog();
    const signal = AbortSignal.abort();
    assert.deepEqual(await driveOf([step("a")], { log, signal }), { kind: "aborted" });
    assert.deepEqual(log.all, []);
    await driveOf([step("a")], { log });
    assert.equal((await driveOf([step("a")], { log, signal })).kind, "complete");
  });
});

suite("drive: a log that refuses", () => {
  const refusingAfter = (count: number): StepLog => {
    const log = memoryLog();
    return {
      records: log.records,
      append: (record) =>
        log.all.length < count ? log.append(record) : Promise.reject(new Error("lease lost")),
    };
  };

  test("a lost lease aborts what runs, starts nothing more and rejects", async () => {
    const sibling = held();
    const driving = driveOf(
      [
        step("long", {
          run: (context) => {
            context.signal.addEventListener("abort", () => sibling.end(failed(true)));
            return sibling.run(context);
          },
        }),
        step("short"),
        step("after", { needs: ["short"], run: () => assert.fail("must not start") }),
      ],
      { log: refusingAfter(2) },
    );
    await assert.rejects(driving, /lease lost/);
    assert.equal((await sibling.entered).signal.aborted, true);
  });

  test("a step whose start cannot be recorded does not run", async () => {
    const graph = [step("a", { run: () => assert.fail("must not start") })];
    await assert.rejects(driveOf(graph, { log: refusingAfter(0) }), /lease lost/);
  });

  test("a defect in input, stands or a subscriber rejects after the running steps were stopped", async () => {
    const boom = () => {
      throw new Error("defect");
    };
    await assert.rejects(driveOf([step("a", { input: boom })]), /defect/);
    await assert.rejects(driveOf([step("a")], { onStart: boom }), /defect/);
    await assert.rejects(driveOf([step("a")], { onEnd: boom }), /defect/);
    const log = memoryLog();
    await driveOf([step("a")], { log });
    await assert.rejects(driveOf([step("a", { stands: async () => boom() })], { log }), /defect/);
  });
});
