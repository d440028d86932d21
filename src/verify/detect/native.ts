/** Detection for C and C++: CMake with ctest, meson, and configure with make check; builds lie outside the workspace where the tool can. */

import type { Detected, DetectedSuite, RunnerKind } from "../verify.ts";
import { below } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside } from "./manifests.ts";

const BUILD = "/tmp/agent-fix-build";

interface Way {
  readonly file: string;
  /** Text that says there are tests, in this file or in one of the same name below. */
  readonly tests: RegExp;
  readonly command: string;
  readonly runner: RunnerKind;
}

const WAYS: readonly Way[] = [
  {
    file: "CMakeLists.txt",
    tests:
      /\b(?:enable_testing|add_test|gtest_discover_tests|catch_discover_tests)\s*\(|include\s*\(\s*CTest\s*\)/i,
    command: `cmake -S . -B ${BUILD} -DBUILD_TESTING=ON && cmake --build ${BUILD} --parallel && ctest --test-dir ${BUILD} --output-on-failure`,
    runner: "ctest",
  },
  {
    file: "meson.build",
    tests: /^\s*test\s*\(/m,
    command: `meson setup ${BUILD} && meson test -C ${BUILD} --print-errorlogs`,
    runner: "meson",
  },
  {
    file: "Makefile.am",
    tests: /^\s*(?:TESTS|check_PROGRAMS|check-local)\b/m,
    command: "{ [ -x ./configure ] || autoreconf -i; } && ./configure && make check",
    runner: "make",
  },
];

async function suiteOf(tree: Tree, directory: string): Promise<DetectedSuite | null> {
  for (const { file, tests, command, runner } of WAYS) {
    if (!tree.has(inside(directory, file))) continue;
    const escaped = file.replaceAll(".", "\\.");
    for (const path of below(tree, directory, new RegExp(`(?:^|/)${escaped}$`)).slice(0, 60)) {
      if (tests.test((await tree.text(path)) ?? "")) return { command, directory, runner, because: path };
    }
  }
  return null;
}

export async function detectNative(tree: Tree, directory: string): Promise<Detected | null> {
  const test = await suiteOf(tree, directory);
  return test === null ? null : { setup: null, test, notes: [] };
}
