/** The stand-in for cargo hands every argument on once, with `--no-fail-fast` before the test binary's own. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDir } from "#test/support/temp-dir.ts";

const PROGRAMS = join(import.meta.dirname, "../../src/verify/hooks/programs.sh");

test("cargo gets its arguments once, whether or not they say not to stop at the first failure", async () => {
  await using dir = await tempDir("stand-ins-");
  const [standIns, programs] = [join(dir.path, "hooks/bin"), join(dir.path, "programs")];
  for (const path of [standIns, programs]) mkdirSync(path, { recursive: true });
  copyFileSync(PROGRAMS, join(standIns, "cargo"));
  writeFileSync(join(programs, "cargo"), '#!/bin/sh\necho "$*"\n');
  for (const path of [standIns, programs]) chmodSync(join(path, "cargo"), 0o755);
  const rows: readonly (readonly [string, string])[] = [
    ["test", "test --no-fail-fast"],
    ["test --no-fail-fast", "test --no-fail-fast"],
    ["test --workspace --no-fail-fast", "test --workspace --no-fail-fast"],
    ["test --offline -- --exact a", "test --no-fail-fast --offline -- --exact a"],
    ["test --no-fail-fast -- a", "test --no-fail-fast -- a"],
    ["t", "t --no-fail-fast"],
    ["build --release", "build --release"],
  ];
  for (const [given, wanted] of rows) {
    const ran = spawnSync("bash", [join(standIns, "cargo"), ...given.split(" ")], {
      encoding: "utf8",
      env: { PATH: `${standIns}:${programs}:/usr/bin:/bin` },
    });
    assert.equal(ran.stdout.trim(), wanted, ran.stderr);
  }
});
