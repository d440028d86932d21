/** Notices when the model goes round in circles: turns are fingerprinted, and their last few compared. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";
import type { Message, ToolCall } from "#src/model/model.ts";
import { toldBy } from "./hand-over.ts";
import { isStub } from "./stub.ts";

/** A call and what it was answered with. */
export interface Answer {
  readonly call: ToolCall;
  readonly result: { readonly status: "ok" | "error"; readonly text: string };
}

/** Turns that must be the same, or fail the same way, before the model is told. */
const REPEATS = 3;

export interface TurnPrint {
  /** Calls with their arguments and results. */
  readonly whole: string;
  /** The errors alone, whatever the arguments were; null when a call of the turn succeeded. A failed command counts as an error here. */
  readonly errors: string | null;
}

/** Durations differ from run to run and mean nothing. */
function withoutDurations(text: string): string {
  return text.replace(/\d+(?:\.\d+)?\s?(?:ms|s|seconds?)\b/g, "…");
}

/** How a command that failed and said something begins; one that failed without a word may just have found nothing. */
const FAILED_COMMAND = /^exit code (?!0\b)-?\d+ [^\n]*\n(?!\(no output\))/;

/** An error's kind, without numbers and quoted parts: the first line of an error, all of what a failed command printed; null for a success. */
function errorKind({ call, result }: Answer): string | null {
  const text = result.status === "error" ? result.text.split("\n", 1)[0] : failedOutput(result.text);
  // The tool's own name is an argument too: a model that invents tools gets the same error under ever new names.
  return text == null ? null : text.replaceAll(call.name, "…").replace(/[`"'][^`"']*[`"']|\d+/g, "…");
}

function failedOutput(text: string): string | null {
  return FAILED_COMMAND.test(text) ? withoutDurations(text) : null;
}

/** The fingerprint of one turn's calls and results. */
export function printTurn(answers: readonly Answer[]): TurnPrint {
  const whole = answers.map(({ call, result }) => [
    call.name,
    call.malformed ?? call.arguments,
    result.status,
    // What a cleared result said is not known any more, so that it is like no other.
    isStub(result.text) ? call.id : withoutDurations(result.text),
  ]);
  const kinds = answers.map(errorKind);
  const failed = answers.length > 0 && !kinds.includes(null);
  return {
    whole: sha256(canonicalJson(whole)),
    errors: failed ? [...new Set(kinds)].sort().join("\n") : null,
  };
}

export type Circle = "repeating" | "alternating" | "same_error";

/** The circle the newest turns form, if any: A-A-A, A-B-A-B, or the same error three times from whatever arguments. */
export function findCircle(turns: readonly TurnPrint[]): Circle | null {
  const last = turns.slice(-REPEATS);
  if (last.length === REPEATS && last.every((turn) => turn.whole === last[0]?.whole)) return "repeating";
  const [a, b, c, d] = turns.slice(-4);
  if (a && b && c && d && a.whole === c.whole && b.whole === d.whole && a.whole !== b.whole)
    return "alternating";
  const error = last[0]?.errors ?? null;
  if (last.length === REPEATS && error !== null && last.every((turn) => turn.errors === error))
    return "same_error";
  return null;
}

/** The turns so far and, once the model was told, how many there were at that moment. */
export interface Progress {
  readonly turns: readonly TurnPrint[];
  readonly toldAt: number | null;
}

/** Older turns can form no circle with a new one. */
const MOST_TURNS = 50;

/** The progress so far, read from a transcript, so that a circle is noticed across rounds and restarts. */
export function progressOf(messages: readonly Message[]): Progress {
  const turns: TurnPrint[] = [];
  let toldAt: number | null = null;
  for (const [at, message] of messages.entries()) {
    if (message.role === "assistant" && message.calls.length > 0)
      turns.push(printTurn(answersTo(message.calls, messages.slice(at + 1, at + 1 + message.calls.length))));
    if (message.role === "user" && toldBy(message.content).includes("no_progress")) toldAt ??= turns.length;
  }
  const forgotten = Math.max(0, turns.length - MOST_TURNS);
  return { turns: turns.slice(forgotten), toldAt: toldAt === null ? null : toldAt - forgotten };
}

function answersTo(calls: readonly ToolCall[], results: readonly Message[]): readonly Answer[] {
  return calls.flatMap((call, at): readonly Answer[] => {
    const result = results[at];
    if (result?.role !== "tool") return [];
    return [{ call, result: { status: result.failed ? "error" : "ok", text: result.content } }];
  });
}

export type ProgressVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "tell"; readonly circle: Circle }
  | { readonly kind: "stop"; readonly circle: Circle };

/**
 * Adds a turn and says what to do. The model is told once per run; after that a circle ends it. A model that is told of
 * its repeated error gets as many tries again, since it may be correcting itself with other arguments.
 */
export function advance(progress: Progress, turn: TurnPrint): readonly [Progress, ProgressVerdict] {
  const turns = [...progress.turns, turn].slice(-MOST_TURNS);
  const forgotten = progress.turns.length + 1 - turns.length;
  const toldAt = progress.toldAt === null ? null : progress.toldAt - forgotten;
  const circle = findCircle(turns);
  if (circle === null) return [{ turns, toldAt }, { kind: "fine" }];
  if (toldAt === null)
    return [
      { turns, toldAt: turns.length },
      { kind: "tell", circle },
    ];
  if (circle === "same_error" && turns.length - toldAt < REPEATS)
    return [{ turns, toldAt }, { kind: "fine" }];
  return [
    { turns, toldAt },
    { kind: "stop", circle },
  ];
}
