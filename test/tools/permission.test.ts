/** The permission policy: what runs without a question, and that no "always" ever covers shell syntax. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type Asked,
  describeGrant,
  type Grant,
  grantsFor,
  isAllowed,
  refusalText,
} from "#src/tools/permission.ts";
import { FULL } from "#test/support/tier.ts";

const RUNS = { numRuns: FULL ? 10_000 : 1_000 };

const command = (text: string): Asked => ({
  tool: { name: "run_command", readOnly: false },
  args: { command: text },
});
const edit = (path: string): Asked => ({
  tool: { name: "edit_file", readOnly: false },
  args: { path, old: "a", new: "b" },
});
const named = (name: string, readOnly: boolean): Asked => ({ tool: { name, readOnly }, args: {} });
const words = (...list: string[]): Grant => ({ kind: "command", words: list });

test("what only reads runs, and the to-do list; everything else asks", () => {
  for (const asked of [named("read_file", true), named("delegate", true), named("update_todos", false)])
    assert.equal(isAllowed(asked, []), true, asked.tool.name);
  for (const asked of [command("ls"), edit("a"), named("run_tests", false), named("a_later_tool", false)])
    assert.equal(isAllowed(asked, []), false, asked.tool.name);
});

const NPM_TEST = [words("npm", "test")];
const TABLE: readonly (readonly [string, boolean])[] = [
  ["npm test", true],
  ["  npm   test ", true],
  ["npm test --foo", true],
  ["npm test -- test/a.test.js:12", true],
  ["npm testx", false],
  ["npm", false],
  ["npmtest", false],
  ["npm run test", false],
  ["xnpm test", false],
  ["FOO=1 npm test", false],
  ["npm test --foo; rm -r .", false],
  ["npm test && ls", false],
  ["npm test & ls", false],
  ["npm test | tee x", false],
  ["npm test > x", false],
  ["npm test < x", false],
  ["npm test `id`", false],
  ["npm test $HOME", false],
  ["npm test $(id)", false],
  ["npm test (a)", false],
  ["npm test\nid", false],
  ["npm test\rid", false],
  ["npm test\tid", false],
  ["npm test\u2028id", false],
  ["npm test\u00a0id", false],
  ["npm test 'a'", false],
  ['npm test "a;b"', false],
  ["npm test *", false],
  ["npm test a?", false],
  ["npm test [a]", false],
  ["npm test {a,b}", false],
  ["npm test ~", false],
  ["npm test \\a", false],
  ["npm test # a", false],
  ["npm test !!", false],
  ["npm test ^a", false],
  ["", false],
];
for (const [text, allowed] of TABLE)
  test(`with \`npm test\` always allowed, ${JSON.stringify(text)} ${allowed ? "runs" : "asks"}`, () => {
    assert.equal(isAllowed(command(text), NPM_TEST), allowed);
  });

test("what can be allowed for good is the command's first words, or nothing when it has shell syntax", () => {
  for (const [text, expected] of [
    ["npm test --foo", [["npm", "test"]]],
    ["npm run build --x", [["npm", "run", "build"]]],
    ["ls", [["ls"]]],
    ["node test/a.js x", [["node", "test/a.js"]]],
    ["node -e 1", [["node", "-e", "1"]]],
    ["A=1 npm test", []],
    ["npm test; id", []],
    ["echo 'a'", []],
    [" ", []],
  ] as const)
    assert.deepEqual(
      grantsFor(command(text)).map((grant) => (grant.kind === "command" ? grant.words : grant)),
      expected,
      text,
    );
});

test("an edit can be allowed for its file, however the path is spelled, or for all files", () => {
  const [one, all] = grantsFor(edit("./src//a.js"));
  assert.deepEqual([one, all], [{ kind: "edit", path: "src/a.js" }, { kind: "edits" }]);
  assert.ok(one !== undefined && all !== undefined);
  assert.equal(isAllowed(edit("/workspace/src/a.js"), [one]), true);
  assert.equal(isAllowed(edit("src/b.js"), [one]), false);
  assert.equal(isAllowed(edit("src/b.js"), [all]), true);
  assert.equal(isAllowed(command("src/a.js"), [one, all]), false);
  for (const outside of ["../a", "/etc/passwd", ".git/config", "a\0b"]) {
    assert.equal(isAllowed(edit(outside), [all]), false, outside);
    assert.deepEqual(grantsFor(edit(outside)), []);
  }
  assert.deepEqual(grantsFor(named("run_tests", false)), [{ kind: "tests" }]);
  assert.deepEqual([one, all].map(describeGrant), ["edits of src/a.js", "all edits"]);
});

test("a refusal says what the person said", () => {
  assert.match(refusalText("run_command", ""), /refused this call of run_command; it did not run/);
  assert.match(refusalText("edit_file", "use the helper"), /They say: use the helper/);
});

const SHELL_SYNTAX = [..."; & | > < ` $ ( ) \n \r ' \" * ? [ ] { } ~ \\ # !".split(" "), "\0", "\u2028"];
const someWord = fc.stringMatching(/^[a-z0-9_./:@%+,-]{1,8}$/);

test("no command with shell syntax is allowed by any grant, wherever the syntax stands", () => {
  fc.assert(
    fc.property(
      fc.array(someWord, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(...SHELL_SYNTAX),
      fc.nat(),
      (parts, syntax, where) => {
        const text = parts.join(" ");
        const at = where % (text.length + 1);
        const crooked = command(`${text.slice(0, at)}${syntax}${text.slice(at)}`);
        const grants: Grant[] = parts.map((_, n) => words(...parts.slice(0, n + 1)));
        const loose: Grant[] = [words(), { kind: "edits" }, { kind: "tests" }];
        assert.equal(isAllowed(crooked, [...grants, ...loose]), false);
        assert.deepEqual(grantsFor(crooked), []);
      },
    ),
    RUNS,
  );
});

test("a grant covers the command it was offered for, and what it covers begins with its words", () => {
  fc.assert(
    fc.property(
      fc.array(someWord, { minLength: 1, maxLength: 5 }),
      fc.array(someWord, { minLength: 1, maxLength: 5 }),
      (mine, other) => {
        const grants = grantsFor(command(mine.join(" ")));
        assert.equal(grants.length, 1);
        assert.equal(isAllowed(command(mine.join(" ")), grants), true);
        const [grant] = grants;
        if (grant?.kind !== "command" || !isAllowed(command(other.join(" ")), grants)) return;
        assert.deepEqual(other.slice(0, grant.words.length), grant.words);
      },
    ),
    RUNS,
  );
});

test("whatever the arguments are, nothing is thrown and nothing is allowed without a grant", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("run_command", "edit_file", "run_tests", "x"),
      fc.anything(),
      (name, args) => {
        const asked: Asked = { tool: { name, readOnly: false }, args };
        grantsFor(asked);
        assert.equal(isAllowed(asked, []), false);
      },
    ),
    RUNS,
  );
});
