/** Kept baselines: whole or not there, also when two runs end at once, and gone after a week. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "#src/base/log.ts";
import { createBaselines } from "#src/cli/evidence-store.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const WEEK_MS = 7 * 86_400_000;

test("a baseline is read as it was written, whoever writes at the same time, and no part is left", async () => {
  await using dir = await tempDir("baselines-");
  const directory = join(dir.path, "kept");
  let ahead = 0;
  const baselines = createBaselines(directory, () => Date.now() + ahead, silentLog);
  assert.equal(await baselines.read("a"), null);
  const texts = Array.from({ length: 8 }, (_, n) => String(n).repeat(200_000));
  await Promise.all(texts.map((text) => baselines.write("a", text)));
  assert.ok(texts.includes((await baselines.read("a")) ?? ""), "one of them, whole");
  assert.deepEqual(readdirSync(directory), ["a.json"]);
  ahead = WEEK_MS + 60_000;
  assert.equal(await baselines.read("a"), null);
});
