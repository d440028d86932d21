/** The SQLite store behind a message port and in a thread: the conformance suite, group commit, and what happens when the thread is gone. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { systemClock } from "#src/base/clock.ts";
import { createSqliteStore } from "#src/store/sqlite.ts";
import { openDatabase } from "#src/store/sqlite-database.ts";
import { connectStore, openThreadedStore } from "#src/store/sqlite-threaded.ts";
import type { Store } from "#src/store/store.ts";
import { serveStore } from "#src/store/store-service.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { storeConformance } from "./conformance.ts";
import { runRequest } from "./requests.ts";

// Both ends in this thread: the same messages and the same groups, without starting a hundred threads.
storeConformance("sqlite behind a port", async (clock, use) => {
  await using directory = await tempDir();
  const path = join(directory.path, "state.db");
  const opened: Store[] = [];
  const open = async () => {
    const { port1, port2 } = new MessageChannel();
    serveStore(port1, path);
    const store = await connectStore(port2, { path, clock }, async () => port2.close());
    opened.push(store);
    return store;
  };
  try {
    await use(await open(), open);
  } finally {
    for (const store of opened) await store.close();
  }
});

suite("group commit", () => {
  const delivery = (id: string) => ({ id, name: "issues", bodyHash: `hash of ${id}` });
  const NOTHING = { kind: "nothing" } as const;

  test("calls that wait together are answered when the one commit that holds them all is on record, and not before", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const store = await openThreadedStore({ path, clock: systemClock });
    const reader = openDatabase(path);
    const versions = new Set<unknown>();
    const seen = reader.prepare("SELECT 1 FROM delivery WHERE id = ?");
    const version = reader.prepare("PRAGMA data_version");
    await Promise.all(
      Array.from({ length: 100 }, async (_, at) => {
        await store.receive(delivery(`d${at}`), NOTHING);
        versions.add(version.get()?.data_version);
        assert.ok(seen.get(`d${at}`) !== undefined, "it was answered before it was committed");
      }),
    );
    assert.ok(versions.size <= 10, `${versions.size} commits for 100 deliveries at one time`);
    reader.close();
    await store.close();
  });

  test("a group that the disk has no room for is made again one by one: what fits is kept, what does not is told so", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const clock = createManualClock();
    const store = createSqliteStore(database, { path, clock });
    await store.createRun(runRequest("r1"));
    const lease = await store.claim("r1", "w1", 1_000);
    assert.ok(lease);
    const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
    database.exec(`PRAGMA max_page_count = ${pages + 3}`);
    const calls = [
      () => store.receive(delivery("before"), NOTHING),
      () => store.putBlob(lease, "big", new Uint8Array(1_000_000)),
      () => store.receive(delivery("after"), NOTHING),
      () => store.blob("r1", "big"),
    ];
    const answers = await store.together(calls.map((make, at) => ({ writes: at < 3, make })));
    assert.deepEqual(
      answers.map((answer) => (answer.status === "fulfilled" ? answer.value : answer.reason.code)),
      [{ runIds: [] }, "disk_full", { runIds: [] }, null],
    );
    assert.equal(database.isTransaction, false);
    assert.deepEqual(await store.knownDeliveries(["before", "after", "no"]), new Set(["before", "after"]));
    await store.close();
  });

  test("a group whose commit fails is made again one by one", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const store = createSqliteStore(database, { path, clock: createManualClock() });
    // The constraint is looked at when everything else is done: only the commit finds it broken.
    const broken = async () => {
      database.exec(
        `INSERT INTO run (run_id, repository_id, issue, request, state, ended, superseded_by, created_at, updated_at)
           VALUES ('lost', 1, 1, '{}', 'queued', 0, 'nobody', 0, 0)`,
      );
    };
    const answers = await store.together([
      { writes: true, make: () => store.receive(delivery("good"), NOTHING) },
      { writes: true, make: broken },
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    assert.deepEqual(await store.knownDeliveries(["good"]), new Set(["good"]));
    assert.equal(await store.run("lost"), null);
    await store.close();
  });

  test("while another process holds the lock, those that write are told so at once, and those that read are answered", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const store = createSqliteStore(database, { path, clock: createManualClock() });
    database.exec("PRAGMA busy_timeout = 200");
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    const write = { writes: true, make: () => store.receive(delivery("x"), NOTHING) };
    const read = { writes: false, make: () => store.runs({ limit: 1 }) };
    const startedAt = performance.now();
    const answers = await store.together([...Array.from({ length: 50 }, () => write), read]);
    assert.ok(performance.now() - startedAt < 5_000, "each waited for the lock by itself");
    assert.equal(answers.filter(({ status }) => status === "rejected").length, 50);
    assert.deepEqual(answers.at(-1), { status: "fulfilled", value: [] });
    other.exec("ROLLBACK");
    other.close();
    await store.close();
  });
});

suite("the thread", () => {
  test("a store that cannot be opened says why, as without a thread", async () => {
    await using directory = await tempDir();
    await assert.rejects(openThreadedStore({ path: directory.path, clock: systemClock }), {
      code: "cannot_open",
      message: /DATA_DIR/,
    });
  });

  test("a thread that ends takes no call with it in silence, and the store is not ready", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const { port1, port2 } = new MessageChannel();
    serveStore(port1, path);
    const listeners = new Map<string, (value: unknown) => void>();
    const wire = {
      postMessage: (value: unknown) => port2.postMessage(value),
      on: (event: string, listener: (value: unknown) => void) => {
        listeners.set(event, listener);
        if (event === "message") port2.on(event, listener);
      },
      ref: () => port2.ref(),
      unref: () => port2.unref(),
      close: () => port2.close(),
    };
    const store = await connectStore(wire, { path, clock: systemClock }, async () => undefined);
    assert.equal(await store.ready(), true);
    const lost = store.receive({ id: "a", name: "issues", bodyHash: "h" }, { kind: "nothing" });
    listeners.get("error")?.(new Error("out of memory"));
    await assert.rejects(lost, { code: "failed", message: /out of memory.*Start agent-fix again/ });
    await assert.rejects(store.run("r1"), /Start agent-fix again/);
    assert.equal(await store.ready(), false);
    await store.close();
    wire.close();
  });

  test("a value that cannot be sent is refused, and the next call is answered", async () => {
    await using directory = await tempDir();
    const store = await openThreadedStore({ path: join(directory.path, "state.db"), clock: systemClock });
    const odd = (() => 1) as unknown as string;
    await assert.rejects(store.run(odd), /could not be cloned/);
    assert.equal(await store.run("r1"), null);
    const last = store.receive({ id: "a", name: "issues", bodyHash: "h" }, { kind: "nothing" });
    await Promise.all([store.close(), store.close()]);
    assert.deepEqual(await last, { runIds: [] }, "what was asked before is done before");
    await assert.rejects(store.run("r1"), /was closed/);
    assert.equal(await store.ready(), false);
  });
});
