import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorkspace } from "./fixture.ts";

function numbered(count: number): string {
  return Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");
}

test("a file is shown in numbered lines, 200 at first, with the number of those that remain", async () => {
  await using space = await openWorkspace({ "long.txt": `${numbered(523)}\n` });
  const first = await space.run("read_file", { path: "long.txt" });
  assert.match(first.text, /^long\.txt, lines 1-200 of 523\n1\tline 1\n/);
  assert.match(first.text, /\n200\tline 200\n\[323 more lines; go on with start 201\]$/);
  const last = await space.run("read_file", { path: "long.txt", start: "500", end: 900 });
  assert.match(last.text, /lines 500-523 of 523/);
  assert.ok(!last.text.includes("more lines"));
  assert.match((await space.run("read_file", { path: "long.txt", start: 600 })).text, /has 523 lines/);
  assert.match((await space.run("read_file", { path: "long.txt", start: 9, end: 3 })).text, /before start/);
});

test("a window is cut between lines so that the dispatcher never cuts its middle", async () => {
  const wide = Array.from({ length: 200 }, () => "x".repeat(120)).join("\n");
  await using space = await openWorkspace({ "wide.txt": wide });
  const { text } = await space.run("read_file", { path: "wide.txt" });
  assert.ok(text.length < 8_000);
  const [, next] = /go on with start (\d+)\]/.exec(text) ?? [];
  const rest = await space.run("read_file", { path: "wide.txt", start: next });
  assert.match(rest.text, new RegExp(`lines ${next}-`));
});

test("C07: a minified line of a million characters is cut with a marker and a hint, never called empty", async () => {
  await using space = await openWorkspace({ "bundle.js": "a".repeat(1_000_000) });
  const { text } = await space.run("read_file", { path: "bundle.js" });
  assert.ok(text.length < 8_000);
  assert.match(text, /lines 1-1 of 1/);
  assert.match(text, /994,000 more characters in this line/);
  assert.match(text, /search.*cut -c/);
});

test("long lines among others are cut shorter, and no emoji is split", async () => {
  await using space = await openWorkspace({ "a.txt": `${"🌍".repeat(400)}\nshort\n` });
  const { text } = await space.run("read_file", { path: "a.txt" });
  assert.match(text, /300 more characters in this line\]\n2\tshort/);
  assert.ok(text.isWellFormed());
});

test("binary files are named, empty files are said to be empty, directories point to list_dir", async () => {
  await using space = await openWorkspace({
    "i.png": Buffer.from([0x89, 0x50, 0, 1]),
    "e.txt": "",
    "d/f": "x",
  });
  assert.match(
    (await space.run("read_file", { path: "i.png" })).text,
    /i\.png is a binary file \(4 bytes\); not shown/,
  );
  assert.equal((await space.run("read_file", { path: "e.txt" })).text, "e.txt is empty (0 lines).");
  assert.match((await space.run("read_file", { path: "d" })).text, /is a directory. Use list_dir/);
  assert.match((await space.run("read_file", { path: "." })).text, /root, a directory/);
  assert.match((await space.run("read_file", { path: "d/f/g" })).text, /d\/f is not a directory/);
});

test("CRLF and odd encodings are said, and line ends are not shown", async () => {
  await using space = await openWorkspace({
    "c.txt": "a\r\nb\r\n",
    "l.txt": Buffer.from([0x61, 0xe9, 0x0a]),
  });
  const crlf = await space.run("read_file", { path: "c.txt" });
  assert.match(crlf.text, /CRLF line ends/);
  assert.ok(!crlf.text.includes("\r"));
  assert.match((await space.run("read_file", { path: "l.txt" })).text, /Latin-1\)\n1\taé/);
});

test("a file of more than 10 MB is left to commands", async () => {
  await using space = await openWorkspace();
  await space.run("run_command", { command: "head -c 11000000 /dev/zero | tr '\\0' 'a' > big.log" });
  assert.match((await space.run("read_file", { path: "big.log" })).text, /11,000,000 bytes, more than/);
});

test("H08: odd names are plain names", async () => {
  const name = "$(touch r) `x`;--'\" é.js";
  await using space = await openWorkspace({ [name]: "hello\n", "-rf": "dash\n" });
  assert.match((await space.run("read_file", { path: name })).text, /1\thello/);
  assert.match((await space.run("search", { pattern: "hello", path: name })).text, /:1:hello/);
  assert.match((await space.run("search", { pattern: "dash", path: "-rf" })).text, /^-rf:1:dash/);
  assert.match((await space.run("list_dir", {})).text, /touch r/);
});
