/** Webhooks through a smee channel, for machines that GitHub cannot reach; meant for development. */

import SmeeClient from "smee-client";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import { messageOf } from "#src/base/result.ts";

export interface Relay {
  /** Cuts the connection, or the attempt at one. */
  stop(): Promise<void>;
}

export interface RelayOptions {
  /** The channel's address. */
  readonly source: string;
  /** Where this server takes webhooks. */
  readonly target: string;
  readonly clock: Clock;
  readonly log: Log;
}

const CONNECT_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** Returns at once and connects behind the caller's back, again and again: the server runs on whatever becomes of the relay. */
export function startRelay(options: RelayOptions): Relay {
  const stop = new AbortController();
  const kept = keepConnected(options, stop.signal);
  return {
    stop: () => {
      stop.abort();
      return kept;
    },
  };
}

async function keepConnected(options: RelayOptions, signal: AbortSignal): Promise<void> {
  const { source, clock, log } = options;
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    const end = await connectOnce(options, signal);
    if (signal.aborted) return;
    if (end.connected) pauseMs = FIRST_PAUSE_MS;
    log.warn(
      { relay: source, reason: end.reason, againInMs: pauseMs },
      "the webhook relay cannot be reached; webhooks sent to this server directly still work",
    );
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

interface ConnectionEnd {
  /** False when it never stood. */
  readonly connected: boolean;
  readonly reason: string;
}

/** The client's own reconnecting ends for good after one time-out or refusal, so each connection gets a client of its own. */
async function connectOnce(
  { source, target, log }: RelayOptions,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  let live = true;
  let connected = false;
  const client = new SmeeClient({
    source,
    target,
    maxConnectionTimeout: CONNECT_MS,
    logger: {
      info: (...words: unknown[]) => log.debug({ relay: source }, words.join(" ")),
      error: (...words: unknown[]) => {
        if (live && connected) log.warn({ relay: source }, words.join(" "));
      },
    },
  });
  try {
    const reason = await new Promise<string>((resolve) => {
      signal.addEventListener("abort", () => resolve("stopped"), { once: true });
      client.onerror = (event) => resolve(event.message ?? "the connection ended");
      client.start().then(
        () => {
          connected = true;
          if (live)
            log.info({ relay: source }, "webhooks come through the relay; use it for development only");
        },
        (error: unknown) => resolve(messageOf(error)),
      );
    });
    return { connected, reason };
  } finally {
    live = false;
    await client.stop();
  }
}
