/** Sends the replies of a run beside its work, one after another, so that a GitHub that does not answer holds up no decision. */

import { sendReplies } from "#src/fix/replies.ts";
import type { RunContext } from "#src/fix/run-context.ts";

export interface Outbox {
  /** Sends what is due; true when nothing is left to be sent later. */
  send(): Promise<boolean>;
  /** The same for whoever cannot wait; a failure is logged. */
  sendSoon(): void;
  /** Cuts off what is being sent and waits until nothing is under way. */
  close(): Promise<void>;
}

export function createOutbox(whole: RunContext): Outbox {
  const closed = new AbortController();
  const context = whole.during(closed.signal);
  let sending: Promise<boolean> = Promise.resolve(true);
  const work = async () => (closed.signal.aborted ? false : sendReplies(context));
  const send = () => {
    sending = sending.then(work, work);
    return sending;
  };
  return {
    send,
    sendSoon: () => {
      send().catch((error: unknown) => {
        context.ports.log.warn({ err: error, run: context.runId }, "replies could not be sent");
      });
    },
    close: async () => {
      closed.abort(new Error("the run is left"));
      await sending.catch(() => false);
    },
  };
}
