/** Keeps what is stored of a run one request behind it: written while the request is on its way, and before anything follows from its reply. */

import { messageOf } from "#src/base/result.ts";
import { type Conversation, stateOf } from "./conversation.ts";

/** Notes that the state as it is now must be stored before anything follows from the next reply, and before the run ends. */
export function keep(talk: Conversation): void {
  talk.unkept = stateOf(talk);
}

/** Stores the state that `keep` noted, if it is not stored yet. */
export async function storeKept(talk: Conversation): Promise<void> {
  const state = talk.unkept;
  if (state === null) return;
  await talk.request.checkpoint(state);
  talk.unkept = null;
}

/**
 * Sends a request with `ask`, stores what was kept meanwhile, and answers when both are done. Storing may hold the process up
 * for milliseconds, so that it begins only once the request is out (or answered, whichever is first). When it fails, the
 * request is given up, and the failure is thrown once nothing of the request runs any more.
 */
export async function whileAsking<Answer>(talk: Conversation, ask: () => Promise<Answer>): Promise<Answer> {
  const asking = ask();
  if (talk.unkept === null) return asking;
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  // The adapters write a request to its connection before the process turns to its timers.
  const stopTimer = talk.request.clock.timer(0, resolve);
  try {
    await Promise.race([sent, asking]);
    await storeKept(talk);
  } catch (error) {
    talk.giveUp(`the run's state could not be stored: ${messageOf(error)}`);
    await Promise.allSettled([asking]);
    throw error;
  } finally {
    stopTimer();
  }
  return asking;
}
