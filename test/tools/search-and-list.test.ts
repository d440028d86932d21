import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecRequest, Session } from "#src/sandbox/sandbox.ts";
import { createTools } from "#src/tools/tools.ts";
import { openWorkspace, type Workspace } from "./fixture.ts";

/** The same session on a machine without ripgrep. */
function withoutRipgrep(
  space: Workspace,
): (name: string, args: Record<string, unknown>) => ReturnType<Workspace["run"]> {
  const { session, directory, owner } = space;
  const hide = 'command() { [ "$2" = rg ] && return 1; builtin command "$@"; }\n';
  const bare: Session = {
    ...session,
    exec: (request: ExecRequest) => {
      const [shell = "", o = "", pipefail = "", c = "", script = "", ...rest] = request.argv;
      return session.exec({ ...request, argv: [shell, o, pipefail, c, hide + script, ...rest] });
    },
  };
  const tools = createTools({ session: bare, directory, owner, runTests: async () => "" });
  return async (name, args) => {
    const tool = tools.find((candidate) => candidate.name === name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool.run(tool.schema.parse(args), { signal: new AbortController().signal });
  };
}

const FILES = {
  "src/a.js": "const alpha = 1;\ncall(alpha, beta);\n",
  "src/b.ts": "// alpha\n",
  "node_modules/x/index.js": "alpha\n",
  ".gitignore": "node_modules\n",
  ".github/workflows/ci.yml": "alpha: 1\n",
  ".git/HEAD": "alpha\n",
};

test("matches are path:line:text, in order, without ignored files and .git", async () => {
  await using space = await openWorkspace(FILES);
  const { text } = await space.run("search", { pattern: "alpha" });
  assert.deepEqual(text.split("\n"), [
    ".github/workflows/ci.yml:1:alpha: 1",
    "src/a.js:1:const alpha = 1;",
    "src/a.js:2:call(alpha, beta);",
    "src/b.ts:1:// alpha",
  ]);
  assert.equal((await space.run("search", { pattern: "alpha", glob: "*.ts" })).text, "src/b.ts:1:// alpha");
  assert.match((await space.run("search", { pattern: "alpha", path: "src/a.js" })).text, /^src\/a\.js:1:/);
  assert.match((await space.run("search", { pattern: "ALPHA" })).text, /^No matches in the repository\./);
  assert.match((await space.run("search", { pattern: "(?i)ALPHA", path: "src" })).text, /src\/a\.js:1/);
});

test("an invalid expression is searched as plain text, and so is one that matches nothing", async () => {
  await using space = await openWorkspace(FILES);
  const invalid = await space.run("search", { pattern: "call(alpha" });
  assert.match(invalid.text, /no valid regular expression.*\nsrc\/a\.js:2:call\(alpha, beta\);/);
  const literal = await space.run("search", { pattern: "call(alpha, beta)" });
  assert.match(literal.text, /No match as a regular expression.*\nsrc\/a\.js:2:/);
  const fault = await space.run("search", { pattern: "a", glob: "{" });
  assert.equal(fault.status, "error");
  assert.match(fault.text, /glob/);
  assert.equal((await space.run("search", { pattern: "a\nb" })).status, "error");
  assert.match((await space.run("search", { pattern: "-e --files" })).text, /^No matches|\[No match/);
});

test("the first 50 matches are shown and the others counted", async () => {
  await using space = await openWorkspace({ "m.txt": "needle here\n".repeat(1_234) });
  const { text } = await space.run("search", { pattern: "needle" });
  const lines = text.split("\n");
  assert.equal(lines.length, 51);
  assert.equal(lines[50], "[1,184 more matches; narrow the pattern, path or glob]");
});

test("matches in many files come in the order of their paths, directory by directory, and all are counted", async () => {
  const names = [
    "a/z.txt",
    "a.txt",
    "b b.txt",
    ...Array.from({ length: 60 }, (_, n) => `m/${String(n).padStart(2, "0")}.txt`),
  ];
  const files = names.map((name) => [name, "needle\nhay\nneedle\n"] as const);
  await using space = await openWorkspace({ ...Object.fromEntries(files), "x.bin": "needle\0" });
  const { text } = await space.run("search", { pattern: "needle" });
  const lines = text.split("\n");
  assert.deepEqual(
    lines.slice(0, 6).map((line) => line.replace(/:needle$/, "")),
    ["a/z.txt:1", "a/z.txt:3", "a.txt:1", "a.txt:3", "b b.txt:1", "b b.txt:3"],
  );
  assert.equal(lines[49], "m/21.txt:3:needle");
  assert.equal(lines[50], "[76 more matches; narrow the pattern, path or glob]");
  assert.match(
    (await space.run("search", { pattern: "needle", glob: "m/5*" })).text,
    /^m\/50\.txt:1[\s\S]*m\/59\.txt:3:needle$/,
  );
});

test("B04: lines of 600 kB come back short", async () => {
  const line = `{"key":"needle","data":"${"x".repeat(600_000)}"}\n`;
  await using space = await openWorkspace({ "big.jsonl": line.repeat(5) });
  const { text } = await space.run("search", { pattern: "needle" });
  assert.ok(text.length < 2_000);
  assert.equal(text.split("\n").length, 5);
});

test("without ripgrep grep searches in the same form", async () => {
  await using space = await openWorkspace({
    "src/a.js": FILES["src/a.js"],
    ".git/HEAD": "alpha\n",
    "b.jsonl": `alpha${"x".repeat(600_000)}\n`,
  });
  const run = withoutRipgrep(space);
  const { text } = await run("search", { pattern: "alpha", path: "src" });
  assert.equal(text, "src/a.js:1:const alpha = 1;\nsrc/a.js:2:call(alpha, beta);");
  assert.match((await run("search", { pattern: "call(alpha" })).text, /as plain text.*\nsrc\/a\.js:2/);
  assert.ok((await run("search", { pattern: "alpha" })).text.length < 1_000);
  assert.match((await run("list_dir", {})).text, /b\.jsonl\nsrc\/ \(1 files\)/);
});

test("a directory is listed without ignored files, with the number of files below each sub-directory", async () => {
  await using space = await openWorkspace({ ...FILES, "src/deep/c.js": "", "README.md": "" });
  const { text } = await space.run("list_dir", {});
  assert.deepEqual(text.split("\n"), [
    "Repository root:",
    ".github/ (1 files)",
    ".gitignore",
    "README.md",
    "src/ (3 files)",
  ]);
  assert.equal((await space.run("list_dir", { path: "src" })).text, "src/:\na.js\nb.ts\ndeep/ (1 files)");
  assert.match((await space.run("list_dir", { path: "src/a.js" })).text, /is a file. Use read_file/);
  assert.match((await space.run("list_dir", { path: "scr" })).text, /has: src/);
});

test("a large directory is capped and the rest counted", async () => {
  await using space = await openWorkspace();
  await space.run("run_command", {
    command: "mkdir many && cd many && for i in $(seq -w 1 450); do : > f$i; done",
  });
  const { text } = await space.run("list_dir", { path: "many" });
  assert.equal(text.split("\n").length, 202);
  assert.match(text, /\[250 more entries/);
});
