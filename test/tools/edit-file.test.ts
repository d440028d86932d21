import assert from "node:assert/strict";
import { chmod, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openWorkspace } from "./fixture.ts";

const BOM = "\ufeff";

test("an edit replaces text that occurs exactly once, answers with the changed lines, and names the path", async () => {
  await using space = await openWorkspace({ "src/a.js": "one\ntwo\nthree\nfour\n" });
  const result = await space.run("edit_file", { path: "src/a.js", old: "two", new: "2\n2b" });
  assert.equal(result.status, "ok");
  assert.match(result.text, /1\tone\n2\t2\n3\t2b\n4\tthree/);
  assert.deepEqual(result.wrote, ["src/a.js"]);
  assert.deepEqual(space.edited, ["src/a.js"]);
  assert.equal(String(await space.bytes("src/a.js")), "one\n2\n2b\nthree\nfour\n");
});

test("text that occurs twice is refused with the count and places, overlapping ones too", async () => {
  await using space = await openWorkspace({ "a.txt": "x\ny\nx\n", "b.txt": "aaa" });
  const result = await space.run("edit_file", { path: "a.txt", old: "x", new: "z" });
  assert.equal(result.status, "error");
  assert.match(result.text, /occurs 2 times, at lines 1, 3/);
  assert.match((await space.run("edit_file", { path: "b.txt", old: "aa", new: "b" })).text, /2 times/);
  assert.equal(String(await space.bytes("b.txt")), "aaa");
});

test("C11: text that differs by a tab is refused with the closest lines, and nothing is written", async () => {
  const source = "function a() {\n\treturn old;\n}\n";
  await using space = await openWorkspace({ "a.js": source });
  const result = await space.run("edit_file", {
    path: "a.js",
    old: "function a() {\n    return old;",
    new: "function a() {\n    return renamed;",
  });
  assert.equal(result.status, "error");
  assert.match(result.text, /begin at line 1.*white space only/s);
  assert.match(result.text, /^-\s{4}return old;$/m);
  assert.match(result.text, /^\+→return old;$/m);
  assert.equal(String(await space.bytes("a.js")), source);
});

test("a refusal says when line numbers were pasted, when the edit is done already, when nothing is similar", async () => {
  await using space = await openWorkspace({ "a.js": "const a = 1;\nconst b = 2;" });
  const edit = (old: string, put: string) => space.run("edit_file", { path: "a.js", old, new: put });
  assert.match((await edit("1\tconst a = 1;", "x")).text, /line numbers/);
  assert.match((await edit("const b = 1;", "const b = 2;")).text, /seems to be done/);
  assert.match((await edit("const b = 2;\n", "x")).text, /ends without a line break/);
  assert.match((await edit("zzzzzz qqqqq", "x")).text, /Nothing in it is similar/);
  assert.match((await edit("const a = 1;", "const a = 1;")).text, /the same/);
});

const endings: readonly (readonly [string, string, string, string, string])[] = [
  ["C01: CRLF", "a\r\nb\r\nc\r\n", "a\nb", "A\nB", "A\r\nB\r\nc\r\n"],
  ["C01: CRLF, lines added", "a\r\nb\r\n", "a\n", "a\nnew\n", "a\r\nnew\r\nb\r\n"],
  ["C01: CRLF spelled out by the model", "a\r\nb\r\n", "a\r\nb", "A\r\nB", "A\r\nB\r\n"],
  [
    "C01: mixed ends, unchanged lines keep theirs",
    "a\r\nb\nc\r\nd\n",
    "a\nb\nc",
    "a\nB\nc",
    "a\r\nB\nc\r\nd\n",
  ],
  [
    "C01: mixed ends, an added line takes its neighbour's",
    "a\nb\r\nc\n",
    "b\nc",
    "b\nx\nc",
    "a\nb\r\nx\nc\n",
  ],
  ["a lone carriage return", "a\rb\nc\n", "a\rb", "A\rb", "A\rb\nc\n"],
  ["the final newline stays", "a\nb\n", "b\n", "c", "a\nc\n"],
  ["a missing final newline stays missing", "a\nb", "b", "c", "a\nc"],
  ["the last line can go", "a\nb\n", "b\n", "", "a\n"],
  ["everything can go", "a\n", "a\n", "", ""],
];
for (const [what, before, old, put, after] of endings)
  test(`${what}: only what was meant changes`, async () => {
    await using space = await openWorkspace({ "f.txt": before });
    const result = await space.run("edit_file", { path: "f.txt", old, new: put });
    assert.equal(result.status, "ok", result.text);
    assert.equal(String(await space.bytes("f.txt")), after);
  });

test("C03: a byte order mark is neither lost, added nor doubled", async () => {
  await using space = await openWorkspace({ "a.cs": `${BOM}using A;\r\nusing B;\r\n`, "b.cs": "using A;\n" });
  await space.run("edit_file", { path: "a.cs", old: "B", new: "C" });
  await space.run("edit_file", { path: "a.cs", old: "C", new: "D" });
  await space.run("edit_file", { path: "a.cs", old: `${BOM}using A`, new: `${BOM}using Z` });
  assert.equal(String(await space.bytes("a.cs")), `${BOM}using Z;\r\nusing D;\r\n`);
  await space.run("edit_file", { path: "b.cs", old: "A", new: "B" });
  assert.equal(String(await space.bytes("b.cs")), "using B;\n");
});

test("an old text that is only a byte order mark is taken for empty", async () => {
  await using space = await openWorkspace({ "a.txt": "a" });
  assert.match((await space.run("edit_file", { path: "a.txt", old: BOM, new: "b" })).text, /exists already/);
});

test("C04: dollar sequences in the new text are written as they are", async () => {
  await using space = await openWorkspace({ "v.txt": "v=1\n" });
  await space.run("edit_file", { path: "v.txt", old: "1", new: "$$ $& $` $' $1 $<x>" });
  assert.equal(String(await space.bytes("v.txt")), "v=$$ $& $` $' $1 $<x>\n");
});

test("C09: a file that changed since it was read is refused until it is read again", async () => {
  await using space = await openWorkspace({ "a.ts": "let a = 1;\n" });
  await space.run("read_file", { path: "a.ts" });
  await space.run("run_command", { command: "echo '// x' >> a.ts" });
  const edit = () => space.run("edit_file", { path: "a.ts", old: "1", new: "2" });
  assert.match((await edit()).text, /changed since you read it/);
  assert.equal(String(await space.bytes("a.ts")), "let a = 1;\n// x\n");
  await space.run("read_file", { path: "a.ts" });
  assert.equal((await edit()).status, "ok");
});

test("C09: own edits and a mere touch are no change", async () => {
  await using space = await openWorkspace({ "a.ts": "let a = 1;\n" });
  await space.run("read_file", { path: "a.ts" });
  await utimes(join(space.directory, "a.ts"), 1, 1);
  assert.equal((await space.run("edit_file", { path: "a.ts", old: "1", new: "2" })).status, "ok");
  assert.equal((await space.run("edit_file", { path: "./a.ts", old: "2", new: "3" })).status, "ok");
});

test("C12: the mode stays as it was; a new file is 0644 and belongs to the sandbox's user, like its directories", async () => {
  await using space = await openWorkspace({ "run.sh": "echo one\n" });
  await chmod(join(space.directory, "run.sh"), 0o755);
  await space.run("edit_file", { path: "run.sh", old: "one", new: "two" });
  const edited = await stat(join(space.directory, "run.sh"));
  assert.equal(edited.mode & 0o777, 0o755);
  const result = await space.run("edit_file", { path: "deep/new/file.js", old: "", new: "x\n" });
  assert.equal(result.text, "Created deep/new/file.js (1 lines).");
  const made = await stat(join(space.directory, "deep/new/file.js"));
  const parent = await stat(join(space.directory, "deep/new"));
  assert.equal(made.mode & 0o777, 0o644);
  assert.equal(parent.mode & 0o777, 0o755);
  const uid = space.owner?.uid ?? process.getuid?.();
  assert.deepEqual([edited.uid, made.uid, parent.uid], [uid, uid, uid]);
  const inside = await space.run("run_command", {
    command: "echo more >> deep/new/file.js && cat deep/new/file.js",
  });
  assert.match(inside.text, /x\nmore/);
});

test("an empty old text never overwrites a file that has content, and fills one that has none", async () => {
  await using space = await openWorkspace({ "full.txt": "content", "empty.txt": "" });
  assert.match(
    (await space.run("edit_file", { path: "full.txt", old: "", new: "x" })).text,
    /exists already/,
  );
  assert.equal((await space.run("edit_file", { path: "empty.txt", old: "", new: "x" })).status, "ok");
  assert.equal(String(await space.bytes("full.txt")), "content");
  assert.equal(String(await space.bytes("empty.txt")), "x");
});

test("A30: text of any script arrives on disk byte by byte", async () => {
  await using space = await openWorkspace({ "t.txt": "x\n" });
  await space.run("edit_file", { path: "t.txt", old: "x", new: "那🌍é" });
  assert.deepEqual(await space.bytes("t.txt"), Buffer.from("那🌍é\n"));
});

test("a file that is not UTF-8 keeps every byte, and refuses what it cannot hold", async () => {
  const latin = Buffer.concat([Buffer.from("na"), Buffer.from([0xef]), Buffer.from("ve = 1\nb = 2\n")]);
  await using space = await openWorkspace({ "l.txt": latin });
  assert.equal((await space.run("edit_file", { path: "l.txt", old: "b = 2", new: "b = 3" })).status, "ok");
  assert.deepEqual(
    await space.bytes("l.txt"),
    Buffer.from(latin.toString("latin1").replace("2", "3"), "latin1"),
  );
  assert.match((await space.run("edit_file", { path: "l.txt", old: "b = 3", new: "那" })).text, /not UTF-8/);
});

test("binary files and UTF-16 are refused by name", async () => {
  await using space = await openWorkspace({
    "i.png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]),
    "u.txt": Buffer.from("\ufeffhello", "utf16le"),
  });
  assert.match((await space.run("edit_file", { path: "i.png", old: "P", new: "Q" })).text, /binary/);
  assert.match((await space.run("edit_file", { path: "u.txt", old: "h", new: "H" })).text, /UTF-16/);
});

test("a missing file is answered with the nearest names", async () => {
  await using space = await openWorkspace({ "src/parser.js": "", "src/printer.js": "", "README.md": "" });
  const result = await space.run("edit_file", { path: "src/parsr.js", old: "a", new: "b" });
  assert.match(result.text, /src\/parsr\.js does not exist\. src has: src\/parser\.js/);
  assert.match(
    (await space.run("read_file", { path: "scr/parser.js" })).text,
    /The repository root has: src/,
  );
});
