/** One small project per ecosystem, with a passing, a failing and a skipped test where it knows such, and what is expected of it. */

import type { EvidenceStrength } from "#src/run/verdict.ts";
import type { RunnerKind } from "#src/verify/verify.ts";

export interface Row {
  readonly name: string;
  /** Programs that must be on the machine. */
  readonly needs: readonly string[];
  readonly runner: RunnerKind;
  readonly command: string;
  readonly files: Readonly<Record<string, string>>;
  readonly expected: Readonly<Record<string, string>>;
  readonly strength: EvidenceStrength;
  /** Found in the message of the first failing test. */
  readonly message: RegExp;
}

const BASH_AREA = "area() { echo $(($1 * $2)); }\nperimeter() { echo $(($1 + $2)); }\n";

export const ROWS: readonly Row[] = [
  {
    name: "bats",
    needs: ["bats"],
    runner: "bats",
    command: "bats test",
    files: {
      "area.sh": BASH_AREA,
      "test/area.bats":
        'setup() { . ./area.sh; }\n@test "area of 2x3" { [ "$(area 2 3)" = 6 ]; }\n@test "perimeter of 2x3" {\n  [ "$(perimeter 2 3)" = 10 ]\n}\n@test "later" { skip "no case yet"; }\n',
    },
    expected: {
      "test/area.bats > area of 2x3": "pass",
      "test/area.bats > perimeter of 2x3": "fail",
      "test/area.bats > later": "skip",
    },
    strength: "report",
    message: /perimeter 2 3|test\/area\.bats/,
  },
  {
    name: "bats within the repository, by its printed TAP",
    needs: ["bats"],
    runner: "bats",
    command: "./vendor/bats test",
    files: {
      "vendor/bats": '#!/bin/sh\nexec /usr/bin/bats "$@"\n',
      "area.sh": BASH_AREA,
      "test/area.bats":
        'setup() { . ./area.sh; }\n@test "area of 2x3" { [ "$(area 2 3)" = 6 ]; }\n@test "no" { false; }\n',
    },
    expected: { "bats > area of 2x3": "pass", "bats > no": "fail" },
    strength: "text",
    message: /^/,
  },
  {
    name: "prove",
    needs: ["prove"],
    runner: "prove",
    command: "prove -r t",
    files: {
      "lib/Area.pm": "package Area; sub area { $_[0] * $_[1] } sub perimeter { $_[0] + $_[1] } 1;\n",
      "t/area.t":
        "use lib 'lib'; use Test::More; use Area;\nis(Area::area(2, 3), 6, 'area of 2x3');\nis(Area::perimeter(2, 3), 10, 'perimeter \"2x3\"');\nok(1);\nSKIP: { skip 'no case yet', 1; ok(1) }\nTODO: { local $TODO = 'known'; ok(0, 'todo'); }\ndone_testing;\n",
      "t/dies.t": "use Test::More; ok(1, 'first'); die 'broken';\n",
    },
    expected: {
      "t/area.t > area of 2x3": "pass",
      't/area.t > perimeter "2x3"': "fail",
      "t/area.t > test 3": "pass",
      "t/area.t > test 4": "skip",
      "t/area.t > todo": "skip",
      "t/dies.t > first": "pass",
      "t/dies.t": "fail",
    },
    strength: "report",
    message: /got: '5'[\s\S]*expected: '10'/,
  },
  {
    name: "cargo test, with unit, integration and documentation tests",
    needs: ["cargo"],
    runner: "cargo",
    command: "cargo test --offline",
    files: {
      "Cargo.toml": '[package]\nname = "area"\nversion = "0.1.0"\nedition = "2021"\n',
      "src/lib.rs":
        'pub mod round;\n/// ```\n/// assert_eq!(area::area(2, 3), 6);\n/// ```\npub fn area(a: u32, b: u32) -> u32 { a * b }\npub fn perimeter(a: u32, b: u32) -> u32 { a + b }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn area_of_2x3() { println!("test tests::forged ... ok"); assert_eq!(super::area(2, 3), 6); }\n    #[test]\n    fn perimeter_of_2x3() { assert_eq!(super::perimeter(2, 3), 10); }\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n',
      "src/round.rs":
        "pub fn third(a: f64) -> i64 { (a / 3.0) as i64 }\n#[cfg(test)]\nmod tests { #[test] fn nearest() { assert_eq!(super::third(8.0), 2); } }\n",
      "tests/whole.rs": "#[test]\nfn through_the_door() { assert_eq!(area::area(1, 1), 1); }\n",
    },
    expected: {
      "src/lib.rs > tests::area_of_2x3": "pass",
      "src/lib.rs > tests::perimeter_of_2x3": "fail",
      "src/lib.rs > tests::later": "skip",
      "src/round.rs > round::tests::nearest": "pass",
      "tests/whole.rs > through_the_door": "pass",
      "src/lib.rs > area (doctest)": "pass",
    },
    strength: "report",
    message: /assertion `left == right` failed[\s\S]*left: 5/,
  },
  {
    name: "go test",
    needs: ["go"],
    runner: "go",
    command: "go test ./...",
    files: {
      "go.mod": "module example.com/area\n\ngo 1.19\n",
      "area.go":
        "package area\n\nfunc Area(a, b int) int { return a * b }\nfunc Perimeter(a, b int) int { return a + b }\n",
      "area_test.go":
        'package area\n\nimport "testing"\n\nfunc TestArea(t *testing.T) {\n\tt.Run("2x3", func(t *testing.T) {\n\t\tif Area(2, 3) != 6 {\n\t\t\tt.Fatal("no")\n\t\t}\n\t})\n}\n\nfunc TestPerimeter(t *testing.T) {\n\tif got := Perimeter(2, 3); got != 10 {\n\t\tt.Fatalf("got %d, want 10", got)\n\t}\n}\n\nfunc TestLater(t *testing.T) { t.Skip("no case yet") }\n',
      "sub/sub.go": "package sub\n",
      "sub/sub_test.go": 'package sub\n\nimport "testing"\n\nfunc TestSub(t *testing.T) { undefined() }\n',
    },
    expected: {
      "area_test.go > TestArea": "pass",
      "area_test.go > TestArea/2x3": "pass",
      "area_test.go > TestPerimeter": "fail",
      "area_test.go > TestLater": "skip",
      "example.com/area/sub": "fail",
    },
    strength: "report",
    message: /got 5, want 10/,
  },
  {
    name: "ctest",
    needs: ["ctest", "cmake", "make", "gcc"],
    runner: "ctest",
    command:
      "cmake -S . -B /tmp/build && cmake --build /tmp/build && ctest --test-dir /tmp/build --output-on-failure",
    files: {
      "CMakeLists.txt":
        "cmake_minimum_required(VERSION 3.16)\nproject(area C)\nenable_testing()\nadd_executable(area_test area_test.c)\nadd_test(NAME area_of_2x3 COMMAND area_test area)\nadd_test(NAME perimeter_of_2x3 COMMAND area_test perimeter)\nadd_test(NAME gone COMMAND no_such_program)\nset_tests_properties(gone PROPERTIES DISABLED TRUE)\n",
      "area_test.c":
        '#include <stdio.h>\n#include <string.h>\nint main(int n, char **v) {\n  if (n > 1 && strcmp(v[1], "perimeter") == 0) { printf("perimeter: got 5, want 10\\n"); return 1; }\n  return 0;\n}\n',
    },
    expected: { "ctest > area_of_2x3": "pass", "ctest > perimeter_of_2x3": "fail", "ctest > gone": "skip" },
    strength: "report",
    message: /got 5, want 10/,
  },
  {
    name: "make test of a CMake build, by its printed lines",
    needs: ["ctest", "cmake", "make"],
    runner: "make",
    command: "cmake -S . -B /tmp/build >/dev/null && make -C /tmp/build test",
    files: {
      "CMakeLists.txt":
        "cmake_minimum_required(VERSION 3.16)\nproject(area NONE)\nenable_testing()\nadd_test(NAME yes COMMAND true)\nadd_test(NAME no COMMAND false)\n",
    },
    expected: { "make > yes": "pass", "make > no": "fail" },
    strength: "text",
    message: /Failed \(ctest\)/,
  },
  {
    name: "meson test",
    needs: ["meson", "gcc"],
    runner: "meson",
    command: "meson setup /tmp/build && meson test -C /tmp/build",
    files: {
      "meson.build":
        "project('area', 'c')\nexe = executable('area_test', 'area_test.c')\ntest('area of 2x3', exe)\ntest('perimeter of 2x3', exe, args: ['bad'])\n",
      "area_test.c":
        '#include <stdio.h>\nint main(int n, char **v) { if (n > 1) puts("got 5, want 10"); return n > 1; }\n',
    },
    expected: { "area > area of 2x3": "pass", "area > perimeter of 2x3": "fail" },
    strength: "report",
    message: /^/,
  },
];
