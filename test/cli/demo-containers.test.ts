/** `agent-fix demo` with every command of it in containers: the whole job, and nothing of it left afterwards. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { containerBackend, TEST_IMAGE } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, skipUnless } from "#test/support/tier.ts";
import { agentFix } from "./command.ts";

async function whyNot(): Promise<string | false> {
  if (!FULL) return "the demo takes a minute in containers: npm run test:full plays it";
  if (process.getuid?.() !== 0) return skipUnless(false, "podman is tried as root");
  const { missing } = await containerBackend();
  return skipUnless(missing === null, missing ?? "");
}

const containers = () =>
  execFileSync("podman", ["ps", "--all", "--format", "{{.ID}}"], { encoding: "utf8" }).split("\n");

test("the demo ends with a pull request when its commands run in containers", {
  skip: await whyNot(),
}, async () => {
  await using dir = await tempDir();
  const before = containers();
  const env = { SANDBOX: "podman", IMAGES_ALLOWED: TEST_IMAGE, DATA_DIR: dir.path, TMPDIR: dir.path };
  const { code, stdout, stderr } = await agentFix(["demo"], { env });
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /verdict: proven/);
  const traces = join(dir.path, "traces");
  const name = (await readdir(traces)).find((entry) => entry.endsWith(".jsonl")) ?? "";
  const trace = await readFile(join(traces, name), "utf8");
  assert.match(trace, /"isolation":"podman [^"]*agent-fix-test/, "it ran in a container of that image");
  // Other tests have containers of their own at the same time: only those with a directory of this one would be ours.
  const left = containers().filter((id) => id !== "" && !before.includes(id));
  for (const id of left) {
    const mounts = inspect(id);
    assert.ok(!mounts.includes(dir.path), `the container ${id} is left`);
  }
});

/** Where a container's files are; one that has gone meanwhile has none. */
function inspect(id: string): string {
  try {
    return execFileSync("podman", ["inspect", "--format", "{{.Mounts}}", id], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return "";
  }
}
