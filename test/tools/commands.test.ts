import assert from "node:assert/strict";
import { test } from "node:test";
import { SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import { parseCalls, toolSpec } from "#src/harness/tool-calls.ts";
import { call } from "#test/support/canned-model.ts";
import { openWorkspace } from "./fixture.ts";

test("a command answers with exit code and both streams in order", async () => {
  await using space = await openWorkspace();
  const result = await space.run("run_command", { command: "echo one; echo two >&2; echo three; exit 3" });
  assert.equal(result.status, "ok");
  assert.match(result.text, /^exit code 3 after [\d.]+ s\none\ntwo\nthree$/);
  assert.match((await space.run("run_command", { command: "true" })).text, /exit code 0 .*\n\(no output\)$/);
});

test("G06: a failing part of a pipe fails the whole", async () => {
  await using space = await openWorkspace();
  assert.match((await space.run("run_command", { command: "false | tail -5" })).text, /^exit code 1/);
});

test("D01: at the time limit the command and its children are gone, and the answer says what to do", async () => {
  await using space = await openWorkspace();
  const startedAt = performance.now();
  const result = await space.run("run_command", { command: 'bash -c "sleep 613; true"; true', timeout: 1 });
  assert.ok(performance.now() - startedAt < 10_000);
  assert.equal(result.status, "error");
  assert.match(result.text, /took too long.*limit 1 s.*\n.*\n\[There is no terminal/);
  assert.match(
    (await space.run("run_command", { command: "pgrep -f 'sleep 61[3]' || echo none" })).text,
    /none/,
  );
});

test("D02: a background process that keeps the pipe open does not hold the call", async () => {
  await using space = await openWorkspace();
  const startedAt = performance.now();
  const result = await space.run("run_command", {
    command: "(while :; do echo x; sleep 0.2; done) & echo done",
  });
  assert.match(result.text, /exit code 0[\s\S]*done/);
  assert.ok(performance.now() - startedAt < 10_000);
});

test("D04: a command that waits for input reads its end at once", async () => {
  await using space = await openWorkspace();
  assert.match(
    (await space.run("run_command", { command: 'read -p "sure? " x; echo "[$x]"; cat' })).text,
    /\[\]/,
  );
});

test("D06: a flood of output is cut to head and tail with the dropped bytes counted", async () => {
  await using space = await openWorkspace();
  const result = await space.run("run_command", {
    command: "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last",
  });
  assert.ok(result.text.length < 8_000);
  assert.match(result.text, /first\nx+\n\[… [\d,]+ bytes left out …\]\nx+\nlast$/);
});

test("D09: a command that ignores the polite signal still ends", async () => {
  await using space = await openWorkspace();
  const result = await space.run("run_command", {
    command: "trap '' TERM; while :; do sleep 1; done",
    timeout: "1",
  });
  assert.match(result.text, /took too long/);
});

test("a cancel stops the command and says so", async () => {
  await using space = await openWorkspace();
  const controller = new AbortController();
  const running = space.run("run_command", { command: "sleep 600" }, controller.signal);
  controller.abort("cancelled by octocat");
  assert.match((await running).text, /cancelled/);
});

test("hints name a missing program and the missing network", async () => {
  await using space = await openWorkspace();
  assert.match((await space.run("run_command", { command: "no-such-program" })).text, /not installed here/);
  assert.match(
    (
      await space.run("run_command", {
        command: 'node -e \'require("dns").lookup("example.org", (e) => console.log(e.code))\'',
      })
    ).text,
    /no network here/,
  );
});

test("H06: no variable of the app reaches a command", async () => {
  await using space = await openWorkspace();
  const { text } = await space.run("run_command", {
    command: "env; cat /proc/1/environ 2>/dev/null | tr '\\0' '\\n'",
  });
  assert.ok(!/NODE_TEST|_TOKEN|API_KEY|SECRET/.test(text), text);
  assert.match(text, /CI=true/);
});

test("a command with a NUL or of megabytes is refused by its schema, not by a crash", async () => {
  await using space = await openWorkspace();
  for (const command of ["a\0b", "x".repeat(200_000), ""]) {
    const entry = parseCalls("complete", [call("run_command", { command })], space.tools)[0];
    assert.equal(entry?.kind, "error");
  }
});

test("run_tests hands the filter on and answers with the summary", async () => {
  const filters: (string | null)[] = [];
  await using space = await openWorkspace({}, async (filter) => {
    filters.push(filter);
    return "12 passed";
  });
  assert.equal((await space.run("run_tests", {})).text, "12 passed");
  await space.run("run_tests", { filter: " parser " });
  await space.run("run_tests", { filter: "" });
  assert.deepEqual(filters, [null, "parser", null]);
});

test("update_todos takes every common spelling and answers with the list", async () => {
  await using space = await openWorkspace();
  const items = [
    "find it",
    { text: "fix it", status: "in_progress" },
    { content: "test it", status: "completed" },
    { title: "tell", done: true },
    { text: "not yet", done: "false" },
    "[x] as it was\nwritten",
  ];
  assert.deepEqual((await space.run("update_todos", { items })).text.split("\n"), [
    "[ ] find it",
    "[~] fix it",
    "[x] test it",
    "[x] tell",
    "[ ] not yet",
    "[x] as it was written",
  ]);
  assert.equal((await space.run("update_todos", { items: [] })).text, "The list is empty.");
});

test("the tools have the names other parts rely on, and with the system prompt fit into 8,000 characters as sent", async () => {
  await using space = await openWorkspace();
  const specs = space.tools.map(toolSpec);
  assert.deepEqual(
    specs.map((spec) => spec.name),
    [
      "read_file",
      "list_dir",
      "search",
      "find_definition",
      "edit_file",
      "run_command",
      "run_tests",
      "update_todos",
    ],
  );
  const asSent = JSON.stringify(specs.map((spec) => ({ type: "function", function: spec })));
  assert.ok(SYSTEM_PROMPT.length + asSent.length <= 8_000, String(SYSTEM_PROMPT.length + asSent.length));
});
