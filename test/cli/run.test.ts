/** `agent-fix run` end to end on a local checkout with a scripted model: a patch that applies, and nothing else that was touched. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { sha256 } from "#src/base/canonical-json.ts";
import { startModelServer } from "#src/demo/model-server.ts";
import { type Scenario, scriptOf } from "#src/demo/scripts.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { queryState } from "#test/support/left-behind.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, inTurn } from "#test/support/tier.ts";
import { agentFix, type Ended } from "./command.ts";

const FIXTURE = join(import.meta.dirname, "../../fixtures/demo/repository");
const KEY = "a-key-that-must-stay-secret";
const ISSUE = "# Small amounts of cents are printed wrong\n\n2.05 is shown as `2.5`.\n";

async function git(directory: string, ...args: readonly string[]): Promise<string> {
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  const { stdout } = await promisify(execFile)("git", ["-C", directory, ...identity, ...args], { env });
  return stdout;
}

interface Scene {
  readonly repo: string;
  readonly data: string;
  readonly patch: string;
  readonly ended: Ended;
  /** A hash of every file of the checkout with its `.git`, before and after. */
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

async function onLocalCheckout(scenario: Scenario, work: (scene: Scene) => Promise<void>): Promise<void> {
  await using dir = await tempDir("local-run-");
  const repo = join(dir.path, "my répo #1");
  await cp(FIXTURE, repo, { recursive: true });
  await git(repo, "init", "--quiet", "--initial-branch=trunk");
  await git(repo, "add", "--all");
  await git(repo, "commit", "--quiet", "--message=first");
  // Work in progress is neither taken nor harmed.
  await writeTree(repo, { "notes.txt": "not committed\n", "src/price.js.orig": "x" });
  await writeTree(dir.path, { "issue.md": ISSUE });
  const model = await startModelServer({ script: scriptOf(scenario), key: KEY });
  const [data, patch] = [join(dir.path, "data"), join(dir.path, "out.patch")];
  const env = { DATA_DIR: data, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: model.url, OPENAI_MODEL: "scripted" };
  try {
    const before = await hashes(repo);
    const args = ["run", "--repo", repo, "--issue", join(dir.path, "issue.md"), "--output", patch];
    const ended = await agentFix(args, { env, cwd: dir.path });
    await work({ repo, data, patch, ended, before, after: await hashes(repo), env });
  } finally {
    await model.close();
  }
}

async function hashes(root: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.sort().map(async (file) => [file, sha256(await readFile(file))] as const)),
  );
}

/** What a run leaves on disk besides state and trace. */
async function leftIn(data: string): Promise<readonly string[]> {
  const names = await readdir(join(data, "local", "runs")).catch(() => []);
  return names;
}

/** Whole local runs take turns in the quick tier: here, or with a person at the keyboard (`sitting.test.ts`). */
const story = inTurn(0, 3) ? test : () => undefined;

story("a local run leaves a proven patch that applies and passes, and nothing else", async () => {
  await onLocalCheckout("good", async ({ repo, data, patch, ended, before, after, env }) => {
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.match(ended.stdout, /✅ Plan: proven/);
    assert.match(ended.stdout, new RegExp(`apply it with: git apply ${patch}`));
    assert.ok(!ended.stdout.includes("/approve"), "there is nobody to approve");
    assert.ok(!(ended.stdout + ended.stderr).includes(KEY));
    assert.deepEqual(after, before, "the checkout was changed");
    assert.deepEqual(await leftIn(data), []);
    assert.deepEqual(
      queryState(join(data, "local"), "SELECT state, ended FROM run").map((row) => ({ ...row })),
      [{ state: "cancelled", ended: 1 }],
    );
    await git(repo, "apply", "--check", patch);
    await git(repo, "apply", patch);
    assert.deepEqual((await git(repo, "diff", "--name-only")).trim().split("\n"), [
      "src/price.js",
      "test/price.test.js",
    ]);
    const tests = await promisify(execFile)(process.execPath, ["--test"], {
      cwd: repo,
      env: { PATH: "/usr/bin" },
    });
    assert.match(tests.stdout, /fail 0/);
    const runId = /agent-fix trace ([0-9a-z]{16})/.exec(ended.stdout)?.[1] ?? "";
    const trace = await agentFix(["trace", runId], { env });
    assert.equal(trace.code, 0, trace.stderr);
    assert.match(trace.stdout, /proven/);
  });
});

test("a model that only claims to have fixed it leaves no recommended patch, and the command says so", {
  skip: FULL ? false : "only in the full tier; the demo's tests show the same verdict",
}, async () => {
  await onLocalCheckout("lying-model", async ({ data, ended, before, after }) => {
    assert.equal(ended.code, 1, ended.stdout + ended.stderr);
    assert.match(ended.stdout, /No pull request: the tests speak against the fix/);
    assert.match(ended.stdout, /not recommended/);
    assert.deepEqual(after, before);
    assert.deepEqual(await leftIn(data), []);
  });
});
