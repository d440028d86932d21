/** Command lines, start failures and ends, without starting anything. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { bwrapArgv, type Plan } from "#src/sandbox/bubblewrap/argv.ts";
import {
  commandLines,
  launcherArgv,
  type Programs,
  quote,
  shellLimits,
} from "#src/sandbox/bubblewrap/launch.ts";
import { endOf } from "#src/sandbox/bubblewrap/session.ts";
import { explainStartFailure } from "#src/sandbox/bubblewrap/start-failure.ts";
import { NOTHING } from "#src/sandbox/command/capture.ts";
import type { RawResult } from "#src/sandbox/command/run-command.ts";
import { toHostPaths } from "#src/sandbox/none.ts";

const plan: Plan = {
  rootEntries: [
    { path: "/bin", link: "usr/bin" },
    { path: "/lib", link: null },
  ],
  binds: [
    { source: "/data/ws", target: "/workspace", mode: "rw" },
    { source: "/opt/tool", target: "/opt/tool", mode: "ro" },
  ],
  env: { A: "1", B: "1" },
  prlimit: { path: "/usr/bin/prlimit", options: ["--core=0"] },
  proxied: false,
  filtered: false,
};
const invocation = { argv: ["echo", "--die"], cwd: "/workspace/a", env: { B: "2" }, marker: "m.1" };

function follows(argv: readonly string[], ...parts: readonly string[]): boolean {
  return argv.some((_, at) => parts.every((part, index) => argv[at + index] === part));
}

test("the command line isolates everything, and the command's own words come after the separator", () => {
  const argv = bwrapArgv(plan, invocation);
  for (const flag of [
    "--unshare-all",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
  ]) {
    assert.ok(argv.indexOf(flag) >= 0 && argv.indexOf(flag) < argv.indexOf("--"), flag);
  }
  assert.ok(follows(argv, "--cap-drop", "ALL"));
  assert.deepEqual(argv.slice(argv.indexOf("--") + 1), ["/usr/bin/prlimit", "--core=0", "echo", "--die"]);
});

test("links of the root are links inside, directories are shown read-only, and the call's environment wins", () => {
  const argv = bwrapArgv(plan, invocation);
  assert.ok(follows(argv, "--symlink", "usr/bin", "/bin"));
  assert.ok(follows(argv, "--ro-bind", "/lib", "/lib"));
  assert.ok(follows(argv, "--bind", "/data/ws", "/workspace"));
  assert.ok(follows(argv, "--ro-bind", "/opt/tool", "/opt/tool"));
  assert.ok(follows(argv, "--setenv", "B", "2"));
  assert.ok(!follows(argv, "--setenv", "B", "1"));
  assert.ok(follows(argv, "--setenv", "AGENT_FIX_MARKER", "m.1", "--unsetenv", "AGENT_FIX_MARKER"));
});

test("only a session with a network starts the forwarder", () => {
  assert.ok(!bwrapArgv(plan, invocation).join(" ").includes("socat"));
  assert.ok(
    bwrapArgv({ ...plan, proxied: true }, invocation)
      .join(" ")
      .includes("socat"),
  );
});

const programs: Programs = {
  ...{ bwrap: "/b/bwrap", bash: "/b/bash", mkfifo: "", nice: "/b/nice", rm: "", chmod: "", du: "" },
  ...{ prlimit: null, socat: null, setpriv: "/b/setpriv" },
};

test("an ordinary user's launcher is a plain shell; root's has the sources in view and no rights left", () => {
  const plain = launcherArgv(programs, null, "m");
  assert.deepEqual(plain, ["/b/nice", "-n", "10", "/b/bash", "--norc", "--noprofile", "-s", "--", "m"]);
  const asRoot = launcherArgv(programs, { uid: 61_000, gid: 61_001, sources: ["/root/a", "/b"] }, "m").join(
    " ",
  );
  assert.match(
    asRoot,
    /^\/b\/nice -n 10 \/b\/bwrap --dev-bind \/ \/ --tmpfs \/sys --bind \/root\/a \/sys\/0 --bind \/b \/sys\/1 /,
  );
  assert.match(asRoot, /--reuid 61000 --regid 61001 --clear-groups -- \/b\/bash --norc --noprofile -s -- m$/);
});

test("a command joins its control groups, and their descriptors are closed before it starts", () => {
  const streams = { stdin: "/i", stdout: "/o", stderr: "/e", status: "/s" };
  const lines = commandLines({ argv: ["x", "it's"], streams, groups: 2, limits: ["-c", "0"], filter: null });
  assert.match(lines, /echo 0 >&8 \|\| exit 125\necho 0 >&9 \|\| exit 125\nulimit -c 0/);
  assert.match(lines, /exec -c 'x' 'it'\\''s' 8>&- 9>&-\n/);
});

test("the system call filter is open at the descriptor that bubblewrap reads it from", () => {
  assert.ok(follows(bwrapArgv({ ...plan, filtered: true }, invocation), "--seccomp", "4"));
  assert.ok(!bwrapArgv(plan, invocation).includes("--seccomp"));
  const streams = { stdin: "/i", stdout: "/o", stderr: "/e", status: "/s" };
  const lines = (filter: string | null) =>
    commandLines({ argv: ["x"], streams, groups: 0, limits: [], filter });
  assert.match(lines("/f"), /3>&7 4<'\/f' 5>&-/);
  assert.match(lines(null), /3>&7 4<&- 5>&-/);
});

test("the shell sets what limits a process alone, in its own units; the rest is set inside", () => {
  assert.deepEqual(shellLimits(["--core=0", "--fsize=1025", "--nofile=7", "--nproc=3", "--data=9"]), {
    shell: ["-c", "0", "-f", "2", "-n", "7"],
    inside: ["--nproc=3", "--data=9"],
  });
});

test("any word comes through the launcher's shell as it is", () => {
  const word = fc.string({ unit: "binary", maxLength: 20 }).filter((text) => !text.includes("\0"));
  const words = fc.sample(fc.array(word, { maxLength: 5 }), { numRuns: 300, seed: 7 }).flat();
  words.push("'", "\\", "$(id)", "`id`", "\u0001\u007f", "\u0081\u0088", "a\nb", "!", "~", "");
  const script = `printf '%s\\0' ${words.map(quote).join(" ")}\n`;
  const out = execFileSync("bash", ["--norc", "-s"], { input: script, encoding: "utf8" });
  assert.deepEqual(
    out.split("\0").slice(0, -1),
    words.map((text) => text.toWellFormed()),
  );
});

test("what went wrong at the start is explained with the remedy", () => {
  assert.match(explainStartFailure("bwrap: No permissions to create new namespace"), /AppArmor/);
  assert.match(explainStartFailure("bwrap: setting up uid map: Permission denied"), /ordinary user/);
  assert.match(explainStartFailure("bwrap: Can't mount proc on /newroot/proc"), /systempaths=unconfined/);
  assert.match(explainStartFailure("something new"), /something new/);
});

const raw: RawResult = {
  ...{ exit: { code: 1, signal: null }, spawnError: null, killed: null, status: "" },
  ...{ stdout: NOTHING, stderr: NOTHING, durationMs: 1 },
};

test("only bubblewrap's report proves that a command ran", () => {
  const ran = { ...raw, status: '{ "child-pid": 9 }\n{ "exit-code": 1 }\n' };
  assert.deepEqual(endOf(ran, false), { kind: "exited", code: 1 });
  assert.equal(endOf(raw, false).kind, "not_started");
  assert.deepEqual(endOf({ ...ran, killed: "timeout" }, false), { kind: "killed", reason: "timeout" });
});

test("a kill for memory counts unless the command ended well all the same", () => {
  const ended = (code: number) => ({ ...raw, status: `{ "exit-code": ${code} }` });
  assert.deepEqual(endOf(ended(137), true), { kind: "killed", reason: "memory" });
  assert.deepEqual(endOf({ ...raw, exit: { code: null, signal: "SIGKILL" } }, true), {
    ...{ kind: "killed", reason: "memory" },
  });
  assert.deepEqual(endOf(ended(0), true), { kind: "exited", code: 0 });
});

test("without a sandbox its paths are replaced by the host's, whole components only", () => {
  const places = { "/workspace": "/data/ws", "/reports": "/data/$&" };
  assert.equal(toHostPaths("cat /workspace/a --out=/reports/x", places), "cat /data/ws/a --out=/data/$&/x");
  assert.equal(
    toHostPaths("/workspaces /my/workspace /workspace-2", places),
    "/workspaces /my/workspace /workspace-2",
  );
});
