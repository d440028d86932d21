/** `agent-fix run` with a person at the keyboard, and `agent-fix resume`: asked, stopped, killed, gone on with. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { WireMessage } from "#src/demo/model-protocol.ts";
import { type ModelScript, type ModelServer, startModelServer } from "#src/demo/model-server.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { leasesLeft, processesLeft, runRows } from "#test/support/left-behind.ts";
import { byTurns, call, HANG, say } from "#test/support/model-turns.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { inTurn, sample } from "#test/support/tier.ts";
import { type Started, startAgentFix } from "./command.ts";
import { CTRL_C, NO_TERMINAL, type Sitting, sitDown } from "./pty.ts";

const KEY = "a-key-that-must-stay-secret";

interface Desk {
  readonly model: ModelServer;
  readonly data: string;
  readonly patch: string;
  sit(command: "run" | "resume", ...args: readonly string[]): Sitting;
  piped(command: "run" | "resume", ...args: readonly string[]): Started;
  /** The transcript of the model's last request. */
  transcript(): readonly WireMessage[];
}

/** A checkout with one file and no tests, and a model that plays `script`. */
async function atDesk(script: ModelScript, work: (desk: Desk) => Promise<void>): Promise<void> {
  await using dir = await tempDir("sitting-");
  const repo = join(dir.path, "repo");
  await writeTree(dir.path, { "repo/greeting.txt": "hello\n", "issue.md": "Greet louder\n\nPlease.\n" });
  const git = (...args: readonly string[]) =>
    promisify(execFile)("git", ["-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", GIT_CONFIG_GLOBAL: "/dev/null", HOME: dir.path },
    });
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", "--all");
  await git("commit", "--quiet", "--message=first");
  const model = await startModelServer({ script, key: KEY });
  const [data, patch] = [join(dir.path, "data"), join(dir.path, "out.patch")];
  const env = { DATA_DIR: data, OPENAI_API_KEY: KEY, OPENAI_BASE_URL: model.url, OPENAI_MODEL: "scripted" };
  const argsOf = (command: "run" | "resume", args: readonly string[]) => [
    command,
    ...(command === "run" ? ["--repo", repo, "--issue", join(dir.path, "issue.md")] : []),
    ...["--output", patch, ...args],
  ];
  try {
    await work({
      model,
      data: join(data, "local"),
      patch,
      sit: (command, ...args) => sitDown(argsOf(command, args), { env, cwd: dir.path }),
      piped: (command, ...args) => startAgentFix(argsOf(command, args), { env, cwd: dir.path }),
      transcript: () => {
        const asked = model.requests().at(-1);
        assert.equal(asked?.status, 200, JSON.stringify(asked));
        return (asked.body as { messages: readonly WireMessage[] }).messages;
      },
    });
    assert.deepEqual(await processesLeft(data), []);
    assert.deepEqual(leasesLeft(join(data, "local")), []);
  } finally {
    await model.close();
  }
}

const EDIT = call("edit_file", { path: "greeting.txt", old: "hello", new: "HELLO" });
const SLEEP = call("run_command", { command: "sleep 600" });

function contents(messages: readonly WireMessage[], role: WireMessage["role"]): readonly string[] {
  return messages.filter((message) => message.role === role).map((message) => message.content ?? "");
}

/** Each takes several starts of the program, so the quick tier plays one of them. */
const PLAYED = sample(["asked", "left", "killed"], 1);
const testOf = (story: "asked" | "left" | "killed") =>
  inTurn(1, 3) && PLAYED.includes(story) ? test : () => undefined;

testOf("asked")(
  "I02: on a terminal edits and commands ask; Ctrl-C stops a command, and the run goes on with what the person types",
  {
    skip: NO_TERMINAL,
  },
  async () => {
    const script = byTurns(
      call("read_file", { path: "greeting.txt" }),
      call("run_command", { command: "echo no >\u001b]0;title\u0007 \u202egreeting.txt" }),
      EDIT,
      SLEEP,
      say("It greets louder now."),
    );
    await atDesk(script, async ({ sit, transcript, patch, data }) => {
      const sitting = sit("run");
      await sitting.sees(/→ read_file path="greeting.txt"\n← read_file ok/);
      await sitting.sees(
        /\? run_command\n {2}command: echo no >\\u\{1b\}\]0;title\\u\{7\} \\u\{202e\}greeting.txt\n/,
      );
      await sitting.sees(/n <why> = no, and tell the model why: /);
      sitting.press("n use edit_file\r");
      await sitting.sees(/← run_command failed .*refused/);
      await sitting.sees(/\? edit_file\n {2}path: greeting.txt\n {2}old: hello\n {2}new: HELLO\n/);
      await sitting.sees(/a = always allow edits of greeting.txt, A = always allow all edits: /);
      sitting.press("y\r");
      await sitting.sees(/← edit_file ok/);
      await sitting.sees(/a = always allow commands that begin with `sleep 600`: /);
      sitting.press("a\r");
      sitting.press(CTRL_C);
      await sitting.sees(/Stopped: 4 turns, [\d,]+ tokens in.*\n/);
      await sitting.sees(/What next\?.*: /);
      sitting.press("do not sleep any more\r");
      await sitting.sees(/The agent goes on after 4 turns/);
      assert.equal(await sitting.ended, 0, sitting.text());
      assert.match(sitting.text(), /apply it with: git apply/);
      assert.match(await readFile(patch, "utf8"), /^\+HELLO$/m);
      const [refused = "", , slept = ""] = contents(transcript(), "tool").slice(1);
      assert.match(refused, /refused this call of run_command; it did not run\. They say: use edit_file/);
      assert.match(slept, /cancelled by the person at the keyboard/);
      assert.match(
        contents(transcript(), "user").at(-1) ?? "",
        /goes on now.*A maintainer.*do not sleep any more/s,
      );
      assert.ok(!sitting.raw().includes("\u001b]0;title"));
      assert.ok(!sitting.raw().includes(KEY));
      assert.deepEqual(
        runRows(data).map(({ state }) => state),
        ["cancelled"],
      );
    });
  },
);

testOf("left")(
  "Ctrl-C ends the wait for an answer; twice it leaves with 130, the change so far and the way back; resume goes on in the same files, and limits count on",
  {
    skip: NO_TERMINAL,
  },
  async () => {
    let hangs = true;
    const script: ModelScript = (messages, tools) => {
      const list = call("run_command", { command: "ls" });
      return byTurns(EDIT, EDIT, hangs ? HANG : list, say("It greets louder now."))(messages, tools);
    };
    await atDesk(script, async ({ sit, transcript, patch, data }) => {
      const sitting = sit("run");
      await sitting.sees(/Allow\?.*: /);
      sitting.press(CTRL_C);
      await sitting.sees(/← edit_file failed .*cancelled by the person at the keyboard/);
      await sitting.sees(/Stopped: 1 turn, .*\n/);
      await sitting.sees(/What next\?.*: /);
      sitting.press("g\r");
      await sitting.sees(/Allow\?.*: /);
      sitting.press("A\r");
      await sitting.sees(/← edit_file ok/);
      await sitting.sees(/Let me/);
      sitting.press(CTRL_C);
      await sitting.sees(/Stopped: 2 turns, .*\n/);
      await sitting.sees(/What next\?.*: /);
      sitting.press(CTRL_C);
      assert.equal(await sitting.ended, 130, sitting.text());
      assert.match(await readFile(patch, "utf8"), /^\+HELLO$/m);
      const [, runId = ""] = /To go on: agent-fix resume ([0-9a-z]+)/.exec(sitting.text()) ?? [];
      assert.deepEqual(
        runRows(data).map((row) => [row.runId, row.state, row.worker]),
        [[runId, "solving", null]],
      );

      hangs = false;
      const resumed = sit("resume", "--yes");
      assert.equal(await resumed.ended, 0, resumed.text());
      assert.match(resumed.text(), new RegExp(`Run ${runId} goes on: Greet louder\n`));
      assert.match(
        resumed.text(),
        /The agent goes on after 2 turns \(.*· turn 3: .*← run_command ok.*· turn 4: /s,
      );
      assert.ok(!resumed.text().includes("Allow?"), "--yes asks nothing");
      assert.equal(contents(transcript(), "assistant").length, 3, "what was paid for is there, once");
      assert.match(contents(transcript(), "user").at(-1) ?? "", /The files are as you left them/);
      assert.match(await readFile(patch, "utf8"), /^\+HELLO$/m);
    });
  },
);

testOf("killed")(
  "I05: after kill -9 a new run works, and resume goes on from the last whole turn in a clean copy, never with half of one",
  async () => {
    const half = call("run_command", { command: "echo half > greeting.txt; echo begun; sleep 600" });
    const odd = { ...HANG, text: `my key is ${KEY} \u001b[2J\u202eand so\nLet me think` };
    let script = byTurns(EDIT, half);
    await atDesk(
      (messages, tools) => script(messages, tools),
      async ({ piped, transcript, patch, data }) => {
        const killed = piped("run");
        await killed.prints(/→ run_command/);
        killed.kill("SIGKILL");
        await killed.ended;
        const [, runId = ""] = /^Run ([0-9a-z]+): Greet louder$/m.exec(killed.stdout()) ?? [];

        script = byTurns(odd);
        const other = piped("run");
        await other.prints(/and so\n/);
        other.kill("SIGTERM");
        const { code, stdout, stderr } = await other.ended;
        assert.equal(code, 143, stdout + stderr);
        assert.match(stdout, new RegExp(`was stopped and can go on: agent-fix resume ${runId}\n`));
        assert.match(stdout, /^my key is \*\*\* and so$/m);
        assert.match(stdout, /Let me think/);
        assert.match(stdout, /To go on: agent-fix resume [0-9a-z]+\n$/);
        assert.ok(!/[\u001b\u202e]/.test(stdout), "what a model says is shown clean, and plain when piped");

        script = byTurns(EDIT, say("It greets louder now."));
        const resumed = await piped("resume", runId, "--quiet").ended;
        assert.equal(resumed.code, 0, resumed.stdout + resumed.stderr);
        assert.ok(!/edit_file ok|· turn/.test(resumed.stdout), "--quiet shows no turns");
        assert.equal(
          contents(transcript(), "assistant").length,
          1,
          "the turn that was cut off is not half there",
        );
        assert.match(
          contents(transcript(), "user").at(-1) ?? "",
          /fresh copy of the repository with your edits/,
        );
        assert.match(await readFile(patch, "utf8"), /^\+HELLO$/m);
        assert.deepEqual(
          runRows(data).map(({ state, worker }) => [state, worker]),
          [
            ["cancelled", null],
            ["solving", null],
          ],
        );
        const again = await piped("resume", runId).ended;
        assert.deepEqual([again.code, again.stdout], [1, ""]);
        assert.match(again.stderr, /has ended with a plan and its patch; there is nothing to go on with/);
      },
    );
  },
);
