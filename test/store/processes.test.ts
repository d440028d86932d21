/** The SQLite store under several processes: killed in the middle of writing, and fighting for one lease. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import { openDatabase } from "#src/store/sqlite-database.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL } from "#test/support/tier.ts";
import { runRequest } from "./requests.ts";

const CHILD = join(import.meta.dirname, "child.ts");

type Child = ChildProcessByStdio<Writable, Readable, null>;

function start(...values: readonly string[]): Child {
  return spawn(process.execPath, [CHILD, ...values], { stdio: ["pipe", "pipe", "inherit"] });
}

async function exitCode(child: Child): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

test("F17: after SIGKILL in the middle of appending, every acknowledged event is there and no number is missing", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "state.db");
  const setup = openSqliteStore({ path, clock: systemClock });
  await setup.createRun(runRequest("r1"));
  await setup.close();

  for (let round = 0; round < (FULL ? 25 : 6); round++) {
    const child = start("append", path, "r1", "worker");
    const acknowledged: number[] = [];
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) {
      acknowledged.push(Number(line));
      // A different number of writes each round, so that the kill meets different moments.
      if (acknowledged.length === 40 + round * 17) child.kill("SIGKILL");
    }
    await exitCode(child);
    assert.equal(child.signalCode, "SIGKILL");

    const store = openSqliteStore({ path, clock: systemClock });
    const numbers = (await store.events("r1")).map(({ seq }) => seq);
    await store.close();
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
    );
    assert.ok(numbers.length >= Math.max(...acknowledged), "an acknowledged event is missing");
    assert.equal(numbers.length % 2, 1, "events are appended in pairs: half a pair was kept");
  }
  const database = openDatabase(path);
  assert.deepEqual({ ...database.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
  database.close();
});

test("F17: after SIGKILL in the middle of a group, every acknowledged delivery is there, and each that is there has what it became", async () => {
  await using directory = await tempDir();
  for (let round = 0; round < (FULL ? 25 : 3); round++) {
    const path = join(directory.path, String(round), "state.db");
    const setup = openSqliteStore({ path, clock: systemClock });
    await setup.createRun(runRequest("r1"));
    await setup.close();
    const child = start("receive", path, "r1", "worker");
    const acknowledged: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length === 50 + round * 23) child.kill("SIGKILL");
    }
    await exitCode(child);
    assert.equal(child.signalCode, "SIGKILL");

    const store = openSqliteStore({ path, clock: systemClock });
    const facts = (await store.events("r1", 1)).flatMap(({ event }) =>
      event.type === "issue_closed" ? [event.by] : [],
    );
    const sent = Array.from({ length: acknowledged.length + 1_000 }, (_, at) => `d${at + 1}`);
    const recorded = await store.knownDeliveries(sent);
    await store.close();
    assert.deepEqual(
      acknowledged.filter((id) => !recorded.has(id)),
      [],
    );
    assert.deepEqual(new Set(facts), recorded);
  }
});

test("two processes contending for one lease never write at the same time", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "state.db");
  const store = openSqliteStore({ path, clock: systemClock });
  try {
    await store.createRun(runRequest("r1"));
    const rounds = FULL ? 500 : 60;
    const children = ["a", "b"].map((worker) => start("contend", path, "r1", worker, String(rounds)));
    assert.deepEqual(await Promise.all(children.map(exitCode)), [0, 0]);
    const events = (await store.events("r1", 1)).map(({ event }) => event);
    assert.equal(events.length, 2 * 2 * rounds);
    const fences: number[] = [];
    for (let index = 0; index < events.length; index += 2) {
      const [begin, end] = [events[index], events[index + 1]];
      assert.ok(begin?.type === "issue_closed" && end?.type === "issue_closed");
      assert.equal(begin.by.replace("begin", "end"), end.by, "another worker wrote in between");
      fences.push(Number(begin.by.split(" ")[2]));
    }
    assert.deepEqual(
      fences,
      fences.map((_, index) => index + 1),
    );
    assert.deepEqual(await store.leases(), []);
  } finally {
    await store.close();
  }
});

test("processes that open a new database at once all succeed, and each issue gets exactly one run", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "new", "state.db");
  const issues = 20;
  const children = ["a", "b", "c"].map((worker) => start("create", path, "-", worker, String(issues)));
  const won = await Promise.all(
    children.map(async (child) => {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value, "open");
      child.stdin.write("go\n");
      return Number((await lines.next()).value);
    }),
  );
  assert.deepEqual(await Promise.all(children.map(exitCode)), [0, 0, 0]);
  assert.equal(
    won.reduce((sum, count) => sum + count),
    issues,
  );
});
