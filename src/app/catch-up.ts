/** Makes up for webhooks that were lost: at the start and every hour, failed deliveries are asked for again, then missed labels are looked for, and what is kept of repositories that are gone is dropped. */

import type { Edge } from "./edge.ts";
import { askAgain } from "./redelivery.ts";
import { sweepLabels } from "./sweep.ts";
import { dropUnreached } from "./unreached.ts";

const EVERY_MS = 3_600_000;
/** How far a round looks back beyond the one before it: one that failed is made up for, and clocks differ. */
const OVERLAP_MS = 2 * EVERY_MS;
/** GitHub keeps its record for three days, and takes no request for older deliveries. */
const KEPT_MS = 3 * 24 * EVERY_MS;
/** What was asked for has come by then, so that the look for labels finds it on record. */
const ARRIVES_MS = 30_000;

/**
 * `newestOnRecord`: when the last delivery before this start was taken, ms since the epoch; null when there never was one.
 * Goes on in the edge's background until `stopped` is aborted.
 */
export function startCatchUp(edge: Edge, newestOnRecord: number | null, stopped: AbortSignal): void {
  const { clock, log } = edge;
  let from = newestOnRecord ?? clock.now();
  const round = async () => {
    const began = clock.now();
    const asked = await askAgain(edge, Math.max(from - OVERLAP_MS, began - KEPT_MS));
    if (asked !== null) from = began;
    if (asked !== null && asked > 0) await clock.sleep(ARRIVES_MS, stopped);
    if (!stopped.aborted) await sweepLabels(edge);
    if (!stopped.aborted) await dropUnreached(edge);
  };
  const again = async () => {
    while (!stopped.aborted) {
      await round().catch((error: unknown) => {
        if (!stopped.aborted) log.error({ err: error }, "lost webhooks could not be made up for");
      });
      await clock.sleep(EVERY_MS, stopped).catch(() => undefined);
    }
  };
  // A stop waits for no answer of GitHub's.
  const halted = new Promise<void>((resolve) => {
    stopped.addEventListener("abort", () => resolve(), { once: true });
  });
  edge.background.run("making up for lost webhooks", Promise.race([again(), halted]));
}
