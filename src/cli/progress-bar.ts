/** Progress of `agent-fix verify` on a stream: one line that is rewritten on a terminal, a line per step elsewhere. */

import type { WriteStream } from "node:tty";

export interface ProgressBar {
  /** A step begins; the one before is done. */
  begin(what: string): void;
  /** A suite run has ended after so many ms. */
  done(what: string, ms: number): void;
  /** Removes the line; may be called again. */
  close(): void;
}

/** Steps that most verifications have: fetch, apply, set up, base, patched and a few further runs. */
const EXPECTED = 9;
const WIDTH = 20;

/** `[#####---------------] what`, cut to the width of the terminal; never full before the end. */
export function barLine(steps: number, what: string, columns: number): string {
  const filled = Math.min(WIDTH - 1, Math.round((WIDTH * steps) / Math.max(EXPECTED, steps + 1)));
  return `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}] ${printable(what)}`.slice(
    0,
    Math.max(10, columns - 1),
  );
}

/** A command of the repository may hold control characters. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " ");
}

export function createProgressBar(
  stream: Pick<WriteStream, "write" | "isTTY" | "columns">,
  shown: boolean,
): ProgressBar {
  let steps = 0;
  let open = false;
  const show = (text: string) => {
    if (!shown) return;
    if (stream.isTTY === true) stream.write(`\r\u001b[K${barLine(steps, text, stream.columns ?? 80)}`);
    else stream.write(`${printable(text)}\n`);
    open = stream.isTTY === true;
  };
  return {
    begin: (what) => {
      show(what);
      steps++;
    },
    done: (what, ms) => {
      steps++;
      show(`${what}: ${(ms / 1000).toFixed(1)} s`);
    },
    close: () => {
      if (open) stream.write("\r\u001b[K");
      open = false;
    },
  };
}
