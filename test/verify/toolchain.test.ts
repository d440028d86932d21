/** What real tools print when a program is not there, or is too old: the verdict's `no_toolchain` names it with the version that is wanted. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { toolMissingIn } from "#src/verify/toolchain.ts";
import type { ToolNeed } from "#src/verify/verify.ts";

const GO: ToolNeed = { tool: "go", version: "≥ 1.23", from: "go.mod" };
const RUST: ToolNeed = { tool: "rust", version: "≥ 1.80", from: "Cargo.toml" };
const NODE: ToolNeed = { tool: "node", version: "≥ 22", from: "package.json" };

for (const [said, needs, expected] of [
  ["bash: line 3: go: command not found", [GO], "go ≥ 1.23 (go.mod)"],
  ["bash: cargo: command not found", [RUST], "cargo (of rust) ≥ 1.80 (Cargo.toml)"],
  ["sh: 1: pnpm: not found", [], "pnpm"],
  ["/usr/bin/env: ‘node’: No such file or directory", [NODE], "node ≥ 22 (package.json)"],
  ["/workspace/.venv/bin/python: No module named pytest\n", [], "pytest"],
  ["make: gcc: No such file or directory", [], "gcc"],
  [
    "go: errors parsing go.mod:\n/workspace/go.mod:3: invalid go version '1.23.0': must match format 1.23",
    [GO],
    "go ≥ 1.23 (go.mod)",
  ],
  ["go: go.mod requires go >= 1.23.4 (running go 1.21.0; GOTOOLCHAIN=local)", [], "go ≥ 1.23.4"],
  ["note: module requires Go 1.22", [], "go ≥ 1.22"],
  [
    "error: package `time v0.3.40` cannot be built because it requires rustc 1.81.0 or newer, while the currently active rustc version is 1.70.0",
    [],
    "rust ≥ 1.81.0",
  ],
  [
    "error: rustc 1.70.0 is not supported by the following package:\n  shop@0.1.0 requires rustc 1.80",
    [RUST],
    "rust ≥ 1.80 (Cargo.toml)",
  ],
  ["feature `edition2024` is required", [], "rust edition2024"],
  [
    'npm error code EBADENGINE\nnpm error notsup Unsupported engine for x@1.0.0: wanted: {"node":">=22"}\nrequired: { node: \'>=22\' }',
    [],
    "node >=22",
  ],
  [
    'error x@1.0.0: The engine "node" is incompatible with this module. Expected version ">=24". Got "20.1.0"',
    [],
    "node >=24",
  ],
  ["ERROR: Package 'x' requires a different Python: 3.11.7 not in '>=3.12'", [], "python >=3.12"],
  [
    "The currently activated Python version 3.9.2 is not supported by the project (^3.11).",
    [],
    "python ^3.11",
  ],
  ["error: release version 21 not supported", [], "java ≥ 21"],
  ["error: invalid source release: 17", [], "java ≥ 17"],
  ["Your Ruby version is 3.1.2, but your Gemfile specified 3.3.1", [], "ruby ≥ 3.3.1"],
  [
    "Root composer.json requires php ^8.3 but your php version (8.2.7) does not satisfy that requirement.",
    [],
    "php ^8.3",
  ],
  [
    "error NETSDK1045: The current .NET SDK does not support targeting .NET 9.0.  Either target .NET 8.0",
    [],
    "dotnet ≥ 9.0",
  ],
  [
    "** (Mix) You're trying to run :shop on Elixir v1.14.0 but it has declared in its mix.exs file it supports only Elixir ~> 1.16",
    [],
    "elixir ~> 1.16",
  ],
  [
    "CMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n  CMake 3.28 or higher is required.  You are running version 3.25.1",
    [],
    "cmake ≥ 3.28",
  ],
  ["meson.build:1:0: ERROR: Meson version is 1.0.1 but project requires >=1.3", [], "meson >=1.3"],
  ["Perl v5.38.0 required--this is only v5.36.0, stopped at t/a.t line 1.", [], "perl ≥ 5.38.0"],
  ["Could not find 'bundler' (2.5.6) required by your Gemfile.lock.", [], "bundler"],
  ["2 tests failed: expected 200, got 404 not found", [], null],
  ["AssertionError: 'command' not found in ['x']", [], null],
] as const)
  test(`no_toolchain: ${said.slice(0, 70).replaceAll("\n", " ")}`, () => {
    assert.equal(toolMissingIn(said, needs), expected);
  });
