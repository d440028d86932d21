/**
 * Fails a test file that leaves something behind; loaded before each by `node --test --import ./test/support/leaks.ts`.
 * Each file gets its own TMPDIR, which must be empty at the end, and must have no living child process by then.
 */

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** A file's own clean-up may take this long after its last test before an open socket or timer counts as left behind. */
const HANDLES_GRACE_MS = 20_000;
/** Killed processes need a moment to disappear. */
const PROCESSES_GRACE_MS = 3_000;
const POLL_MS = 50;

/** Node sets this in the process of one test file, and not in the runner, which loads this file too. */
if (process.env.NODE_TEST_CONTEXT?.startsWith("child")) watch();

function watch(): void {
  const directory = mkdtempSync(join(tmpdir(), "agent-fix-tests-"));
  chmodSync(directory, 0o755);
  process.env.TMPDIR = directory;

  after(() => {
    setTimeout(() => {
      complain([`still open: ${process.getActiveResourcesInfo().join(", ") || "nothing Node can name"}`]);
      process.exit(1);
    }, HANDLES_GRACE_MS).unref();
  });

  process.on("exit", () => {
    const leftFiles = readdirSync(directory);
    rmSync(directory, { recursive: true, force: true });
    const found = [
      ...processesLeft(directory).map((line) => `a process is still running: ${line}`),
      ...leftFiles.map((name) => `a temporary file was left: ${name}`),
    ];
    if (found.length === 0) return;
    complain(found);
    process.exitCode = 1;
  });
}

function complain(found: readonly string[]): void {
  process.stderr.write(
    `This test file left something behind:\n${found.map((line) => `  ${line}\n`).join("")}`,
  );
}

/** Living children of this process, and processes anywhere that were started on this file's temporary directory. */
function processesLeft(directory: string): readonly string[] {
  const deadline = performance.now() + PROCESSES_GRACE_MS;
  for (;;) {
    const left = listProcesses().filter(
      (entry) => entry.parent === process.pid || entry.commandLine.includes(directory),
    );
    if (left.length === 0 || performance.now() > deadline) {
      return left.map((entry) => `${entry.pid} ${entry.commandLine}`);
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly commandLine: string;
}

/** Empty where there is no /proc. Zombies are left out: they are dead, only not yet waited for. */
function listProcesses(): readonly ProcessEntry[] {
  return readProcDirectory().flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state === "Z" || state === "X") return [];
      const commandLine = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return [{ pid: Number(name), parent: Number(parent), commandLine }];
    } catch {
      return []; // It ended while we looked.
    }
  });
}

function readProcDirectory(): readonly string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}
