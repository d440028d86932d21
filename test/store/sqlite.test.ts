/** The SQLite store: the conformance suite, its file modes, migrations and what it says when the file or disk fails it. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { MIGRATIONS } from "#src/store/migrations.ts";
import { createSqliteStore, openSqliteStore } from "#src/store/sqlite.ts";
import { openDatabase } from "#src/store/sqlite-database.ts";
import type { Store } from "#src/store/store.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { storeConformance } from "./conformance.ts";
import { runRequest } from "./requests.ts";

const clock = createManualClock();

storeConformance("sqlite", async (storeClock, use) => {
  await using directory = await tempDir();
  const path = join(directory.path, "state.db");
  const opened: Store[] = [];
  const open = async () => {
    const store = openSqliteStore({ path, clock: storeClock });
    opened.push(store);
    return store;
  };
  try {
    await use(await open(), open);
  } finally {
    for (const store of opened) await store.close();
  }
});

suite("sqlite: the file", () => {
  test("directory, database and side files are private, whatever the umask", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "data", "deep", "state.db");
    const before = process.umask(0);
    try {
      const store = openSqliteStore({ path, clock });
      await store.createRun(runRequest("r1"));
      const modeOf = (file: string) => statSync(file).mode & 0o777;
      assert.equal(modeOf(join(directory.path, "data")), 0o700);
      assert.equal(modeOf(join(directory.path, "data", "deep")), 0o700);
      for (const suffix of ["", "-wal", "-shm"]) assert.equal(modeOf(path + suffix), 0o600, suffix);
      await store.close();
    } finally {
      process.umask(before);
    }
  });

  test("a database copied in with open permissions is made private", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    writeFileSync(path, "", { mode: 0o644 });
    await openSqliteStore({ path, clock }).close();
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  test("commits are synchronous, logged ahead, with foreign keys and a busy timeout of 5 s", async () => {
    await using directory = await tempDir();
    const database = openDatabase(join(directory.path, "state.db"));
    const read = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.deepEqual(["journal_mode", "synchronous", "foreign_keys", "busy_timeout"].map(read), [
      "wal",
      2,
      1,
      5000,
    ]);
    database.close();
  });
});

suite("sqlite: migrations", () => {
  test("versions count up from 1 without gaps", () => {
    assert.deepEqual(
      MIGRATIONS.map(({ version }) => version),
      MIGRATIONS.map((_, index) => index + 1),
    );
  });

  test("a later version is applied once, over the data of the earlier one", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const store = openSqliteStore({ path, clock });
    await store.createRun(runRequest("r1"));
    await store.close();
    const version = MIGRATIONS.length + 1;
    const later = [...MIGRATIONS, { version, statements: ["ALTER TABLE run ADD COLUMN note TEXT"] }];
    openDatabase(path, later).close();
    const database = openDatabase(path, later);
    assert.deepEqual(
      { ...database.prepare("SELECT run_id, note FROM run").get() },
      { run_id: "r1", note: null },
    );
    database.close();
    assert.throws(() => openDatabase(path), { code: "newer_version", message: /written by a newer version/ });
  });

  test("a migration that fails half way leaves the database as it was", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    openDatabase(path).close();
    const broken = [
      ...MIGRATIONS,
      { version: MIGRATIONS.length + 1, statements: ["CREATE TABLE extra (x)", "CREATE NONSENSE"] },
    ];
    assert.throws(() => openDatabase(path, broken), /NONSENSE/);
    const database = openDatabase(path);
    assert.equal(database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'extra'").get(), undefined);
    database.close();
  });
});

suite("sqlite: faults become a code and a remedy", () => {
  test("a file that is no database, another program's, or a directory is left untouched", async () => {
    await using directory = await tempDir();
    const garbage = join(directory.path, "garbage.db");
    const text = "this is a letter, not a database\n".repeat(100);
    writeFileSync(garbage, text);
    assert.throws(() => openSqliteStore({ path: garbage, clock }), { code: "not_a_database" });
    assert.equal(readFileSync(garbage, "utf8"), text);

    const foreign = join(directory.path, "foreign.db");
    const other = new DatabaseSync(foreign);
    other.exec("CREATE TABLE bookmarks (url)");
    other.close();
    assert.throws(() => openSqliteStore({ path: foreign, clock }), { message: /belongs to another program/ });
    const check = new DatabaseSync(foreign);
    assert.equal(check.prepare("PRAGMA journal_mode").get()?.journal_mode, "delete");
    check.close();

    assert.throws(() => openSqliteStore({ path: directory.path, clock }), { code: "cannot_open" });
    assert.throws(() => openSqliteStore({ path: join(garbage, "state.db"), clock }), {
      code: "cannot_open",
      message: /DATA_DIR/,
    });
  });

  test("damaged pages are reported as damage, and the store is not ready", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const store = openSqliteStore({ path, clock });
    for (let issue = 0; issue < 200; issue++) await store.createRun(runRequest(`r${issue}`, issue));
    await store.close();
    const file = readFileSync(path);
    file.fill(0x5a, 4096);
    writeFileSync(path, file);
    let damaged: Store | null = null;
    await assert.rejects(
      async () => {
        damaged = openSqliteStore({ path, clock });
        await damaged.run("r1");
      },
      { code: "corrupt", message: /restore the last backup/ },
    );
    assert.equal(await (damaged as Store | null)?.ready(), false);
    await (damaged as Store | null)?.close();
  });

  test("a body that is no JSON is damage, not a crash of the parser", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const store = createSqliteStore(database, { path, clock });
    await store.createRun(runRequest("r1"));
    database.exec("UPDATE event SET body = '{'");
    await assert.rejects(store.events("r1"), { code: "corrupt" });
    await store.close();
  });

  test("a full disk refuses the write, keeps what was recorded, and recovers when there is space", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const store = createSqliteStore(database, { path, clock });
    await store.createRun(runRequest("r1"));
    const lease = await store.claim("r1", "w1", 1000);
    assert.ok(lease);
    const pages = Number(Object.values(database.prepare("PRAGMA page_count").get() ?? {})[0]);
    database.exec(`PRAGMA max_page_count = ${pages + 3}`);
    await assert.rejects(store.putBlob(lease, "big", new Uint8Array(1_000_000)), { code: "disk_full" });
    assert.equal((await store.events("r1")).length, 1);
    assert.equal(await store.ready(), true);
    database.exec("PRAGMA max_page_count = 100000");
    assert.equal((await store.putBlob(lease, "big", new Uint8Array(1_000_000))).ok, true);
    await store.close();
  });

  test("a database locked by another process is said to be locked, and works again after", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    const database = openDatabase(path);
    const store = createSqliteStore(database, { path, clock });
    database.exec("PRAGMA busy_timeout = 20");
    const other = openDatabase(path);
    other.exec("BEGIN IMMEDIATE");
    await assert.rejects(store.createRun(runRequest("r1")), { code: "locked", message: /another process/ });
    assert.deepEqual(await store.runs({ limit: 1 }), [], "reading goes on meanwhile");
    other.exec("ROLLBACK");
    assert.equal((await store.createRun(runRequest("r1"))).ok, true);
    other.close();
    await store.close();
  });

  test("a database that may only be read refuses the write with the remedy", async () => {
    await using directory = await tempDir();
    const path = join(directory.path, "state.db");
    openDatabase(path).close();
    const store = createSqliteStore(new DatabaseSync(path, { readOnly: true }), { path, clock });
    await assert.rejects(store.createRun(runRequest("r1")), {
      code: "read_only",
      message: /write permission/,
    });
    await store.close();
  });
});

test("every store adapter in src/store runs the conformance suite", () => {
  const adapters = readdirSync("src/store").filter((file) =>
    /export (async )?function open\w+Store/.test(readFileSync(join("src/store", file), "utf8")),
  );
  assert.deepEqual(adapters.sort(), ["sqlite-threaded.ts", "sqlite.ts"]);
  for (const file of adapters) {
    const testFile = join("test/store", file.replace(/\.ts$/, ".test.ts"));
    assert.ok(existsSync(testFile) && readFileSync(testFile, "utf8").includes("storeConformance("), file);
  }
});
