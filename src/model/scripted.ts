/** A Model that says what it was told to: for tests and embedding, without a network. */

import { type Clock, systemClock } from "#src/base/clock.ts";
import { type SettledArguments, settleArguments } from "./call-arguments.ts";
import { callIdsIn } from "./call-ids.ts";
import type { Model, ModelEvent, ModelFailure, ModelRequest, Reply, ToolCall, Usage } from "./model.ts";
import { cancelled, waited } from "./retry.ts";
import { UNKNOWN_USAGE } from "./usage.ts";

export interface ScriptedCall {
  readonly name: string;
  /** An object, or text sent as it is, also when it is no JSON. */
  readonly args: Readonly<Record<string, unknown>> | string;
  /** Counted up when left out; given a new one when the transcript has it already, as with a real provider. */
  readonly id?: string;
}

export interface ScriptedTurn {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Default `complete`. */
  readonly finish?: Reply["finish"];
  /** Counts left out are null, as with a provider that reports none. */
  readonly usage?: Partial<Usage>;
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The turn ends in this instead of a reply, after its text. */
  readonly failure?: ModelFailure;
  /** Announced tries before the turn begins. */
  readonly retries?: number;
  /** Wait before the first event, by the clock. */
  readonly delayMs?: number;
  /** After its text the turn does nothing more until it is cancelled. */
  readonly hang?: boolean;
}

/** Turns in order, or a function that decides by what it is asked; `turn` counts the requests from 1. */
export type Script = readonly ScriptedTurn[] | ((request: ModelRequest, turn: number) => ScriptedTurn);

export interface ScriptedOptions {
  readonly id?: string;
  readonly clock?: Clock;
}

export interface ScriptedModel extends Model {
  /** What was asked so far, copied at the time it was asked. */
  readonly requests: readonly Pick<ModelRequest, "messages" | "tools" | "maxOutputTokens">[];
}

export function createScripted(script: Script, options: ScriptedOptions = {}): ScriptedModel {
  const { id = "scripted", clock = systemClock } = options;
  const requests: Pick<ModelRequest, "messages" | "tools" | "maxOutputTokens">[] = [];
  let minted = 0;
  const mintId = () => `call${String(++minted).padStart(5, "0")}`;
  return {
    id,
    requests,
    stream: (request) => {
      const { messages, tools, maxOutputTokens } = request;
      requests.push(structuredClone({ messages, tools, maxOutputTokens }));
      const turn =
        typeof script === "function" ? script(request, requests.length) : script[requests.length - 1];
      return play(turn ?? endOfScript(requests.length), { request, clock, mintId });
    },
  };
}

interface Stage {
  readonly request: ModelRequest;
  readonly clock: Clock;
  readonly mintId: () => string;
}

async function* play(turn: ScriptedTurn, { request, clock, mintId }: Stage): AsyncGenerator<ModelEvent> {
  const { signal } = request;
  if (signal.aborted) return yield cancelled(signal);
  for (let attempt = 1; attempt <= (turn.retries ?? 0); attempt++) {
    yield { type: "retry", attempt, of: (turn.retries ?? 0) + 1, waitMs: 0, reason: "scripted" };
  }
  if (turn.delayMs !== undefined && !(await waited(clock, turn.delayMs, signal)))
    return yield cancelled(signal);
  for (const text of inPieces(turn.reasoning ?? "")) yield { type: "reasoning", text };
  for (const text of inPieces(turn.text ?? "")) {
    yield { type: "text", text };
    if (signal.aborted) return yield cancelled(signal);
  }
  if (turn.hang === true) {
    await aborted(signal);
    return yield cancelled(signal);
  }
  if (turn.failure !== undefined) return yield { type: "failed", failure: turn.failure };
  yield { type: "done", reply: replyOf(turn, request, mintId) };
}

function replyOf(turn: ScriptedTurn, request: ModelRequest, mintId: () => string): Reply {
  const taken = new Set(callIdsIn(request.messages));
  const calls = (turn.calls ?? []).map((call): ToolCall => {
    let id = call.id ?? mintId();
    while (taken.has(id)) id = mintId();
    taken.add(id);
    return { id, name: call.name, ...argumentsOf(call) };
  });
  return {
    content: turn.text ?? "",
    calls,
    finish: turn.finish ?? "complete",
    usage: { ...UNKNOWN_USAGE, ...turn.usage },
    ...(turn.extra === undefined ? {} : { extra: turn.extra }),
  };
}

function argumentsOf({ args }: ScriptedCall): SettledArguments {
  return settleArguments(typeof args === "string" ? args : JSON.stringify(args));
}

/** A request the script did not foresee is an error of the test, said in its words. */
function endOfScript(turn: number): ScriptedTurn {
  const message = `The script has no turn ${turn}: add one, or find out why the model was asked again.`;
  return { failure: { code: "bad_request", message, status: null } };
}

/** Words with their following space, so that consumers see text arrive in several events. */
function inPieces(text: string): readonly string[] {
  return text.match(/\S*\s*/g)?.filter((piece) => piece !== "") ?? [];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
