/** Webhooks through a smee channel, for machines that GitHub cannot reach; meant for development. */

import SmeeClient from "smee-client";
import type { Log } from "#src/base/log.ts";

export interface Relay {
  stop(): Promise<void>;
}

/** A relay that cannot be reached is logged and tried again by the client; the server runs on without it. */
export async function startRelay(source: string, target: string, log: Log): Promise<Relay> {
  const client = new SmeeClient({
    source,
    target,
    maxConnectionTimeout: 10_000,
    logger: {
      info: (...words: unknown[]) => log.debug({ relay: source }, words.join(" ")),
      error: (...words: unknown[]) => log.warn({ relay: source }, words.join(" ")),
    },
  });
  try {
    await client.start();
    log.info({ relay: source }, "webhooks come through the relay; use it for development only");
  } catch (error) {
    log.warn(
      { err: error, relay: source },
      "the webhook relay cannot be reached; webhooks sent to this server directly still work",
    );
  }
  return { stop: () => client.stop() };
}
