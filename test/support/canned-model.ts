/** A model that plays prepared replies and keeps the requests it got; tests of the loop are scripts of it. */

import type {
  Model,
  ModelEvent,
  ModelFailure,
  ModelRequest,
  Reply,
  ToolCall,
  Usage,
} from "#src/model/model.ts";

export const NO_USAGE: Usage = { inputTokens: null, cachedTokens: null, outputTokens: null };

export type Step = Reply | ModelFailure | ((request: ModelRequest) => AsyncIterable<ModelEvent>);

let calls = 0;

/** A call with a fresh id of nine characters. */
export function call(name: string, args: unknown, id = `call${String(++calls).padStart(5, "0")}`): ToolCall {
  return { id, name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
}

export function reply(content: string, ...asked: readonly ToolCall[]): Reply {
  return { content, calls: asked, finish: "complete", usage: NO_USAGE };
}

export function failure(code: ModelFailure["code"], message = `the provider said ${code}`): ModelFailure {
  return { code, message, status: null };
}

export interface CannedModel extends Model {
  readonly requests: readonly ModelRequest[];
}

async function* play(step: Reply | ModelFailure): AsyncIterable<ModelEvent> {
  if ("code" in step) {
    yield { type: "failed", failure: step };
    return;
  }
  if (step.content !== "") yield { type: "text", text: step.content };
  yield { type: "done", reply: step };
}

/** Plays `steps` in order and then the last one for ever. */
export function cannedModel(steps: readonly Step[]): CannedModel {
  const requests: ModelRequest[] = [];
  return {
    id: "canned",
    requests,
    stream: (request) => {
      requests.push(request);
      const step = steps[Math.min(requests.length, steps.length) - 1];
      if (step === undefined) return play(failure("bad_request", "no step was prepared"));
      return typeof step === "function" ? step(request) : play(step);
    },
  };
}
