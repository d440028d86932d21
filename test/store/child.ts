/**
 * A second process on the same database, for the crash and contention tests.
 * `append <db> <run> <worker>`: appends for ever and prints each number once it is durable.
 * `contend <db> <run> <worker> <rounds>`: claims, appends two events while holding, releases; `rounds` times.
 * `receive <db> <run> <worker>`: takes deliveries in a thread of its own, many at once and each with a fact of the run, and prints the id of each once it is durable.
 * `create <db> - <worker> <issues>`: prints `open`, waits for a line on stdin, then tries to create one run for each issue and prints how many it got.
 */

import { once } from "node:events";
import { writeSync } from "node:fs";
import { systemClock } from "#src/base/clock.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import { openThreadedStore } from "#src/store/sqlite-threaded.ts";
import type { Store } from "#src/store/store.ts";
import { runRequest } from "./requests.ts";

const HEAD = { state: "preparing", ended: false };
const STDOUT = 1;

async function append(store: Store, runId: string, worker: string): Promise<void> {
  const lease = await store.claim(runId, worker, 60_000);
  if (lease === null) throw new Error("no lease");
  for (;;) {
    const pair = [worker, worker].map((by) => ({ type: "issue_closed", by }) as const);
    const appended = await store.append(lease, pair, HEAD);
    if (!appended.ok) throw new Error(appended.error);
    for (const { seq } of appended.value) writeSync(STDOUT, `${seq}\n`);
  }
}

const AT_ONCE = 16;

async function receive(store: Store, runId: string): Promise<void> {
  let sent = 0;
  const one = async () => {
    for (;;) {
      const id = `d${++sent}`;
      const fact = { runId, key: id, event: { type: "issue_closed", by: id } as const };
      await store.receive({ id, name: "issues", bodyHash: id }, { kind: "facts", facts: [fact] });
      writeSync(STDOUT, `${id}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

async function contend(store: Store, runId: string, worker: string, rounds: number): Promise<void> {
  for (let done = 0; done < rounds; ) {
    const lease = await store.claim(runId, worker, 60_000);
    if (lease === null) continue;
    for (const moment of ["begin", "end"]) {
      const event = { type: "issue_closed", by: `${moment} ${worker} ${lease.fence}` } as const;
      const appended = await store.append(lease, [event], HEAD);
      if (!appended.ok) throw new Error(appended.error);
    }
    await store.release(lease);
    done++;
  }
}

async function create(store: Store, worker: string, issues: number): Promise<void> {
  writeSync(STDOUT, "open\n");
  await once(process.stdin, "data");
  let won = 0;
  for (let issue = 1; issue <= issues; issue++) {
    const created = await store.createRun(runRequest(`${worker}-${issue}`, issue));
    if (created.ok) won++;
  }
  writeSync(STDOUT, `${won}\n`);
  process.stdin.destroy();
}

const [mode = "", path = "", runId = "", worker = "", count = "0"] = process.argv.slice(2);
const open = mode === "receive" ? openThreadedStore : openSqliteStore;
const store = await open({ path, clock: systemClock });
if (mode === "append") await append(store, runId, worker);
else if (mode === "contend") await contend(store, runId, worker, Number(count));
else if (mode === "receive") await receive(store, runId);
else if (mode === "create") await create(store, worker, Number(count));
else throw new Error(`unknown mode ${mode}`);
await store.close();
