/**
 * `npm test`: the quick tier, with a new sampling seed each time; `npm run test:full`: everything.
 * Further arguments are test files or options of `node --test`.
 */

import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
/** One file that hangs must not hold up the rest for ever. */
const FILE_TIME_LIMIT_MS = { quick: 240_000, full: 3_600_000 };
const SEEDS = 1_000_000;
const COMPILED = join(ROOT, "node_modules/.cache/compiled");

const asked = process.argv.slice(2);
const tier = asked.includes("--full") || process.env.TEST_TIER === "full" ? "full" : "quick";
const seed = process.env.TEST_SEED ?? String(randomInt(SEEDS));
const rest = asked.filter((argument) => argument !== "--full");
const files = rest.some((argument) => !argument.startsWith("-")) ? [] : ["test/**/*.test.ts"];

const system = spawnSync(join(ROOT, "scripts/setup-system.sh"), { stdio: "inherit" });
if (system.status !== 0) {
  console.error("The tests need the system packages named above.");
  process.exit(1);
}
if (tier === "full") {
  const optional = spawnSync(join(ROOT, "scripts/setup-system.sh"), ["full"], { stdio: "inherit" });
  if (optional.status !== 0) console.error("Without them the tests of containers are skipped, by name.");
}

console.log(
  `${tier} tier, seed ${seed} (repeat with TEST_SEED=${seed} npm ${tier === "full" ? "run test:full" : "test"})`,
);
const run = spawn(
  process.execPath,
  [
    ...["--test", "--test-concurrency=2", `--test-timeout=${FILE_TIME_LIMIT_MS[tier]}`],
    ...["--import", "./test/support/leaks.ts"],
    ...rest,
    ...files,
  ],
  {
    cwd: ROOT,
    stdio: ["ignore", "inherit", "inherit"],
    // Each test file and each server under test is a process of its own: compiled modules are kept, which saves a third of its start.
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, TEST_TIER: tier, TEST_SEED: seed },
  },
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => run.kill(signal));
run.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
