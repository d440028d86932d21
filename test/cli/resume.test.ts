/** `agent-fix resume` when there is nothing to go on with: it says why, and what to do. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { openSqliteStore } from "#src/store/sqlite.ts";
import { sampleRequest } from "#test/run/sample.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { agentFix } from "./command.ts";

test("resume without an open run, with the server's, with one that ended or that nobody knows, says so and ends with 1", async () => {
  await using dir = await tempDir();
  const env = {
    DATA_DIR: dir.path,
    OPENAI_API_KEY: "a-key",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
  };
  await writeTree(dir.path, { "traces/01server.jsonl": "" });
  const path = join(dir.path, "local/state.db");
  const store = openSqliteStore({ path, clock: systemClock });
  await store.createRun({ ...sampleRequest(), runId: "01failed" });
  const lease = await store.claim("01failed", "w", 1_000);
  assert.ok(lease);
  const failed = { type: "failed", code: "budget", message: "the money is gone" } as const;
  await store.append(lease, [failed], { state: "failed", ended: true });
  await store.close();
  for (const [args, code, words] of [
    [[], 1, /^There is no local run that can go on\. agent-fix run begins one/],
    [
      ["01server"],
      1,
      /^Run 01server is not a local one: it is the server's, which goes on with it by itself/,
    ],
    [["01failed"], 1, /^Run 01failed has ended: failed \(budget: the money is gone\)\. Begin a new one/],
    [["01nobody"], 1, /^There is no run 01nobody in .*; agent-fix trace lists the runs/],
    [["../x"], 2, /^"\.\.\/x" is not a run id/],
  ] as const) {
    const ended = await agentFix(["resume", ...args], { env, cwd: dir.path });
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, words);
    assert.equal(ended.stdout, "");
  }
});
