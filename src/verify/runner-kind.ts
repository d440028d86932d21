/** The test runners that are known, and the stack that each belongs to; `make` and `unknown` start something else. */

/** Languages with their tools, as container images and manifests are told apart by. */
export type Stack =
  | "javascript"
  | "python"
  | "rust"
  | "go"
  | "java"
  | "ruby"
  | "php"
  | "c"
  | "dotnet"
  | "elixir"
  | "perl";

/** Null: the runner is used by many stacks. */
export const STACK_OF = {
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
} as const satisfies Readonly<Record<string, Stack | null>>;

export type RunnerKind = keyof typeof STACK_OF;
