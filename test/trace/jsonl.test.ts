/** The trace writer and reader on real files: numbering, torn lines, redaction, full disks and old or new schemas. */

import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import { type Log, silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { appendFile } from "#src/trace/append-file.ts";
import { openTrace, tracePath } from "#src/trace/jsonl.ts";
import { parseTrace, readTrace, type TraceFile } from "#src/trace/read.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, skipUnless } from "#test/support/tier.ts";
import { event, SAMPLE, TYPES } from "./sample.ts";

function opened(dir: string, log: Log = silentLog, secrets: readonly string[] = []) {
  return openTrace({
    dir,
    runId: "01run",
    clock: createManualClock(0),
    redactor: createRedactor(secrets),
    log,
  });
}

async function read(path: string): Promise<TraceFile> {
  const file = await readTrace(path);
  assert.ok(file.ok, file.ok ? "" : file.error.message);
  return file.value;
}

suite("writing", () => {
  test("every type is written at once as one line, numbered, and read back as it was", async () => {
    await using dir = await tempDir();
    const trace = opened(join(dir.path, "traces"));
    for (const [index, type] of TYPES.entries()) {
      trace.emit(type, SAMPLE[type], { step: "solve", turn: index });
      assert.equal(readFileSync(trace.path, "utf8").split("\n").length, index + 2, "on disk before the next");
    }
    trace.close();
    const { events, skipped } = await read(trace.path);
    assert.deepEqual(skipped, []);
    assert.deepEqual(events[0], {
      v: 1,
      run: "01run",
      n: 1,
      at: "1970-01-01T00:00:00.000Z",
      step: "solve",
      turn: 0,
      type: "run_started",
      data: SAMPLE.run_started,
    });
    assert.deepEqual(
      events.map(({ n, type, data }) => ({ n, type, data })),
      TYPES.map((type, index) => ({ n: index + 1, type, data: SAMPLE[type] })),
    );
  });

  test("directory and file are private; step and turn are null when not given", async () => {
    await using dir = await tempDir();
    const trace = opened(join(dir.path, "traces"));
    trace.emit("warning", { text: "x" });
    trace.close();
    assert.equal(statSync(join(dir.path, "traces")).mode & 0o777, 0o700);
    assert.equal(statSync(trace.path).mode & 0o777, 0o600);
    const [first] = (await read(trace.path)).events;
    assert.deepEqual([first?.step, first?.turn], [null, null]);
  });

  test("what happened in a sub-agent carries the id of its call, everything else carries none", async () => {
    await using dir = await tempDir();
    const trace = opened(join(dir.path, "traces"));
    trace.emit("tool_call", SAMPLE.tool_call, { step: "solve", turn: 3, parent: "call00009" });
    trace.emit("tool_call", SAMPLE.tool_call, { step: "solve", turn: 3 });
    trace.close();
    const { events } = await read(trace.path);
    assert.equal(events[0]?.parent, "call00009");
    assert.ok(events[1] !== undefined && !("parent" in events[1]));
  });

  test("a later process goes on numbering; after a torn line it starts a new one", async () => {
    await using dir = await tempDir();
    for (const text of ["one", "two"]) {
      const trace = opened(dir.path);
      trace.emit("warning", { text });
      trace.close();
    }
    const path = tracePath(dir.path, "01run");
    appendFileSync(path, '{"v":1,"run":"01run","n":3,"at":"19');
    const trace = opened(dir.path);
    trace.emit("warning", { text: "three" });
    trace.close();
    const { events, skipped } = await read(path);
    assert.deepEqual(
      events.map(({ n, data }) => `${n} ${data.text}`),
      ["1 one", "2 two", "3 three"],
    );
    assert.deepEqual(skipped, [3]);
  });

  test("E01, E14: no spelling of a secret reaches the file, in keys, lists and after a line break too", async () => {
    await using dir = await tempDir();
    const secret = "s3cr3t/with+signs and\nbreak";
    const token = `ghs_${"a1B2".repeat(9)}`;
    const trace = opened(dir.path, silentLog, [secret]);
    trace.emit("tool_result", {
      ...SAMPLE.tool_result,
      text: `first\n${token}\nhttps://x-access-token:${token}@github.example/o/r ${secret} ${encodeURIComponent(secret)} ${Buffer.from(secret).toString("base64")}`,
      wrote: [`dir/${secret}`],
    });
    trace.emit("model_reply", { ...SAMPLE.model_reply, extra: { [secret]: [{ deep: token }] } });
    trace.close();
    const content = readFileSync(trace.path, "utf8");
    for (const form of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      token,
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64"),
    ])
      assert.ok(!content.includes(form), form);
    assert.equal((await read(trace.path)).events.length, 2, "still whole lines");
  });

  test("a file that cannot be written is reported once, the run goes on, and the gap is told when there is space again", async () => {
    await using dir = await tempDir();
    const traces = join(dir.path, "traces");
    writeFileSync(traces, "a file where the directory should be");
    const warnings: object[] = [];
    const trace = opened(traces, { ...silentLog, warn: (fields) => void warnings.push(fields) });
    for (let n = 0; n < 3; n++) trace.emit("warning", { text: `lost ${n}` });
    assert.equal(warnings.length, 1);
    rmSync(traces);
    trace.emit("warning", { text: "kept" });
    trace.close();
    assert.deepEqual(
      (await read(trace.path)).events.map(({ n, data }) => `${n} ${data.text}`),
      ["1 3 lines before this one could not be written", "2 kept"],
    );
    assert.equal(warnings.length, 1);
  });

  test("a device in the place of the file is refused, not read for ever", async () => {
    await using dir = await tempDir();
    symlinkSync("/dev/zero", join(dir.path, "01run.jsonl"));
    const warnings: { error?: string }[] = [];
    const trace = opened(dir.path, { ...silentLog, warn: (fields) => void warnings.push(fields) });
    trace.emit("warning", { text: "x" });
    trace.close();
    assert.match(String(warnings[0]?.error), /not a regular file/);
  });

  test("a disk that fills up in the middle of a line tears that line only, and its number is used again", async () => {
    await using dir = await tempDir();
    const path = join(dir.path, "lines");
    let space = Number.POSITIVE_INFINITY;
    const write = (fd: number, bytes: Uint8Array) => {
      if (space === 0) throw new Error("ENOSPC");
      return writeSync(fd, bytes.subarray(0, space));
    };
    const file = appendFile(path, (line) => Number(line) || null, write);
    file.append((n) => `${n}00`);
    for (space of [1, 0]) assert.throws(() => file.append((n) => `${n}00`), /space|ENOSPC/);
    space = Number.POSITIVE_INFINITY;
    file.append((n) => `${n}00`);
    file.close();
    assert.equal(readFileSync(path, "utf8"), "100\n2\n200\n");
  });

  test("data that is no JSON is reported, not thrown; closing ends the writing", async () => {
    await using dir = await tempDir();
    const warnings: object[] = [];
    const trace = opened(dir.path, { ...silentLog, warn: (fields) => void warnings.push(fields) });
    trace.emit("warning", { text: 1n as unknown as string });
    assert.equal(warnings.length, 1);
    trace.emit("warning", { text: "after" });
    trace.close();
    trace.emit("warning", { text: "closed" });
    trace.close();
    assert.deepEqual(
      (await read(trace.path)).events.map(({ n }) => n),
      [1, 2],
    );
  });

  test("H08: a run id that is none makes no path", () => {
    for (const id of ["", "../state", "a/b", "a\0", ".hidden", "x".repeat(65)])
      assert.throws(() => tracePath("/data/traces", id), TypeError);
    assert.equal(tracePath("/data/traces", "01jabc"), "/data/traces/01jabc.jsonl");
  });
});

suite("reading", () => {
  test("F17: whatever byte a crash cuts the file at, all whole lines before it are read", async () => {
    await using dir = await tempDir();
    const trace = opened(dir.path);
    for (const text of ["first", "zweite ä😀", "third"]) trace.emit("warning", { text });
    trace.close();
    const whole = readFileSync(trace.path);
    const copy = join(dir.path, "cut.jsonl");
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(copy, whole);
      truncateSync(copy, length);
      const { events, skipped } = await read(copy);
      const prefix = whole.subarray(0, length).toString("utf8");
      const ends = prefix.split("\n").length - 1;
      const cutAtEnd = [ends, ends + 1].includes(events.length);
      assert.ok(cutAtEnd, `${events.length} of ${ends} at ${length}`);
      assert.ok(skipped.length <= 1);
      assert.deepEqual(
        events.map(({ n }) => n),
        events.map((_, index) => index + 1),
      );
    }
  });

  test("another schema version is refused with what to do", () => {
    const later = parseTrace(`${JSON.stringify(event("warning"))}\n{"v":2,"anything":true}\n`, "t.jsonl");
    assert.ok(!later.ok);
    assert.equal(later.error.code, "other_version");
    assert.match(
      later.error.message,
      /Line 2 .* version 2; this version knows 1\. Read it with a newer agent-fix/,
    );
    const earlier = parseTrace('{"v":0}\n', "t.jsonl");
    assert.match(earlier.ok ? "" : earlier.error.message, /the agent-fix that wrote it/);
  });

  test("lines that are no trace lines are skipped and counted; a file of nothing else is refused", () => {
    const good = JSON.stringify(event("warning"));
    const bad = [
      "null",
      "[]",
      "{}",
      '"x"',
      JSON.stringify({ ...event("warning"), n: 1.5 }),
      JSON.stringify({ ...event("warning"), at: "yesterday" }),
      JSON.stringify({ ...event("warning"), data: [] }),
      JSON.stringify({ ...event("warning"), turn: "1" }),
    ];
    const mixed = parseTrace([good, ...bad, "", good].join("\n"), "t");
    assert.ok(mixed.ok);
    assert.equal(mixed.value.events.length, 2);
    assert.deepEqual(
      mixed.value.skipped,
      bad.map((_, index) => index + 2),
    );
    const none = parseTrace("dear diary,\ntoday", "t");
    assert.equal(none.ok ? "" : none.error.code, "not_a_trace");
    assert.deepEqual(parseTrace("", "t"), { ok: true, value: { events: [], skipped: [] } });
  });

  test("a missing or unreadable file is told apart", async () => {
    await using dir = await tempDir();
    const missing = await readTrace(join(dir.path, "no.jsonl"));
    assert.equal(missing.ok ? "" : missing.error.code, "missing");
    const directory = await readTrace(dir.path);
    assert.equal(directory.ok ? "" : directory.error.code, "unreadable");
  });

  test("a file of another user without read permission is unreadable", {
    skip: skipUnless(process.getuid?.() !== 0, "root reads everything"),
  }, async () => {
    await using dir = await tempDir();
    const path = join(dir.path, "t.jsonl");
    writeFileSync(path, "");
    chmodSync(path, 0);
    const file = await readTrace(path);
    assert.equal(file.ok ? "" : file.error.code, "unreadable");
  });

  test("any text and any JSON survive being written and read", async () => {
    await using dir = await tempDir();
    const trace = opened(dir.path);
    const texts = fc.sample(fc.string({ unit: "binary", maxLength: 60 }), {
      numRuns: FULL ? 5000 : 300,
      seed: 5,
    });
    for (const text of texts) trace.emit("notice", { text });
    trace.close();
    assert.deepEqual(
      (await read(trace.path)).events.map(({ data }) => data.text),
      texts,
    );
  });
});
