/** `agent-fix verify` as a person calls it: its words, its files and its exit codes, on a real repository in the real sandbox. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { barLine, createProgressBar } from "#src/cli/progress-bar.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { testPart } from "#test/support/tier.ts";

const ROOT = join(import.meta.dirname, "../..");
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const REPOSITORY = join(ROOT, "fixtures/repos/node-test");

function git(directory: string, ...args: readonly string[]): string {
  const who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  const result = spawnSync("git", [...who, ...args], { cwd: directory, encoding: "utf8" });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

function run(args: readonly string[], dataDir: string) {
  return spawnSync(process.execPath, [join(ROOT, "src/cli/main.ts"), "verify", ...args], {
    encoding: "utf8",
    env: { PATH: `${dirname(process.execPath)}:${SYSTEM_PATH}`, HOME: dataDir, DATA_DIR: dataDir },
  });
}

async function repository(directory: string): Promise<string> {
  const repo = join(directory, "repo");
  await cp(REPOSITORY, repo, { recursive: true });
  git(repo, "init", "-q", "-b", "main");
  git(repo, "add", "-A");
  git(repo, "commit", "-qm", "base");
  return repo;
}

test("wrong options, a missing patch and a patch that does not apply are told, with their exit codes", async () => {
  await using temp = await tempDir("verify-cli-");
  const repo = await repository(temp.path);
  const data = join(temp.path, "data");
  const patch = join(temp.path, "bad.patch");
  writeFileSync(patch, "diff --git a/none b/none\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n");
  assert.equal(run([], data).status, 2);
  assert.match(run(["--help"], data).stdout, /Exit codes:\n {2}0 {2}proven/);
  const short = run(["--repo", repo, "--patch", patch, "--base", "main"], data);
  assert.equal(short.status, 2);
  assert.match(short.stderr, /no full commit id; `git rev-parse main` gives it/);
  const blank = run(["--repo", repo, "--patch", patch, "--test-command", " "], data);
  assert.equal(blank.status, 2);
  assert.match(blank.stderr, /--test-command is empty/);
  assert.match(run(["--repo", repo, "--patch", "/nowhere"], data).stderr, /cannot be read/);
  assert.match(run(["--repo", temp.path, "--patch", patch], data).stderr, /no git checkout/);
  const bad = run(["--repo", repo, "--patch", patch], data);
  assert.equal(bad.status, 1, bad.stderr);
  assert.match(bad.stderr, /the patch does not apply to the base: .*none/);
});

/** Two whole verifications: they have their turn in the quick tier. */
const wholeTest = testPart(0.35);

wholeTest(
  "a fix is proven and its evidence written; a regression is refuted; the checkout is as it was",
  async () => {
    await using temp = await tempDir("verify-cli-");
    const repo = await repository(temp.path);
    const data = join(temp.path, "data");
    const source = join(repo, "src/price.js");
    const before = readFileSync(source, "utf8");
    const patchOf = (from: string, to: string, name: string) => {
      writeFileSync(source, before.replace(from, to));
      const file = join(temp.path, name);
      writeFileSync(file, git(repo, "diff"));
      writeFileSync(source, before);
      return file;
    };
    const fix = patchOf("sum - discount", "sum * (1 - discount)", "fix.patch");
    const output = join(temp.path, "evidence.json");
    const proven = run(["--repo", repo, "--patch", fix, "--output", output], data);
    assert.equal(proven.status, 0, proven.stderr + proven.stdout);
    assert.match(
      proven.stdout,
      /^PROVEN\. Proven by an existing test: `test\/price\.test\.js > takes off a share`/,
    );
    const evidence = JSON.parse(readFileSync(output, "utf8"));
    assert.equal(evidence.verdict.class, "proven");
    assert.equal(evidence.base, git(repo, "rev-parse", "HEAD").trim());
    const wrong = patchOf("item.price * item.amount", "item.price", "wrong.patch");
    const refuted = run(["--repo", repo, "--patch", wrong, "--json", "--no-progress"], data);
    assert.equal(refuted.status, 5, refuted.stderr + refuted.stdout);
    assert.equal(JSON.parse(refuted.stdout).verdict.class, "refuted");
    assert.equal(refuted.stderr, "");
    assert.equal(git(repo, "status", "--porcelain"), "");
  },
);

test("the progress line never claims the end before it, fits the terminal, and shows no control characters", () => {
  for (const steps of [0, 3, 9, 50]) assert.match(barLine(steps, "x", 80), /^\[#*-+\] x$/);
  assert.equal(barLine(2, "y".repeat(500), 40).length, 39);
  const written: string[] = [];
  const bar = createProgressBar(
    { isTTY: false, columns: 80, write: (text: string) => written.push(text) > 0 } as never,
    true,
  );
  bar.begin("test the base: a\u001b[2Jb");
  bar.done("baseline", 1500);
  bar.close();
  assert.deepEqual(written, ["test the base: a [2Jb\n", "baseline: 1.5 s\n"]);
});
