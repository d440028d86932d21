/**
 * Leads the loopback port of a container's network to the set-up proxy outside. The forwarder is the host's own socat, started
 * by the app in that network and in nothing else of the container: images need no program for it, and no command can touch it.
 */

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import { messageOf } from "#src/base/result.ts";
import { isErrno } from "#src/sandbox/command/processes.ts";
import { INSIDE } from "#src/sandbox/policy.ts";

export interface Forwarder {
  /** Resolves when it is gone. */
  close(): Promise<void>;
}

export interface ForwarderParts {
  /** First process of the container, whose network is joined. */
  readonly pid: number;
  /** The proxy's socket. */
  readonly socket: string;
  readonly socat: string;
  readonly nsenter: string;
  /** Programs to start it through, so that it dies with the app; may be empty. */
  readonly prefix: readonly string[];
  /** In its environment, so that a later start of the app finds it. */
  readonly marker: string;
  readonly clock: Clock;
}

/** Name of the variable that carries the marker. */
export const FORWARDER_VARIABLE = "AGENT_FIX_FORWARDER";

/** The command line; the socket is named from its directory, since its whole path may be too long for a socket's name. Pure. */
export function forwarderArgv(
  parts: Pick<ForwarderParts, "pid" | "socket" | "socat" | "nsenter" | "prefix">,
): readonly string[] {
  return [
    ...parts.prefix,
    ...[parts.nsenter, `--net=/proc/${parts.pid}/ns/net`, "--", parts.socat],
    `TCP-LISTEN:${INSIDE.proxyPort},bind=127.0.0.1,fork,reuseaddr,backlog=128`,
    `UNIX-CONNECT:${basename(parts.socket)}`,
  ];
}

/** In the kernel's table of TCP sockets: this port listens. */
const LISTENS = `:${INSIDE.proxyPort.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`;
const TRIES = 250;
const PAUSE_MS = 10;
const SAID_CHARACTERS = 500;

/** The table of the container's network; empty when the container has ended. */
async function listening(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/net/tcp`, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ESRCH", "EINVAL", "EACCES")) return "";
    throw error;
  }
}

/** Starts it and waits until it listens. A string: why it does not. */
export async function startForwarder(parts: ForwarderParts): Promise<Forwarder | string> {
  const [file = "", ...args] = forwarderArgv(parts);
  const child = spawn(file, args, {
    cwd: dirname(parts.socket),
    env: { [FORWARDER_VARIABLE]: parts.marker },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  let over = false;
  child.stderr.on("data", (chunk: Buffer) => {
    if (said.length < SAID_CHARACTERS) said += chunk.toString("utf8");
  });
  const ended = new Promise<void>((resolve) => {
    const done = () => {
      over = true;
      resolve();
    };
    child.once("exit", done);
    child.once("error", (error) => {
      said += messageOf(error);
      done();
    });
  });
  const close = async () => {
    if (!over) child.kill("SIGKILL");
    await ended;
  };
  for (let attempt = 0; attempt < TRIES && !over; attempt++) {
    if ((await listening(parts.pid)).includes(LISTENS)) return { close };
    await parts.clock.sleep(PAUSE_MS);
  }
  await close();
  return said.trim() || "the forwarder (socat) did not start to listen";
}
