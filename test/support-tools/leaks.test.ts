/** The leak check fails a test file that leaves a process, a file or an open socket, and no other. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const LEAKS = join(import.meta.dirname, "../support/leaks.ts");

async function run(code: string): Promise<{ code: number | null; output: string }> {
  await using dir = await tempDir();
  await writeTree(dir.path, { "a.test.mjs": `import { after, test } from "node:test";\n${code}` });
  const argv = ["--import", LEAKS, "--test", "--test-reporter=tap", "a.test.mjs"];
  const child = spawn(process.execPath, argv, {
    cwd: dir.path,
    env: { TMPDIR: dir.path, PATH: "/usr/bin:/bin" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return await new Promise((resolve) => child.on("close", (exit) => resolve({ code: exit, output })));
}

describe("the leak check", () => {
  test("lets a file pass that cleans up, also in its own after hook", async () => {
    const { code, output } = await run(`
      import { spawn } from "node:child_process";
      import { mkdtempSync, rmSync } from "node:fs";
      import { createServer } from "node:http";
      import { tmpdir } from "node:os";
      const server = createServer();
      const directory = mkdtempSync(tmpdir() + "/x-");
      after(() => { server.close(); rmSync(directory, { recursive: true }); });
      test("a", async () => {
        await new Promise((resolve) => server.listen(0, resolve));
        spawn("sleep", ["60"], { stdio: "ignore" }).kill();
      });`);
    assert.equal(code, 0, output);
    assert.doesNotMatch(output, /left something behind/);
  });

  test("finds a process and a file", async () => {
    const { code, output } = await run(`
      import { spawn } from "node:child_process";
      import { mkdtempSync } from "node:fs";
      import { tmpdir } from "node:os";
      test("a", () => {
        mkdtempSync(tmpdir() + "/left-");
        // Ends soon after the check has looked for it for as long as it does.
        spawn("sleep", ["6"], { stdio: "ignore", detached: true }).unref();
      });`);
    assert.equal(code, 1, output);
    assert.match(output, /a process is still running: \d+ sleep 6/);
    assert.match(output, /a temporary file was left: left-/);
  });
});
