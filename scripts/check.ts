/** `npm run check`: types, format and lint, architecture, documentation; all are run, and any problem makes it fail. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { checkArchitecture } from "./check/architecture.ts";
import { checkDocs } from "./check/docs.ts";
import { formatProblem, type Problem } from "./check/problem.ts";
import { generatedPages } from "./docs.ts";

const ROOT = join(import.meta.dirname, "..");

interface Part {
  readonly name: string;
  /** True when it found nothing; prints what it found. */
  run(): boolean;
}

const PARTS: readonly Part[] = [
  { name: "types (tsc)", run: () => command("tsc", ["-p", "."]) },
  { name: "format and lint (biome)", run: () => command("biome", ["check", "--error-on-warnings", "."]) },
  { name: "architecture", run: () => print(checkArchitecture(ROOT)) },
  { name: "documentation", run: () => print(checkDocs(ROOT, generatedPages())) },
];

function command(name: string, argv: readonly string[]): boolean {
  const done = spawnSync(join(ROOT, "node_modules/.bin", name), argv, { cwd: ROOT, stdio: "inherit" });
  if (done.error !== undefined)
    console.error(`${name} could not be started (run npm ci): ${done.error.message}`);
  return done.status === 0;
}

function print(problems: readonly Problem[]): boolean {
  for (const problem of problems) console.error(formatProblem(problem));
  return problems.length === 0;
}

const failed = PARTS.filter((part) => {
  const start = performance.now();
  const good = part.run();
  console.log(`${good ? "ok    " : "FAILED"} ${part.name} (${Math.round(performance.now() - start)} ms)`);
  return !good;
});
process.exitCode = failed.length === 0 ? 0 : 1;
