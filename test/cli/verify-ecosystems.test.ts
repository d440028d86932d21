/** `agent-fix verify` on one project of every ecosystem, as its people would call it: the commands are detected, and the right fix with its test is proven. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL, sample, skipUnless, testPart } from "#test/support/tier.ts";
import { copyPackages } from "#test/verify/ecosystems/javascript.ts";
import { copyPytest } from "#test/verify/project.ts";
import { type Case, type Ecosystem, ecosystemNames, readEcosystem } from "../../bench/verdict-cases.ts";
import { missingFor } from "../../bench/verdict-runners.ts";

const ROOT = join(import.meta.dirname, "../..");
const PATH = `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${homedir()}/.cargo/bin`;

/** What a project needs beyond its files: packages that are part of the checkout, or a set-up that fetches them. */
interface Means {
  readonly prepare?: (repo: string) => boolean;
  readonly options?: readonly string[];
  /** The registry of npm is asked. */
  readonly network?: true;
}

/** With the command that a package manager would have made for it. */
const vendored = (name: string) => (repo: string) => {
  copyPackages([name], repo);
  const modules = join(repo, "node_modules");
  if (!existsSync(join(modules, name))) return false;
  const { bin } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
  mkdirSync(join(modules, ".bin"));
  symlinkSync(join("..", name, bin[name]), join(modules, ".bin", name));
  return true;
};
const fetched = (packages: string, ...options: readonly string[]): Means => ({
  network: true,
  options: ["--setup-command", `npm install --no-save --no-audit --no-fund ${packages}`, ...options],
});
// Its script would need a flag of Node's for modules.
const JEST = ["--test-command", "NODE_OPTIONS=--experimental-vm-modules npx --no-install jest"];

const MEANS: Readonly<Record<string, Means>> = {
  mocha: { prepare: vendored("mocha") },
  pytest: { prepare: copyPytest, options: ["--setup-command", ""] },
  jest: fetched("jest@30.5.2", ...JEST),
  vitest: fetched("vitest@3.2.7"),
};

function git(directory: string, ...args: readonly string[]): string {
  const who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fileMode=true"];
  const result = spawnSync("git", [...who, ...args], {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 2 ** 27,
  });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

function write(directory: string, files: Case["changed"]): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    if (text === null) rmSync(file);
    else writeFileSync(file, text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
}

interface Checkout {
  readonly repo: string;
  readonly patch: string;
}

/** A checkout at the base with everything in it, and the patch beside it; null: something that it needs is not on this machine. */
function checkout(directory: string, ecosystem: Ecosystem, one: Case): Checkout | null {
  const [repo, patch] = [join(directory, "repo"), join(directory, "fix.patch")];
  mkdirSync(repo);
  if (MEANS[ecosystem.name]?.prepare?.(repo) === false) return null;
  write(repo, ecosystem.files);
  git(repo, "init", "-q", "-b", "main");
  git(repo, "add", "-A", "-f");
  git(repo, "commit", "-qm", "base");
  write(repo, one.changed);
  git(repo, "add", "-A");
  writeFileSync(patch, git(repo, "diff", "--cached"));
  git(repo, "reset", "-q", "--hard");
  return { repo, patch };
}

const names = ecosystemNames().filter((name) => FULL || MEANS[name] === undefined);
// Each costs seven runs of a suite: a quick run has one of them, at times.
const test = testPart(0.2);

for (const name of sample(names, 1)) {
  const ecosystem = readEcosystem(name);
  const means = MEANS[name] ?? {};
  const missing =
    means.network === true || means.prepare !== undefined
      ? null
      : missingFor(ecosystem, { nodeModules: null, python: null });
  test(`agent-fix verify on a project of ${name}`, {
    skip: skipUnless(missing === null, missing ?? ""),
  }, async (context) => {
    await using temp = await tempDir("verify-ecosystem-");
    const one = ecosystem.cases.find(({ kind }) => kind === "right with test");
    assert.ok(one !== undefined);
    const made = checkout(temp.path, ecosystem, one);
    if (made === null) return context.skip(`this machine has no ${name}`);
    const { repo, patch } = made;
    const data = join(temp.path, "data");
    const output = join(temp.path, "evidence.json");
    const args = ["--repo", repo, "--patch", patch, "--output", output, ...(means.options ?? [])];
    const result = spawnSync(process.execPath, [join(ROOT, "src/cli/main.ts"), "verify", ...args], {
      encoding: "utf8",
      // A machine may reach the registry through a gateway with a private address.
      env: { PATH, HOME: homedir(), DATA_DIR: data, NETWORK_ALLOW: "registry.npmjs.org:443" },
    });
    assert.equal(result.status, 0, `${result.stderr}\n${result.stdout}`);
    const evidence = JSON.parse(readFileSync(output, "utf8"));
    assert.equal(evidence.verdict.class, "proven");
    assert.match(result.stdout, /^PROVEN\. /);
  });
}
