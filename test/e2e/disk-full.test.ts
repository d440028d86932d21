/** A data directory without any space left, in the middle of a run: nothing is damaged, and with space again it goes on. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readTrace } from "#src/trace/read.ts";
import { queryState } from "#test/support/left-behind.ts";
import { byTurns, call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, outside, REPO } from "#test/support/outside.ts";
import { type TempDir, tempDir } from "#test/support/temp-dir.ts";
import { skipUnless, testPart } from "#test/support/tier.ts";
import { tinyFiles } from "#test/support/tiny.ts";

const isRoot = process.getuid?.() === 0;
const skip = skipUnless(isRoot, "only root can mount a small file system");

interface SmallDisk {
  readonly path: string;
  fill(): void;
  free(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

async function smallDisk(): Promise<SmallDisk> {
  const dir: TempDir = await tempDir("disk-");
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m,mode=0755", "tmpfs", dir.path]);
  const ballast = join(dir.path, "ballast");
  return {
    path: dir.path,
    fill: () => {
      const file = openSync(ballast, "a");
      const block = Buffer.alloc(4_096);
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(ballast),
    [Symbol.asyncDispose]: async () => {
      execFileSync("umount", ["--lazy", dir.path]);
      await dir.remove();
    },
  };
}

testPart(0.5)(
  "a full disk stops a run without damage, and the run goes on when there is space again",
  {
    skip,
  },
  async () => {
    await using disk = await smallDisk();
    const script = byTurns(
      call("run_command", { command: "sleep 4" }),
      call("edit_file", { path: "add.js", old: "a - b", new: "a + b" }),
      say("Add instead of subtracting\n\nThe sign was wrong."),
    );
    await outside(
      { script, files: tinyFiles(), env: { DATA_DIR: join(disk.path, "data") } },
      async (world) => {
        const { github } = world;
        const issue = world.openIssue({ title: "add subtracts" });
        github.label(REPO, issue, MAINTAINER, LABEL);
        const { runId } = await world.untilState(issue, "solving");
        await world.until("the model being asked", () => world.model.requests().length > 0);
        disk.fill();
        await world.until("the server saying so", () => /no space left/i.test(world.output()));
        assert.equal((await fetch(`${world.url()}/healthz`)).status, 200, "the server stays up");
        disk.free();
        // Whoever asks wakes the run; without that it is looked at again after a minute.
        github.comment(REPO, issue, MAINTAINER, "/status");
        const row = await world.until("a plan, or an honest end", () => {
          const state = world.run(issue)?.state ?? "";
          return ["awaiting_approval", "failed"].includes(state) ? state : null;
        });
        assert.equal(row, "awaiting_approval", world.output().slice(-2_000));
        assert.equal(world.comments(issue, "status").length, 1);
        assert.equal(world.comments(issue, "plan").length, 1);
        assert.equal(queryState(world.dataDir, "PRAGMA integrity_check")[0]?.integrity_check, "ok");
        const trace = await readTrace(join(world.dataDir, "traces", `${runId}.jsonl`));
        assert.ok(trace.ok);
        github.comment(REPO, issue, MAINTAINER, "/approve");
        await world.untilState(issue, "published");
        await world.untilComment(issue, "plan", { text: /Published as #/ });
      },
    );
  },
);
