/** The command line from outside: help, wrong words, exit codes, and the commands that need no server. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readRequest } from "#src/cli/local-request.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { sample } from "#test/support/tier.ts";
import { sampleRun } from "#test/trace/sample.ts";
import { agentFix } from "./command.ts";

const COMMANDS = ["serve", "demo", "run", "resume", "trace", "doctor"] as const;

test("help tells the commands, on standard output; without a command it is a wrong use", async () => {
  for (const [args, code] of [
    [["--help"], 0],
    [[], 2],
  ] as const) {
    const ended = await agentFix(args);
    assert.equal(ended.code, code, args.join(" "));
    for (const command of COMMANDS) assert.match(ended.stdout, new RegExp(`^  ${command} `, "m"));
    assert.equal(ended.stderr, "");
  }
});

test("what is no command is told by name, with the help, and ends with 2", async () => {
  for (const word of ["nonsense", "--version", "toString"]) {
    const ended = await agentFix([word]);
    assert.equal(ended.code, 2, word);
    assert.ok(ended.stderr.startsWith(`agent-fix has no command ${JSON.stringify(word)}.`), ended.stderr);
    assert.match(ended.stderr, /Usage: agent-fix <command>/);
    assert.equal(ended.stdout, "");
  }
});

for (const command of sample(COMMANDS, 1))
  test(`agent-fix ${command} --help tells its use without doing anything`, async () => {
    await using dir = await tempDir();
    const ended = await agentFix([command, "--help"], { env: { DATA_DIR: join(dir.path, "data") } });
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, new RegExp(`^agent-fix ${command}\\b`));
  });

test("a wrong option is told by name, without a stack, and ends with 2", async () => {
  const wrong = await agentFix(["trace", "--no-such-option"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /no-such-option.*\nagent-fix trace --help tells the options\./);
  assert.ok(!wrong.stderr.includes("    at "));
});

test("serve with half of its settings lists every problem with its remedy and ends with 1 before anything is opened", async () => {
  await using dir = await tempDir();
  const env = { APP_ID: "x", PORT: "99999", SANDBOX: "chroot", DATA_DIR: join(dir.path, "data") };
  const ended = await agentFix(["serve"], { env, cwd: dir.path });
  assert.equal(ended.code, 1);
  for (const name of ["APP_ID", "WEBHOOK_SECRET", "PRIVATE_KEY", "PORT", "SANDBOX"])
    assert.ok(ended.stderr.includes(name), `${name}: ${ended.stderr}`);
});

test("run says which option is missing, and what is no checkout or no issue", async () => {
  await using dir = await tempDir();
  await writeTree(dir.path, {
    "issue.md": "Title\n",
    "empty.md": "\n\n",
    "plain/x": "",
    "detached/.git/HEAD": "1".repeat(40),
  });
  const at = (name: string) => join(dir.path, name);
  const env = { DATA_DIR: at("data"), OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" };
  const missing = await agentFix(["run", "--repo", "plain"], { env, cwd: dir.path });
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /Both --repo and --issue are needed/);
  const wrong = await agentFix(["run", "--repo", "plain", "--issue", "issue.md"], { env, cwd: dir.path });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^agent-fix run: .*plain is no git checkout: it has no \.git\n$/);
  for (const [repo, issue, words] of [
    ["plain", "missing.md", /missing\.md cannot be read/],
    ["none", "issue.md", /none is no git checkout/],
    ["detached", "issue.md", /is on no branch.*git switch/],
    ["plain", "empty.md", /empty\.md is empty/],
  ] as const)
    await assert.rejects(readRequest(at(repo), at(issue)), words);
});

async function withTraces(
  files: Readonly<Record<string, string>>,
  work: (env: Record<string, string>) => Promise<void>,
) {
  await using dir = await tempDir();
  await writeTree(dir.path, files);
  await work({ DATA_DIR: dir.path });
}

const RUN = "01k0000000abcdef";
const RECORDED = sampleRun()
  .map((event) => `${JSON.stringify({ ...event, run: RUN })}\n`)
  .join("");

test("trace tells a recorded run as a story, and as lines with --json; a torn last line is left out", async () => {
  await withTraces({ [`traces/${RUN}.jsonl`]: `${RECORDED}{"v":1,"run":"torn` }, async (env) => {
    const told = await agentFix(["trace", RUN], { env });
    assert.equal(told.code, 0, told.stderr);
    assert.match(told.stdout, /octo\/demo/);
    assert.ok(!told.stdout.includes("\u001b["), "no colour when it is piped");
    const coloured = await agentFix(["trace", RUN, "--color"], { env: { ...env, NO_COLOR: "" } });
    assert.ok(coloured.stdout.length > told.stdout.length);
    const lines = (await agentFix(["trace", RUN, "--json"], { env })).stdout.trim().split("\n");
    assert.equal(lines.length, RECORDED.trim().split("\n").length);
    for (const line of lines) assert.equal(JSON.parse(line).run, RUN);
  });
});

test("trace lists what there is, newest first, of the server and of local runs", async () => {
  const older = "01j0000000abcdef";
  const files = {
    [`traces/${older}.jsonl`]: RECORDED,
    [`local/traces/${RUN}.jsonl`]: RECORDED,
    "traces/notes.txt": "",
  };
  await withTraces(files, async (env) => {
    const listed = await agentFix(["trace"], { env });
    assert.deepEqual([listed.code, listed.stdout], [0, `${RUN}\n${older}\n`]);
    assert.equal((await agentFix(["trace", RUN], { env })).code, 0);
  });
});

test("trace on garbage, on nothing and on what is no run id says so in a sentence", async () => {
  const files = {
    "traces/garbage.jsonl": "not json\n\u0000\u001b[31m\n",
    "traces/binary.jsonl": "\u0000\u0001\u0002\n".repeat(10_000),
    "traces/empty.jsonl": "",
    "traces/future.jsonl": RECORDED.replaceAll('"v":1', '"v":99'),
    "traces/directory.jsonl/x": "",
  };
  await withTraces(files, async (env) => {
    const cases: readonly (readonly [string, number, RegExp])[] = [
      ["garbage", 1, /not.*trace|no trace/i],
      ["binary", 1, /not.*trace|no trace/i],
      ["future", 1, /version/i],
      ["directory", 1, /cannot be read/],
      ["missing", 1, /no trace/i],
      ["../state", 2, /is not a run id; agent-fix trace lists them/],
      ["UPPER", 2, /is not a run id/],
    ];
    for (const [run, code, words] of sample(cases, 2)) {
      const ended = await agentFix(["trace", run], { env });
      assert.equal(ended.code, code, `${run}: ${ended.stdout}${ended.stderr}`);
      assert.match(ended.stderr, words, run);
      assert.ok(!/ {4}at |\u001b|\u0000/.test(ended.stderr), ended.stderr);
    }
    assert.equal((await agentFix(["trace", "empty"], { env })).code, 0);
  });
  await using dir = await tempDir();
  const none = await agentFix(["trace"], { env: { DATA_DIR: dir.path } });
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no trace in .*Set DATA_DIR/);
});
