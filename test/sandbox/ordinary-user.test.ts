/** Runs the conformance suite as an ordinary user: directly, or, when the tests run as root, in a child that gave root up. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chown, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";

/** A user that owns nothing. */
const UID = 61_999;
const SUITE = join(import.meta.dirname, "ordinary-user.ts");

if (process.getuid?.() === 0) {
  test("the sandbox suites pass for an ordinary user", async (context) => {
    await using dir = await tempDir();
    const tmp = join(dir.path, "tmp");
    await mkdir(tmp);
    await chown(tmp, UID, UID);
    const env = { PATH: SYSTEM_PATH, TMPDIR: tmp, HOME: tmp, AGENT_FIX_PLANTED: "a-secret-of-the-app" };
    const child = spawn(process.execPath, ["--test-reporter=spec", SUITE], {
      uid: UID,
      gid: UID,
      env,
      cwd: "/",
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    const counts = output.split("\n").filter((line) => /^ℹ (tests|pass|fail|skipped) /.test(line));
    context.diagnostic(counts.join(", "));
    assert.equal(code, 0, output);
    assert.deepEqual(await readdir(tmp), [], "the suite left files behind");
  });
} else {
  await import("#test/sandbox/ordinary-user.ts");
}
