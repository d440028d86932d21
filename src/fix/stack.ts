/** The stack that a test runner belongs to, for the choice of a container image. Pure. */

import type { RunnerKind } from "#src/verify/verify.ts";

const STACKS: Readonly<Record<RunnerKind, string | null>> = {
  "node-test": "javascript",
  vitest: "javascript",
  jest: "javascript",
  mocha: "javascript",
  ava: "javascript",
  tap: "javascript",
  jasmine: "javascript",
  uvu: "javascript",
  deno: "javascript",
  bun: "javascript",
  pytest: "python",
  unittest: "python",
  tox: "python",
  nox: "python",
  cargo: "rust",
  go: "go",
  maven: "java",
  gradle: "java",
  junit: "java",
  rspec: "ruby",
  minitest: "ruby",
  phpunit: "php",
  ctest: "c",
  meson: "c",
  dotnet: "dotnet",
  mix: "elixir",
  prove: "perl",
  bats: null,
  make: null,
  unknown: null,
};

/** Null: the runner is used by many stacks. */
export function stackOf(runner: RunnerKind): string | null {
  return STACKS[runner];
}
