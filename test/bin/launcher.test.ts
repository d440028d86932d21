/** The launcher finds a Node that fits, explains itself when there is none, and passes arguments, signals and exit codes on. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, copyFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const LAUNCHER = join(import.meta.dirname, "../../bin/agent-fix");
/** Stands for the program: says its arguments and waits for a signal when told so. */
const PROGRAM = `
if (process.argv[2] === "wait") {
  // Before it says anything: whoever hears it may send the signal at once.
  process.on("SIGTERM", () => { console.log("got SIGTERM"); process.exit(7); });
  setInterval(() => undefined, 1000);
}
console.log(JSON.stringify(process.argv.slice(2)));
if (process.argv[2] === "exit") process.exit(Number(process.argv[3]));
if (process.argv[2] === "die") process.kill(process.pid, "SIGKILL");
`;
const OLD_NODE = `Object.defineProperty(process.versions, "node", { value: "20.1.0" });\n`;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** A checkout with the launcher and a program; `pinned` is the Node it has in node_modules. */
async function checkout(
  root: string,
  options: { readonly pinned: boolean; readonly packages: boolean },
): Promise<string> {
  await writeTree(root, {
    "package.json": '{"type": "module"}',
    "src/cli/main.ts": PROGRAM,
    "bin/x": "",
    "old-node.cjs": OLD_NODE,
    ...(options.packages ? { "node_modules/zod/package.json": "{}" } : {}),
    ...(options.pinned ? { "node_modules/node/bin/x": "" } : {}),
  });
  await copyFile(LAUNCHER, join(root, "bin/agent-fix"));
  await chmod(join(root, "bin/agent-fix"), 0o755);
  if (options.pinned) await symlink(process.execPath, join(root, "node_modules/node/bin/node"));
  return join(root, "bin/agent-fix");
}

function start(argv: readonly string[]): {
  child: ChildProcess;
  ended: Promise<Ended>;
  said: (text: string) => Promise<void>;
} {
  const child = spawn(process.execPath, argv, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {},
  });
  let output = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, output })));
  const said = (text: string) =>
    new Promise<void>((resolve) => {
      const check = () => output.includes(text) && resolve();
      listeners.add(check);
      check();
    });
  return { child, ended, said };
}

describe("the launcher", () => {
  test("passes arguments and the exit code on, also through a symbolic link", async () => {
    await using dir = await tempDir();
    const launcher = await checkout(dir.path, { pinned: true, packages: true });
    await symlink(launcher, join(dir.path, "linked"));
    const { ended } = start([join(dir.path, "linked"), "exit", "3", "a b", "$x", ""]);
    assert.deepEqual(await ended, { code: 3, output: '["exit","3","a b","$x",""]\n' });
  });

  test("passes SIGTERM on and waits for the program's own end", async () => {
    await using dir = await tempDir();
    const { child, ended, said } = start([
      await checkout(dir.path, { pinned: true, packages: true }),
      "wait",
    ]);
    await said("wait");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, { code: 7, output: '["wait"]\ngot SIGTERM\n' });
  });

  test("reports a program that died of a signal as 128 + its number", async () => {
    await using dir = await tempDir();
    const { ended } = start([await checkout(dir.path, { pinned: true, packages: true }), "die"]);
    assert.equal((await ended).code, 137);
  });

  test("uses the current Node when none is pinned and it is new enough", async () => {
    await using dir = await tempDir();
    const { ended } = start([await checkout(dir.path, { pinned: false, packages: true }), "exit", "0"]);
    assert.equal((await ended).code, 0);
  });

  test("uses the pinned Node when the current one is too old", async () => {
    await using dir = await tempDir();
    const launcher = await checkout(dir.path, { pinned: true, packages: true });
    const { ended } = start(["--require", join(dir.path, "old-node.cjs"), launcher, "exit", "0"]);
    assert.equal((await ended).code, 0);
  });

  test("says what to do when the current Node is too old and none is pinned", async () => {
    await using dir = await tempDir();
    const launcher = await checkout(dir.path, { pinned: false, packages: true });
    const { code, output } = await start(["--require", join(dir.path, "old-node.cjs"), launcher, "serve"])
      .ended;
    assert.equal(code, 1);
    assert.match(output, /needs Node 24 or newer; this is Node 20\.1\.0[\s\S]*npm ci/);
  });

  test("says what to do when the packages are not installed", async () => {
    await using dir = await tempDir();
    const { code, output } = await start([await checkout(dir.path, { pinned: false, packages: false })])
      .ended;
    assert.equal(code, 1);
    assert.match(output, /packages are not installed\.\n {2}Run this once: cd .* && npm ci/);
  });
});
