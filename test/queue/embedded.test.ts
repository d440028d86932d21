/** The embedded queue runs the conformance suite, and so does every adapter beside it. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import { queueConformance } from "./conformance.ts";

queueConformance("embedded", createEmbeddedQueue);

test("every queue adapter in src/queue runs the conformance suite", () => {
  const adapters = readdirSync("src/queue").filter((file) => file !== "queue.ts");
  assert.deepEqual(adapters, ["embedded.ts"]);
  for (const file of adapters) {
    const testFile = join("test/queue", file.replace(/\.ts$/, ".test.ts"));
    assert.ok(existsSync(testFile) && readFileSync(testFile, "utf8").includes("queueConformance("), file);
  }
});
