/** A suite's command for some files, or for a part of a name: only where the runner can be told so. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { narrow } from "#src/verify/filter.ts";
import { narrowTo } from "#src/verify/narrow.ts";
import type { RunnerKind } from "#src/verify/verify.ts";

const suite = (runner: RunnerKind, command: string, directory = ".") => ({
  runner,
  command,
  directory,
  because: "the test says so",
});

test("files: appended, in place of folders, as packages, classes or targets; null where the runner cannot be told", () => {
  for (const [runner, command, files, expected] of [
    ["node-test", "node --test", ["a.test.js"], "node --test 'a.test.js'"],
    ["node-test", "npm test", ["a.test.js"], "npm test -- 'a.test.js'"],
    ["mocha", "npx --no-install mocha", ["test/a.js"], "npx --no-install mocha 'test/a.js'"],
    ["jest", "yarn test", ["a.test.js"], "yarn test 'a.test.js'"],
    ["pytest", "python3 -m pytest", ["tests/test_a.py"], "python3 -m pytest 'tests/test_a.py'"],
    [
      "unittest",
      "python3 -m unittest discover",
      ["tests/test_a.py"],
      "python3 -m unittest 'tests/test_a.py'",
    ],
    ["unittest", "python3 -m unittest discover -s 'tests'", ["tests/test_a.py"], null],
    ["bats", "bats -r test", ["test/a.bats"], "bats -r 'test/a.bats'"],
    ["prove", "prove -lr t", ["t/a.t", "t/b.t"], "prove -lr 't/a.t' 't/b.t'"],
    ["go", "go test ./...", ["sub/a_test.go", "sub/b_test.go", "c_test.go"], "go test './sub' './'"],
    ["cargo", "cargo test --no-fail-fast", ["tests/a.rs"], "cargo test --no-fail-fast --test a"],
    ["cargo", "cargo test", ["src/lib.rs"], null],
    [
      "gradle",
      "./gradlew test --continue",
      ["src/test/java/a/BTest.java"],
      "./gradlew test --continue --tests 'a.BTest'",
    ],
    ["phpunit", "vendor/bin/phpunit", ["tests/A.php", "tests/B.php"], null],
    ["rspec", "bundle exec rspec", ["spec/a_spec.rb"], "bundle exec rspec 'spec/a_spec.rb'"],
    ["make", "make test", ["t/a.t"], null],
    ["pytest", "make lint && pytest; echo", ["tests/test_a.py"], null],
    ["pytest", "python3 -m pytest", ["-x.py"], null],
  ] as const)
    assert.equal(narrowTo(suite(runner, command), files), expected, `${command} ${files.join(" ")}`);
  assert.equal(narrowTo(suite("jest", "npm test", "packages/a"), ["packages/b/x.test.js"]), null);
  assert.equal(
    narrowTo(suite("jest", "npm test", "packages/a"), ["packages/a/x.test.js"]),
    "npm test -- 'x.test.js'",
  );
});

test("a part of a name: quoted, or a pattern without its signs", () => {
  for (const [runner, command, filter, expected] of [
    ["mocha", "npx --no-install mocha", "a b", "npx --no-install mocha --fgrep 'a b'"],
    ["bats", "bats test", "it's", "bats test -f 'it.s'"],
    ["rspec", "bundle exec rspec", "x'; rm -rf .", "bundle exec rspec -e 'x'\\''; rm -rf .'"],
    ["cargo", "cargo test", "adds", "cargo test"],
    ["jest", "npm test", "-x", "npm test"],
  ] as const)
    assert.equal(narrow(suite(runner, command), filter), expected);
});
