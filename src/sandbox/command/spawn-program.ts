/** Starts a program as a child of the app, on real pipes, without the descriptors that the app itself inherited. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { messageOf } from "#src/base/result.ts";
import { giveWay } from "#src/sandbox/command/priority.ts";
import type { Exit, Start } from "#src/sandbox/command/run-command.ts";

export interface Launch {
  /** Absolute path of the program, then its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** `inherited`: see `inheritedDescriptors`. */
export function spawnProgram(launch: Launch, inherited: readonly number[]): Start {
  return async (streams) => {
    const toClose: number[] = [];
    try {
      const stdin = streams.stdin === null ? "ignore" : openSync(streams.stdin, "r");
      if (stdin !== "ignore") toClose.push(stdin);
      const stdio: Stdio[] = [stdin, streams.stdout.writeFd, streams.stderr.writeFd];
      toClose.push(...coverInherited(stdio, inherited));
      const [file, ...args] = launch.argv;
      const child = spawn(file, args, { env: launch.env, cwd: launch.cwd, stdio, detached: true });
      giveWay(child.pid);
      const ended = endOf(child);
      if (child.pid === undefined) return startProblem(await ended);
      return {
        pid: child.pid,
        ended,
        status: () => "",
        kill: () => void child.kill("SIGKILL"),
      };
    } catch (error) {
      return startProblem(messageOf(error));
    } finally {
      for (const fd of toClose) closeSync(fd);
    }
  };
}

export type Stdio = number | "ignore" | "pipe";

/** Puts the null device where the program would get the app's own inherited descriptors; returns what to close after the start. */
export function coverInherited(stdio: Stdio[], inherited: readonly number[]): readonly number[] {
  if (inherited.length === 0) return [];
  const nothing = openSync("/dev/null", "r");
  for (const fd of inherited) {
    while (stdio.length <= fd) stdio.push("ignore");
    if (stdio[fd] === "ignore") stdio[fd] = nothing;
  }
  return [nothing];
}

function startProblem(said: Exit | string): string {
  const message = typeof said === "string" ? said : "the program could not be started";
  return message.includes("E2BIG") ? TOO_LONG : message;
}

export const TOO_LONG =
  "the command line is too long for the system (128 KiB an argument): write it to a file and run that";

/** The exit, or the reason why there was no process at all. */
function endOf(child: ChildProcess): Promise<Exit | string> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => {
      if (child.pid === undefined) resolve(messageOf(error));
    });
  });
}
