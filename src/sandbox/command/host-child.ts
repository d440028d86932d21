/** Runs small host programs, in a thread of its own: a start copies the page tables of the whole process, and the starting thread stands still for it. */

import { spawn } from "node:child_process";

export interface HostChildEnd {
  /** Null: it was killed, or could not be started. */
  readonly code: number | null;
  readonly stdout: string;
  /** The start of its complaints, or why it could not be started. */
  readonly said: string;
}

const SAID_CHARACTERS = 2_000;

/** For programs with short output; what they complain about is read to its end and dropped, since a full pipe would stop them. Never rejects. */
export function runChild(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<HostChildEnd> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (said.length < SAID_CHARACTERS) said += text.slice(0, SAID_CHARACTERS);
    });
    child.once("error", (error) => resolve({ code: null, stdout, said: error.message }));
    child.once("close", (code) => resolve({ code, stdout, said }));
  });
}
