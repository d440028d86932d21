/** The tamper report over loosened assertions: fewer, weaker, wider, caught, conditional, behind a return; in trees and in lines. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { report } from "./facts.ts";

interface File {
  readonly path: string;
  readonly text: string;
}

const NODE: File = {
  path: "test/a.test.js",
  text: `import assert from "node:assert/strict";
import { test } from "node:test";
import { add } from "../src/add.js";

test("adds", async (t) => {
  assert.strictEqual(add(1, 2), 3);
  assert.throws(() => add("x"), /not a number/);
});
`,
};
const VITEST: File = {
  path: "src/a.spec.ts",
  text: `import { expect, it } from "vitest";
import { add, all } from "./a";

it("adds", () => {
  expect(add(1, 2)).toBe(3);
  expect(add(0.1, 0.2)).toBeCloseTo(0.3, 5);
  expect(all()).toEqual([{ id: 1, name: "a" }]);
}, 1000);

it.each([[1, 2], [3, 4]])("grows %i", (a, b) => {
  expect(add(a, 1)).toBe(b);
});
`,
};
const PYTEST: File = {
  path: "tests/test_a.py",
  text: `import pytest
from shop import add, parse


@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])
def test_grows(a, b):
    assert add(a, 1) == b


def test_adds():
    assert add(1, 2) == 3
    assert add(0.1, 0.2) == pytest.approx(0.3, abs=1e-9)
    with pytest.raises(ValueError, match="not a number"):
        parse("x")
`,
};
const UNITTEST: File = {
  path: "tests/test_b.py",
  text: `import unittest
from shop import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)
        self.assertAlmostEqual(add(0.1, 0.2), 0.3, places=7)
`,
};
const RUST: File = {
  path: "tests/add.rs",
  text: `use shop::add;

#[test]
fn adds() {
    assert_eq!(add(1, 2), 3);
    assert_eq!(add(0, 0), 0);
}
`,
};
const BATS: File = {
  path: "test/add.bats",
  text: `@test "adds" {
  run ./add 1 2
  [ "$status" -eq 0 ]
  [ "$output" = "3" ]
}
`,
};
const PERL: File = {
  path: "t/add.t",
  text: `use Test::More tests => 2;
use Add;
is(add(1, 2), 3, 'adds');
is(add(0, 0), 0, 'zero');
`,
};
const C: File = {
  path: "tests/test_add.c",
  text: `#include <assert.h>
#include "add.h"
static void adds(void) {
    assert(add(1, 2) == 3);
}
int main(void) {
    adds();
    return 0;
}
`,
};
const JAVA: File = {
  path: "src/test/java/AddTest.java",
  text: `import org.junit.jupiter.api.*;
class AddTest {
    @Test
    void adds() {
        assertEquals(3, Add.add(1, 2));
        assertEquals(0.3, Add.add(0.1, 0.2), 0.0001);
    }
}
`,
};

type Change = readonly [name: string, file: File, from: string, to: string, kind: string | null];

const CHANGES: readonly Change[] = [
  [
    "equality became truth",
    NODE,
    "assert.strictEqual(add(1, 2), 3)",
    "assert.ok(add(1, 2))",
    "assertion_loosened",
  ],
  ["strict became loose", NODE, "assert.strictEqual", "assert.equal", "assertion_loosened"],
  [
    "equality became inequality",
    NODE,
    "strictEqual(add(1, 2), 3)",
    "notStrictEqual(add(1, 2), 4)",
    "assertion_loosened",
  ],
  ["always true", NODE, "assert.strictEqual(add(1, 2), 3)", "assert.ok(true)", "assertion_loosened"],
  ["the pattern of an error dropped", NODE, ", /not a number/", "", "expectation_changed"],
  [
    "caught",
    NODE,
    "  assert.strictEqual(add(1, 2), 3);",
    "  try { assert.strictEqual(add(1, 2), 3); } catch {}",
    "assertion_loosened",
  ],
  [
    "only under a condition",
    NODE,
    "  assert.strictEqual(add(1, 2), 3);",
    "  if (process.env.STRICT) assert.strictEqual(add(1, 2), 3);",
    "assertion_loosened",
  ],
  [
    "short-circuited",
    NODE,
    "  assert.strictEqual(add(1, 2), 3);",
    "  add(1, 2) && assert.strictEqual(add(1, 2), 3);",
    "assertion_loosened",
  ],
  [
    "behind a return",
    NODE,
    "  assert.strictEqual(add(1, 2), 3);",
    "  if (add(1, 2) !== 3) return;\n  assert.strictEqual(add(1, 2), 3);",
    "assertion_loosened",
  ],
  ["the whole test under a condition", NODE, 'test("adds"', 'if (process.env.X) test("adds"', "test_skipped"],
  ["a shadowed assert", NODE, 'test("adds"', 'const test = () => {};\ntest("adds"', "existing_test_changed"],
  [
    "the code under test mocked",
    NODE,
    'test("adds"',
    'mock.module("../src/add.js", {});\ntest("adds"',
    "existing_test_changed",
  ],
  [
    "a time limit for a test",
    NODE,
    'test("adds", async',
    'test("adds", { timeout: 60000 }, async',
    "timeout_raised",
  ],
  ["process?.exit", NODE, "import { add", "process?.exit?.(0);\nimport { add", "early_exit"],
  [
    "another layout",
    NODE,
    "assert.strictEqual(add(1, 2), 3);",
    "assert.strictEqual(\n    add(1, 2),\n    3,\n  ); // sum",
    null,
  ],
  [
    "an assertion more",
    NODE,
    "  assert.throws",
    "  assert.strictEqual(add(2, 2), 4);\n  assert.throws",
    null,
  ],
  ["toBe became toBeDefined", VITEST, "toBe(3)", "toBeDefined()", "assertion_loosened"],
  ["toEqual became toMatchObject", VITEST, "toEqual([", "toMatchObject([", "assertion_loosened"],
  ["expect.anything()", VITEST, 'name: "a"', "name: expect.anything()", "expectation_changed"],
  ["fewer digits", VITEST, "0.3, 5", "0.3, 1", "assertion_loosened"],
  ["more digits", VITEST, "0.3, 5", "0.3, 8", "expectation_changed"],
  ["expect removed", VITEST, "  expect(add(1, 2)).toBe(3);", "  add(1, 2);", "assertion_loosened"],
  ["expect(true)", VITEST, "expect(add(1, 2)).toBe(3)", "expect(true).toBe(true)", "assertion_loosened"],
  ["a row of the table gone", VITEST, "[[1, 2], [3, 4]]", "[[1, 2]]", "existing_test_changed"],
  [
    "a longer time limit",
    VITEST,
    "}, 1000);",
    "}, 1000);\nvi.setConfig({ testTimeout: 90000 });",
    "timeout_raised",
  ],
  ["a retry", VITEST, 'it("adds", ', 'it("adds", { retry: 5 }, ', "timeout_raised"],
  ["it.skipIf", VITEST, 'it("adds"', 'it.skipIf(true)("adds"', "test_skipped"],
  ["it.runIf", VITEST, 'it("adds"', 'it.runIf(false)("adds"', "test_skipped"],
  ["another module under test", VITEST, '"./a"', '"./fake"', "existing_test_changed"],
  ["assert True", PYTEST, "assert add(1, 2) == 3", "assert True", "assertion_loosened"],
  ["or True", PYTEST, "assert add(1, 2) == 3", "assert add(1, 2) == 3 or True", "assertion_loosened"],
  ["compared with itself", PYTEST, "add(1, 2) == 3", "add(1, 2) == add(1, 2)", "assertion_loosened"],
  ["equality became truth", PYTEST, "add(1, 2) == 3", "add(1, 2)", "assertion_loosened"],
  ["equality became a bound", PYTEST, "add(1, 2) == 3", "add(1, 2) >= 3", "assertion_loosened"],
  ["a wider tolerance", PYTEST, "abs=1e-9", "abs=0.5", "assertion_loosened"],
  [
    "a tolerance at all",
    PYTEST,
    "add(1, 2) == 3",
    "add(1, 2) == pytest.approx(3, rel=1)",
    "assertion_loosened",
  ],
  ["any error will do", PYTEST, 'ValueError, match="not a number"', "Exception", "assertion_loosened"],
  ["a row of parametrize gone", PYTEST, "[(1, 2), (3, 4)]", "[(1, 2)]", "existing_test_changed"],
  [
    "try/except",
    PYTEST,
    "    assert add(1, 2) == 3\n",
    "    try:\n        assert add(1, 2) == 3\n    except AssertionError:\n        pass\n",
    "assertion_loosened",
  ],
  [
    "suppressed",
    PYTEST,
    "    assert add(1, 2) == 3\n",
    "    with contextlib.suppress(AssertionError):\n        assert add(1, 2) == 3\n",
    "assertion_loosened",
  ],
  [
    "an early return",
    PYTEST,
    "    assert add(1, 2) == 3\n",
    "    return\n    assert add(1, 2) == 3\n",
    "assertion_loosened",
  ],
  ["xfail", PYTEST, "def test_adds", "@pytest.mark.xfail\ndef test_adds", "test_skipped"],
  ["skip inside", PYTEST, "def test_adds():\n", "def test_adds():\n    pytest.skip()\n", "test_skipped"],
  ["no longer collected", PYTEST, "def test_adds", "def check_adds", "test_deleted"],
  [
    "monkeypatched",
    PYTEST,
    "def test_adds():\n",
    "def test_adds(monkeypatch):\n    monkeypatch.setattr('shop.add', lambda a, b: 3)\n",
    "existing_test_changed",
  ],
  [
    "assertEqual became assertTrue",
    UNITTEST,
    "assertEqual(add(1, 2), 3)",
    "assertTrue(add(1, 2))",
    "assertion_loosened",
  ],
  ["fewer places", UNITTEST, "places=7", "places=0", "assertion_loosened"],
  ["a delta", UNITTEST, "places=7", "delta=5", "assertion_loosened"],
  ["no test case any more", UNITTEST, "(unittest.TestCase)", "(object)", "existing_test_changed"],
  ["__test__", UNITTEST, "    def test_adds", "    __test__ = False\n    def test_adds", "test_skipped"],
  [
    "Rust: assert_eq! became assert!",
    RUST,
    "assert_eq!(add(1, 2), 3)",
    "assert!(add(1, 2) > 0)",
    "assertion_loosened",
  ],
  ["Rust: an assertion gone", RUST, "    assert_eq!(add(0, 0), 0);\n", "", "assertion_loosened"],
  ["Rust: ignored", RUST, "#[test]", "#[test]\n#[ignore]", "test_skipped"],
  ["Rust: expected to panic", RUST, "#[test]", "#[test]\n#[should_panic]", "test_skipped"],
  ["Rust: another value", RUST, "2), 3)", "2), -1)", "expectation_changed"],
  [
    "Rust: a test more",
    RUST,
    "#[test]",
    "#[test]\nfn more() {\n    assert_eq!(add(5, 5), 10);\n}\n\n#[test]",
    null,
  ],
  ["Rust: the test gone", RUST, "fn adds", "fn helper_adds", "test_deleted"],
  [
    "Rust: process::exit",
    RUST,
    "    assert_eq!(add(1",
    "    std::process::exit(0);\n    assert_eq!(add(1",
    "early_exit",
  ],
  ["bats: skip", BATS, "  run ./add", "  skip\n  run ./add", "test_skipped"],
  ["bats: an assertion gone", BATS, '  [ "$output" = "3" ]\n', "", "assertion_loosened"],
  ["bats: || true", BATS, '[ "$output" = "3" ]', '[ "$output" = "3" ] || true', "assertion_loosened"],
  ["bats: another value", BATS, '= "3"', '= "-1"', "expectation_changed"],
  ["bats: the test gone", BATS, '@test "adds"', "adds()", "test_deleted"],
  ["bats: commented out", BATS, '  [ "$output"', '  # [ "$output"', "assertion_loosened"],
  ["Perl: ok(1)", PERL, "is(add(1, 2), 3, 'adds')", "ok(1, 'adds')", "assertion_loosened"],
  ["Perl: fewer planned", PERL, "tests => 2", "tests => 1", "test_deleted"],
  ["Perl: skip_all", PERL, "tests => 2", "skip_all => 'later'", "test_skipped"],
  ["Perl: another value", PERL, "2), 3", "2), -1", "expectation_changed"],
  ["C: an assertion gone", C, "    assert(add(1, 2) == 3);\n", "    add(1, 2);\n", "assertion_loosened"],
  ["C: NDEBUG", C, "#include <assert.h>", "#define NDEBUG\n#include <assert.h>", "existing_test_changed"],
  ["C: exit(0)", C, "    adds();", "    exit(0);\n    adds();", "early_exit"],
  ["C: no longer called", C, "    adds();\n", "", "existing_test_changed"],
  ["Java: disabled", JAVA, "    @Test", "    @Disabled\n    @Test", "test_skipped"],
  ["Java: a wider delta", JAVA, "0.0001", "10.0", "assertion_loosened"],
  [
    "Java: assertTrue(true)",
    JAVA,
    "assertEquals(3, Add.add(1, 2))",
    "assertTrue(true)",
    "assertion_loosened",
  ],
  [
    "Java: System.exit",
    JAVA,
    "        assertEquals(3",
    "        System.exit(0);\n        assertEquals(3",
    "early_exit",
  ],
];

for (const [name, { path, text }, from, to, kind] of CHANGES)
  test(`G01: ${path}: ${name} → ${kind ?? "nothing"}`, async () => {
    assert.ok(text.includes(from), "the change applies");
    const findings = await report({ [path]: [text, text.replace(from, to)] });
    const found = findings.map((finding) => finding.kind);
    if (kind === null) assert.deepEqual(findings, []);
    else assert.ok(found.includes(kind as (typeof found)[number]), JSON.stringify(findings, null, 1));
  });

const INLINE = `/// Adds.
/// \`\`\`
/// assert_eq!(shop::add(1, 2), 3);
/// \`\`\`
pub fn add(a: i32, b: i32) -> i32 {
    a - b
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
`;

test("G01: tests that live in a source file are compared as well: Rust modules, documentation, docstrings, in-source tests", async () => {
  const kinds = async (path: string, before: string, after: string) =>
    (await report({ [path]: [before, after] })).map((finding) => finding.kind);
  const fixed = INLINE.replace("a - b", "a + b");
  assert.deepEqual(await kinds("src/lib.rs", INLINE, fixed), []);
  const more = fixed.replace(
    "    #[test]",
    "    #[test]\n    fn more() {\n        assert_eq!(add(2, 2), 4);\n    }\n    #[test]",
  );
  assert.deepEqual(await kinds("src/lib.rs", INLINE, more), []);
  const copied = INLINE.replace("assert_eq!(add(1, 2), 3);\n    }", "assert_eq!(add(1, 2), -1);\n    }");
  assert.deepEqual(await kinds("src/lib.rs", INLINE, copied), ["expectation_changed"]);
  const documented = INLINE.replace("shop::add(1, 2), 3", "shop::add(1, 2), -1");
  assert.deepEqual(await kinds("src/lib.rs", INLINE, documented), ["expectation_changed"]);
  const gone = INLINE.replace(/#\[cfg[\s\S]*/, "");
  assert.ok((await kinds("src/lib.rs", INLINE, gone)).includes("test_deleted"));
  const python = 'def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n';
  assert.deepEqual(await kinds("shop/a.py", python, python.replace("a - b", "a + b")), []);
  assert.notDeepEqual(await kinds("shop/a.py", python, python.replace("    3", "    -1")), []);
  const script =
    "export const add = (a, b) => a - b;\nif (import.meta.vitest) {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n}\n";
  assert.notDeepEqual(await kinds("src/a.js", script, script.replace("toBe(3)", "toBe(-1)")), []);
});

test("a test file nested beyond reason, or no longer text of its language, is compared by its lines", async () => {
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const findings = await report({ [NODE.path]: [NODE.text, `${NODE.text}\nconst deep = ${deep};\n`] });
  assert.deepEqual(findings, []);
  const broken = await report({
    [NODE.path]: [NODE.text, NODE.text.replace("strictEqual(add(1, 2), 3", "ok(true, ((")],
  });
  assert.ok(broken.length > 0);
});
