/** What tells a command in the foreground to stop, one at a time: Ctrl-C, from the terminal or from a question on it, and the system's signals. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export type StopSignal = (typeof SIGNALS)[number];

export interface Signals {
  /** Resolves when there is one to take. */
  come(): Promise<void>;
  /** The oldest that was not taken; null: there is none. */
  take(): StopSignal | null;
  /** As if the signal had come; a question in raw mode hears Ctrl-C as a key. */
  raise(signal: StopSignal): void;
  /** Gives the signals back to the system's own handling. */
  close(): void;
}

/** Takes over the signals of this process until it is closed. */
export function listenToSignals(): Signals {
  const waiting: StopSignal[] = [];
  let gate = Promise.withResolvers<void>();
  const raise = (signal: StopSignal) => {
    waiting.push(signal);
    gate.resolve();
  };
  for (const signal of SIGNALS) process.on(signal, raise);
  return {
    come: () => gate.promise,
    take: () => {
      const first = waiting.shift() ?? null;
      if (first !== null && waiting.length === 0) gate = Promise.withResolvers();
      return first;
    },
    raise,
    close: () => {
      for (const signal of SIGNALS) process.removeListener(signal, raise);
    },
  };
}

/** The exit code a shell expects after that signal. */
export function exitCodeOf(signal: StopSignal): number {
  return { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal];
}
