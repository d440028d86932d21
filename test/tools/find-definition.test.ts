import assert from "node:assert/strict";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { createFiles } from "#src/tools/files.ts";
import { findDefinitionTool } from "#src/tools/find-definition.ts";
import { guessIn } from "#src/tools/find-definition-guess.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { openWorkspace, type Workspace } from "./fixture.ts";

const FILES = {
  "src/stack.ts": [
    'import { Base } from "./base.ts";',
    "",
    "/** A stack. */",
    "@register()",
    "export class Stack<T> extends Base {",
    "  push(item: T): number {",
    "    return this.items.push(item);",
    "  }",
    "}",
    "",
    "export function fold<T>(",
    "  items: readonly T[],",
    "  step: (sum: T, item: T) => T,",
    "  start: T,",
    "  from: number,",
    "  to: number,",
    "  note: string,",
    "): T {",
    "  return items.reduce(step, start);",
    "}",
    "",
  ].join("\n"),
  "src/queue.ts": "export class Queue {\n  push(item: string) {\n    return item;\n  }\n}\n",
  "src/use.ts": 'import { Stack } from "./stack.ts";\nnew Stack().push(1);\n',
  "test/stack.test.ts": "function push() {}\n",
  "pkg/tree.py": "def grow(\n    tree,\n):\n    return tree\n",
  "pkg/other.py": "class Tree:\n    def grow(self):\n        return 1\n",
  "cmd/tool/run.go": "package tool\n\nfunc Run(args []string) error {\n\treturn nil\n}\n",
  "build.sh": "#!/bin/sh\ndeploy() {\n  echo deploy\n}\ndeploy\n",
  "lib/box.kt": "class Box(val side: Int) {\n  fun area(): Int = side * side\n}\n",
  "node_modules/x/index.js": "function hidden() {}\n",
  ".gitignore": "node_modules\n",
};

/** One for all tests that only look. */
let space: Workspace;
before(async () => {
  space = await openWorkspace(FILES);
});
after(() => space[Symbol.asyncDispose]());

test("a definition comes with its place, kind and first lines, decorators and all", async () => {
  const { text, status } = await space.run("find_definition", { symbol: "Stack" });
  assert.equal(status, "ok");
  assert.deepEqual(text.split("\n"), [
    "src/stack.ts:5-9 class Stack",
    "4\t@register()",
    "5\texport class Stack<T> extends Base {",
    "6\t  push(item: T): number {",
    "7\t    return this.items.push(item);",
    "8\t  }",
    "9\t}",
  ]);
});

test("a signature over many lines is shown whole", async () => {
  const { text } = await space.run("find_definition", { symbol: "fold" });
  assert.match(text, /^src\/stack\.ts:11-20 function fold\n11\texport function fold/);
  assert.match(text, /\n18\t\): T \{\n19\t {2}return items/);
});

const QUALIFIED: readonly (readonly [string, RegExp])[] = [
  ["Queue.push", /^src\/queue\.ts:2-4 method Queue\.push\n/],
  ["Queue#push()", /^src\/queue\.ts:2-4 method Queue\.push\n/],
  ["stack.Stack.push", /^src\/stack\.ts:6-8 method Stack\.push\n/],
  ["tree.grow", /^pkg\/tree\.py:1-4 function grow\n/],
  ["pkg.other.Tree.grow(self)", /^pkg\/other\.py:2-3 method Tree\.grow\n/],
  ["tool.Run", /^cmd\/tool\/run\.go:3-5 function Run\n/],
  ["function fold<T>(items)", /^src\/stack\.ts:11-20 function fold\n/],
];
for (const [symbol, expected] of QUALIFIED)
  test(`${symbol} finds one definition and no other`, async () => {
    const { text } = await space.run("find_definition", { symbol });
    assert.match(text, expected);
    assert.equal(text.split("\n\n").length, 1, text);
  });

test("several definitions are listed, sources before tests; a wrong qualifier gives those of the bare name", async () => {
  const { text } = await space.run("find_definition", { symbol: "push" });
  const titles = text.split("\n").filter((line) => /^\S+:\d/.test(line));
  assert.deepEqual(titles, [
    "src/queue.ts:2-4 method Queue.push",
    "src/stack.ts:6-8 method Stack.push",
    "test/stack.test.ts:1 function push",
  ]);
  const wrong = await space.run("find_definition", { symbol: "Heap.push" });
  assert.match(wrong.text, /^\[None is part of Heap; these have the name push\.\]\n\nsrc\/queue/);
});

test("languages without a grammar are searched by the look of their lines", async () => {
  const shell = await space.run("find_definition", { symbol: "deploy" });
  assert.match(shell.text, /^build\.sh:2 function deploy\n2\tdeploy\(\) \{/);
  assert.match((await space.run("find_definition", { symbol: "Box" })).text, /^lib\/box\.kt:1 class Box\n/);
  assert.match(
    (await space.run("find_definition", { symbol: "Box.area" })).text,
    /lib\/box\.kt:2 function area/,
  );
});

test("lines that look like definitions are told from uses", () => {
  const defined = [
    "fun target(x: Int) = 1",
    "func (s *Stack) target() {",
    "class target extends B",
    "target() {",
    "  defp target(a, b), do: a",
    "local function M.target(a)",
    "CREATE TABLE target (id int);",
    "static int target(int a) {",
    "let rec target x = x",
    "target <- function(x) x",
    "target :: Int -> Int",
  ];
  const used = [
    "return target(a) {",
    "x = target",
    "y.target()",
    "// the target",
    "new target(a) {",
    "retarget() {",
    "if (target) {",
  ];
  for (const line of defined) assert.equal(guessIn("target", line).length, 1, line);
  for (const line of used) assert.equal(guessIn("target", line).length, 0, line);
});

test("a name that is not defined is answered with the nearest ones, uses and a hint", async () => {
  const typo = await space.run("find_definition", { symbol: "Stakc" });
  assert.match(typo.text, /^Stakc occurs in no file.* Names like it: Stack\..*search/);
  const used = await space.run("find_definition", { symbol: "register" });
  assert.match(
    used.text,
    /^No definition of register.* in 1 file\(s\): src\/stack\.ts\. It may come from a dep/,
  );
  assert.match((await space.run("find_definition", { symbol: "hidden" })).text, /^hidden occurs in no file/);
  const none = await space.run("find_definition", { symbol: "a + b ===" });
  assert.match(none.text, /^a occurs in no file/);
  assert.equal((await space.run("find_definition", { symbol: "=> 1" })).status, "error");
});

test("links are not followed, binary files and files above 1 MB are left out", async () => {
  await using space = await openWorkspace({
    "real.py": "def target():\n    pass\n",
    "big.py": `def target():\n    pass\n${"# filler\n".repeat(130_000)}`,
    "blob.py": Buffer.from("def target():\0\n"),
  });
  await writeFile(join(space.outside, "secret.py"), "def target():\n    secret = 1\n");
  await symlink(join(space.outside, "secret.py"), join(space.directory, "link.py"));
  const { text } = await space.run("find_definition", { symbol: "target" });
  assert.match(text, /real\.py:1-2/);
  assert.doesNotMatch(text, /secret|link\.py|big\.py|blob\.py/);
  await rm(join(space.directory, "link.py"));
});

test("of a file that is one line the part with the definition is shown", async () => {
  const filler = "var a=1;".repeat(5_000);
  await using space = await openWorkspace({ "min.js": `${filler}function target(b){return b}${filler}\n` });
  const { text } = await space.run("find_definition", { symbol: "target" });
  assert.match(text, /^min\.js:1 function target\n1\t\[…\]function target\(b\)\{return b\}var/);
  assert.ok(text.length < 400);
});

test("many definitions are capped and the rest counted", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 230 }, (_, n) => [`m${n}.py`, `def target(x):\n    return ${n}\n`]),
  );
  await using space = await openWorkspace(files);
  const { text } = await space.run("find_definition", { symbol: "target" });
  assert.match(text, /^\[30 further files with this word were not looked at/);
  assert.equal(text.match(/ function target$/gm)?.length, 10);
  assert.match(text, /\[190 more: m\d+\.py:1, /);
  assert.ok(text.length < 8_000);
});

test("without ripgrep grep finds the files", async () => {
  await using space = await openWorkspace({
    "src/a.py": "def target():\n    pass\n",
    ".git/x.py": "def target(): pass\n",
  });
  const { session, directory, owner } = space;
  const hide = 'command() { [ "$2" = rg ] && return 1; builtin command "$@"; }\n';
  const bare: Session = {
    ...session,
    exec: (request) => session.exec({ ...request, argv: request.argv.with(4, hide + request.argv[4]) }),
  };
  const files = createFiles(directory, owner);
  const tool = findDefinitionTool({ session: bare, files, clock: systemClock });
  const signal = new AbortController().signal;
  assert.equal(
    (await tool.run({ symbol: "target" }, { signal })).text,
    "src/a.py:1-2 function target\n1\tdef target():\n2\t    pass",
  );
  assert.match((await tool.run({ symbol: "nowhere" }, { signal })).text, /^nowhere occurs in no file/);
});

/** A megabyte that no parser gets through in a minute. */
const HOSTILE = `int target(int a) { return a; }\n${"a<".repeat(400_000)}\n`;

test("a file that cannot be parsed in time is ended by the clock and its lines are looked at; the others are parsed", async () => {
  await using space = await openWorkspace({
    "a.cpp": HOSTILE,
    "b.cpp": "int Box::target() { return 1; }\n",
    "c.js": "function target() {}\n",
  });
  const { session, directory, owner } = space;
  const clock = createManualClock();
  const tool = findDefinitionTool({ session, files: createFiles(directory, owner), clock });
  const running = tool.run({ symbol: "target" }, { signal: new AbortController().signal });
  await clock.waitForTimers(2);
  await clock.advance(5_000);
  const { text } = await running;
  assert.match(text, /^\[By pattern only, since it could not be parsed in time: a\.cpp\]/);
  assert.match(text, /a\.cpp:1 function target/);
  assert.match(text, /b\.cpp:1 function Box\.target/);
  assert.match(text, /c\.js:1 function target/);
  await clock.advance(60_000);
  assert.equal(clock.pending(), 0);
});

test("a cancel ends a parse under way", async () => {
  await using space = await openWorkspace({ "a.cpp": HOSTILE });
  const { session, directory, owner } = space;
  const clock = createManualClock();
  const tool = findDefinitionTool({ session, files: createFiles(directory, owner), clock });
  const cancel = new AbortController();
  const running = tool.run({ symbol: "target" }, { signal: cancel.signal });
  await clock.waitForTimers(2);
  cancel.abort("cancelled by octocat");
  await running;
  await clock.advance(60_000);
  assert.equal(clock.pending(), 0);
});
