/** Runs a test file in a child that gave root up, for suites that have to hold for an ordinary user too. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, SEED } from "#test/support/tier.ts";

/** A user that owns nothing. */
const UID = 61_999;

/** Asserts that the file's tests pass there and leave no file behind. Only root can call it. */
export async function runAsOrdinaryUser(
  suite: string,
  context: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using dir = await tempDir();
  const tmp = join(dir.path, "tmp");
  await mkdir(tmp);
  await chown(tmp, UID, UID);
  const child = spawn(process.execPath, ["--test-reporter=spec", suite], {
    uid: UID,
    gid: UID,
    env: {
      ...{ PATH: SYSTEM_PATH, TMPDIR: tmp, HOME: tmp, AGENT_FIX_PLANTED: "a-secret-of-the-app" },
      ...{ TEST_TIER: FULL ? "full" : "quick", TEST_SEED: String(SEED) },
      ...env,
    },
    cwd: "/",
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output += chunk.toString("utf8");
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const code = await new Promise((resolve) => child.once("close", resolve));
  const counts = output.split("\n").filter((line) => /^ℹ (tests|pass|fail|skipped) /.test(line));
  context.diagnostic(counts.join(", "));
  assert.equal(code, 0, output);
  assert.deepEqual(await readdir(tmp), [], "the suite left files behind");
}
