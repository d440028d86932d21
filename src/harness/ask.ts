/** One request to the model: its events are passed on as they come, and the end is a reply or a failure, never a throw. */

import { messageOf } from "#src/base/result.ts";
import type { Model, ModelEvent, ModelFailure, ModelRequest, Reply } from "#src/model/model.ts";
import { abortReason, watchAbort } from "./abort.ts";

export type Answer =
  | { readonly kind: "reply"; readonly reply: Reply; readonly retries: number }
  | { readonly kind: "failed"; readonly failure: ModelFailure; readonly retries: number };

export type StreamedEvent = Extract<ModelEvent, { type: "text" | "reasoning" | "retry" }>;

function failed(code: ModelFailure["code"], message: string, retries: number): Answer {
  return { kind: "failed", failure: { code, message, status: null }, retries };
}

/** Lets a stream that was left early clean up; nobody waits for it, and what it says then has no reader. */
function leave(stream: AsyncIterator<ModelEvent>): void {
  const ignored = () => undefined;
  Promise.resolve(stream.return?.()).then(ignored, ignored);
}

/**
 * Streams one request. A stream that ends without `done` or `failed`, or throws against its contract, is a
 * `broken_stream`; an abort is answered at once, also when the model does not react to it.
 */
export async function ask(
  model: Model,
  request: ModelRequest,
  onEvent: (event: StreamedEvent) => void,
): Promise<Answer> {
  let retries = 0;
  using watch = watchAbort(request.signal);
  const stream = model.stream(request)[Symbol.asyncIterator]();
  const nextEvent = async () => {
    try {
      return await stream.next();
    } catch (error) {
      return { failure: messageOf(error) };
    }
  };
  for (;;) {
    const next = request.signal.aborted ? "aborted" : await Promise.race([nextEvent(), watch.aborted]);
    if (next === "aborted") {
      leave(stream);
      return failed("cancelled", abortReason(request.signal), retries);
    }
    if ("failure" in next) return failed("broken_stream", next.failure, retries);
    if (next.done) return failed("broken_stream", "The model's stream ended without an answer.", retries);
    const event = next.value;
    if (event.type === "done" || event.type === "failed") {
      leave(stream);
      return event.type === "done"
        ? { kind: "reply", reply: event.reply, retries }
        : { kind: "failed", failure: event.failure, retries };
    }
    if (event.type === "retry") retries++;
    onEvent(event);
  }
}
