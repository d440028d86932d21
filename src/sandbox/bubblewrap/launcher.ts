/** A session's launcher: one resident shell, in the session's mount namespace and under its user, that starts every command. */

import { spawn } from "node:child_process";
import { chmodSync, closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import {
  commandLines,
  type Drop,
  FIRST_GROUP_FD,
  HOLDER_ROOT,
  launcherArgv,
  type Programs,
  quote,
} from "#src/sandbox/bubblewrap/launch.ts";
import type { Pipe, Pipes } from "#src/sandbox/command/pipes.ts";
import { killProcess } from "#src/sandbox/command/processes.ts";
import type { Exit, Start } from "#src/sandbox/command/run-command.ts";
import { coverInherited, type Stdio } from "#src/sandbox/command/spawn-program.ts";
import type { SandboxFailure } from "#src/sandbox/sandbox.ts";

export interface Launcher {
  /** The path at which a path at or below a source is seen by the launcher; other paths stay as they are. */
  translate(path: string): string;
  isAlive(): boolean;
  /** A way to start bubblewrap's command line; `limits` are options of the shell's `ulimit`. */
  starter(argv: readonly string[], limits: readonly string[]): Start;
  /** Ends it, and with it everything it started. Resolves when it is gone. */
  close(): Promise<void>;
}

export interface LauncherOptions {
  readonly programs: Programs;
  /** Null: commands run as the app's own user. */
  readonly drop: Drop | null;
  readonly marker: string;
  /** `cgroup.procs` files that each command joins. */
  readonly procsFiles: readonly string[];
  /** Descriptors that must not reach a command, see `inheritedDescriptors`. */
  readonly inherited: readonly number[];
  readonly pipes: Pipes;
  /** Host directory for what the launcher reads; it is below a source, and out of the sandbox's sight. */
  readonly directory: string;
  /** Host path of the system call filter, below a source; null: none. */
  readonly filter: string | null;
}

const STDERR_CHARACTERS = 2_000;
const STATUS_CHARACTERS = 4_096;

/** Starts the shell and waits until it answers. It ends by itself when the app dies, since its input ends then. */
export async function openLauncher(options: LauncherOptions): Promise<Result<Launcher, SandboxFailure>> {
  const shell = startShell(options);
  const sources = options.drop?.sources ?? [];
  const translate = (path: string) => {
    const index = sources.findIndex((source) => path === source || path.startsWith(`${source}/`));
    return index < 0 ? path : `${HOLDER_ROOT}/${index}${path.slice(sources[index]?.length ?? 0)}`;
  };
  const answer = await shell.ask("echo ready");
  if (answer !== "ready") {
    await shell.close();
    return err({ code: "unavailable", message: whyNot(shell.said(), options.drop !== null) });
  }
  let asked = 0;
  const starter =
    (argv: readonly string[], limits: readonly string[]): Start =>
    async (streams) => {
      const status = await options.pipes.take();
      const request = join(options.directory, `start-${asked++}`);
      const reader = readStatus(status);
      try {
        const paths = {
          stdin: streams.stdin === null ? "/dev/null" : translate(streams.stdin),
          stdout: translate(streams.stdout.path),
          stderr: translate(streams.stderr.path),
          status: translate(status.path),
        };
        const groups = options.procsFiles.length;
        const filter = options.filter === null ? null : translate(options.filter);
        const lines = commandLines({ argv, streams: paths, groups, limits, filter });
        writeFileSync(request, lines, { mode: 0o644 });
        chmodSync(request, 0o644);
        const pid = Number(await shell.ask(`. ${quote(translate(request))} || echo 0`));
        if (!(pid > 0)) return `the session's launcher could not start it: ${shell.said() || "it is gone"}`;
        return {
          pid,
          ended: reader.ended,
          status: reader.text,
          kill: () => reader.isOpen() && killProcess(pid),
        };
      } catch (error) {
        return messageOf(error);
      } finally {
        closeSync(status.writeFd);
        unlinkSync(status.path);
        unlinkSync(request);
      }
    };
  return ok({ translate, isAlive: shell.isAlive, starter, close: shell.close });
}

function whyNot(said: string, isRoot: boolean): string {
  if (!isRoot) return `no shell could be started for the sandbox: ${said}`;
  return `a private mount namespace could not be made (${said}): as root, agent-fix needs the right to mount (CAP_SYS_ADMIN); run it as an ordinary user or grant that`;
}

interface Shell {
  /** Sends one line and resolves to the line it prints; null when the shell has ended. */
  ask(line: string): Promise<string | null>;
  /** The start of what it complained about, or how it ended. */
  said(): string;
  isAlive(): boolean;
  close(): Promise<void>;
}

function startShell(options: LauncherOptions): Shell {
  const [file, ...args] = launcherArgv(options.programs, options.drop, options.marker);
  const stdio: Stdio[] = ["pipe", "pipe", "pipe"];
  const groups = options.procsFiles.map((path) => openSync(path, "w"));
  for (const [index, fd] of groups.entries()) {
    while (stdio.length < FIRST_GROUP_FD + index) stdio.push("ignore");
    stdio.push(fd);
  }
  const toClose = [...groups, ...coverInherited(stdio, options.inherited)];
  // Its environment can be read by the commands' user: it has none.
  const child = spawn(file, args, { env: {}, cwd: "/", stdio, detached: true });
  for (const fd of toClose) closeSync(fd);

  let complaints = "";
  let alive = true;
  const waiting: ((line: string | null) => void)[] = [];
  const ended = new Promise<void>((resolve) => {
    const end = (how: string) => {
      alive = false;
      complaints ||= how;
      for (const answer of waiting.splice(0)) answer(null);
      resolve();
    };
    child.once("close", (code, signal) => end(`it ended with ${signal ?? code}`));
    child.once("error", (error) => end(messageOf(error)));
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    if (complaints.length < STDERR_CHARACTERS) complaints += chunk.toString("utf8");
  });
  child.stdin?.on("error", () => undefined); // It ended first; whoever asks is told by `ended`.
  let rest = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString("latin1")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) waiting.shift()?.(line);
  });
  return {
    ask: (line) =>
      new Promise((resolve) => {
        if (!alive) return resolve(null);
        waiting.push(resolve);
        child.stdin?.write(`${line}\n`);
      }),
    said: () => complaints.trim(),
    isAlive: () => alive,
    close: async () => {
      child.stdin?.end();
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** bubblewrap holds the other end until it ends, so the end of this text is the end of the command. */
function readStatus(pipe: Pipe) {
  const socket = new Socket({ fd: pipe.readFd, readable: true, writable: false });
  let text = "";
  let open = true;
  const ended = new Promise<Exit>((resolve) => {
    socket.once("close", () => {
      open = false;
      resolve({ code: null, signal: null });
    });
  });
  socket.on("data", (chunk: Buffer) => {
    if (text.length < STATUS_CHARACTERS) text += chunk.toString("latin1");
  });
  // A read error on our own end of a pipe means its data is over; what was kept stays valid.
  socket.on("error", () => socket.destroy());
  return { text: () => text, isOpen: () => open, ended };
}
