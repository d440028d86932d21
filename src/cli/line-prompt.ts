/** Asks for a line on the terminal; Ctrl-C while it waits is a signal like any other. */

import { createInterface } from "node:readline";
import type { Clock } from "#src/base/clock.ts";
import type { Screen } from "./screen.ts";
import type { Signals } from "./signals.ts";

/** The line without white space at its ends; null: the input ended, or the signal was aborted. */
export type AskLine = (question: string, signal: AbortSignal) => Promise<string | null>;

/** What was typed before the question stood there answered something else: it is thrown away. */
const TYPED_AHEAD_MS = 30;

/** One question at a time. */
export function createAskLine(screen: Screen, signals: Signals, clock: Clock): AskLine {
  let last: Promise<unknown> = Promise.resolve();
  return (question, signal) => {
    const ask = () => askOne({ screen, signals, clock }, question, signal);
    const answer = last.then(ask, ask);
    last = answer;
    return answer;
  };
}

interface Parts {
  readonly screen: Screen;
  readonly signals: Signals;
  readonly clock: Clock;
}

async function askOne(
  { screen, signals, clock }: Parts,
  question: string,
  signal: AbortSignal,
): Promise<string | null> {
  if (signal.aborted) return null;
  const answer = Promise.withResolvers<string | null>();
  const lines = createInterface({ input: process.stdin, output: process.stdout, terminal: true });
  const giveUp = () => answer.resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  // Whoever hears of it aborts the question.
  lines.on("SIGINT", () => signals.raise("SIGINT"));
  lines.on("close", giveUp);
  try {
    await Promise.race([answer.promise, clock.sleep(TYPED_AHEAD_MS)]);
    lines.on("line", (line) => answer.resolve(line.trim()));
    screen.flush();
    lines.setPrompt(question);
    lines.prompt();
    return await answer.promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    lines.close();
    process.stdin.pause();
  }
}
