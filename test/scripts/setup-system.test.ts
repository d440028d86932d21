/** The system set-up is silent when all is there, installs what is missing as root, and says what to do otherwise. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/setup-system.sh");
const PROGRAMS = ["bwrap", "git", "rg", "socat", "setpriv", "prlimit"];
/** What the script itself uses. */
const TOOLS = ["cat", "mktemp", "rm", "tail", "touch"];

interface Machine {
  readonly has: readonly string[];
  readonly uid: number;
  /** Text of an apt-get that finds its own directory in `$bin`; null: there is none. */
  readonly apt: string | null;
}

async function run(machine: Machine): Promise<{ code: number | null; output: string; calls: string }> {
  await using dir = await tempDir();
  const bin = join(dir.path, "bin");
  const scripts = {
    id: `echo ${machine.uid}`,
    sleep: ":",
    ...Object.fromEntries(machine.has.map((name) => [name, ":"])),
    ...(machine.apt === null
      ? {}
      : { "apt-get": `bin=${bin}; echo "$*" >>${dir.path}/calls\n${machine.apt}` }),
  };
  await writeTree(
    bin,
    Object.fromEntries(Object.entries(scripts).map(([name, text]) => [name, `#!/bin/sh\n${text}\n`])),
  );
  for (const name of Object.keys(scripts)) await chmod(join(bin, name), 0o755);
  for (const name of TOOLS) await symlink(`/bin/${name}`, join(bin, name));
  const done = spawnSync("/bin/sh", [SCRIPT], { env: { PATH: bin, TMPDIR: dir.path }, encoding: "utf8" });
  const calls = await readFile(join(dir.path, "calls"), "utf8").catch(() => "");
  return { code: done.status, output: done.stdout + done.stderr, calls };
}

const INSTALL = "install -y --no-install-recommends";

describe("setup-system.sh", () => {
  test("is silent when everything is there, whoever runs it", async () => {
    assert.deepEqual(await run({ has: PROGRAMS, uid: 1000, apt: "exit 1" }), {
      code: 0,
      output: "",
      calls: "",
    });
  });

  test("as root installs what is missing, each package once, without fetching lists first", async () => {
    const { code, output, calls } = await run({ has: ["git", "rg", "socat"], uid: 0, apt: "exit 0" });
    assert.equal(code, 0, output);
    assert.equal(calls, `${INSTALL} bubblewrap util-linux\n`);
  });

  test("fetches the lists when the first try fails, and tries again", async () => {
    const apt = '[ "$1" = update ] && touch "$bin/updated"; [ -e "$bin/updated" ]';
    const { code, calls } = await run({ has: PROGRAMS.slice(1), uid: 0, apt });
    assert.equal(code, 0);
    assert.equal(calls, `${INSTALL} bubblewrap\nupdate\n${INSTALL} bubblewrap\n`);
  });

  test("retries once more, then gives up with apt's own words and the command", async () => {
    const { code, output, calls } = await run({
      has: PROGRAMS.slice(1),
      uid: 0,
      apt: "echo no such mirror >&2; exit 100",
    });
    assert.equal(code, 1);
    assert.equal(calls.split("\n").filter((line) => line.startsWith("install")).length, 3);
    assert.match(output, /no such mirror[\s\S]*missing system packages: bubblewrap[\s\S]*apt-get install/);
  });

  test("without root or without apt says which packages are needed and how to get them", async () => {
    for (const machine of [
      { has: ["git"], uid: 1000, apt: "exit 0" },
      { has: ["git"], uid: 0, apt: null },
    ]) {
      const { code, output, calls } = await run(machine);
      assert.equal(code, 1);
      assert.equal(calls, "");
      assert.match(output, /missing system packages: bubblewrap ripgrep socat util-linux\n {2}Debian/);
    }
  });
});
