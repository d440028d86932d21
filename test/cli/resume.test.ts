/** `agent-fix resume` when there is nothing to go on with: it says why, and what to do. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { newestOpen, openRun } from "#src/cli/resumable.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import { sampleRequest } from "#test/run/sample.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { agentFix } from "./command.ts";

test("resume without an open run says so, as a wrong id is told, and the exit code says which it was", async () => {
  await using dir = await tempDir();
  const env = { DATA_DIR: dir.path, OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
  const none = await agentFix(["resume"], { env, cwd: dir.path });
  assert.deepEqual([none.code, none.stdout], [1, ""]);
  assert.match(none.stderr, /^There is no local run that can go on\. agent-fix run begins one/);
  const wrong = await agentFix(["resume", "../x"], { env, cwd: dir.path });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^"\.\.\/x" is not a run id/);
});

test("the newest open run goes on; one of the server, one that has ended and an unknown one are told apart", async () => {
  await using dir = await tempDir();
  await writeTree(dir.path, { "traces/01server.jsonl": "" });
  const store = openSqliteStore({ path: join(dir.path, "local/state.db"), clock: systemClock });
  const failed = { type: "failed", code: "budget", message: "the money is gone" } as const;
  const add = async (runId: string, number: number) => {
    const request = sampleRequest();
    const created = await store.createRun({ ...request, runId, issue: { ...request.issue, number } });
    assert.ok(created.ok);
  };
  await add("01failed", 1);
  const lease = await store.claim("01failed", "w", 1_000);
  assert.ok(lease);
  await store.append(lease, [failed], { state: "failed", ended: true });
  const why = async (runId: string) => {
    const found = await openRun(store, dir.path, runId);
    return found.ok ? found.value.runId : found.error;
  };
  try {
    assert.equal((await newestOpen(store)).ok, false);
    await add("01older", 1);
    await add("01newer", 2);
    const newest = await newestOpen(store);
    assert.equal(newest.ok && newest.value.runId, "01newer");
    assert.equal(await why("01older"), "01older");
    assert.match(
      await why("01server"),
      /not a local one: it is the server's, which goes on with it by itself/,
    );
    assert.match(await why("01failed"), /has ended: failed \(budget: the money is gone\)\. Begin a new one/);
    assert.match(await why("01nobody"), /^There is no run 01nobody in .*; agent-fix trace lists the runs/);
  } finally {
    await store.close();
  }
});
