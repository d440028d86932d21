/** Notices when the model goes round in circles: turns are fingerprinted, and their last few compared. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";
import type { Answered } from "./dispatch.ts";

/** Turns that must be the same, or fail the same way, before the model is told. */
const REPEATS = 3;

export interface TurnPrint {
  /** Calls with their arguments and results. */
  readonly whole: string;
  /** The errors alone, whatever the arguments were; null when a call of the turn succeeded. */
  readonly errors: string | null;
}

/** Durations differ from run to run and mean nothing. */
function withoutDurations(text: string): string {
  return text.replace(/\d+(?:\.\d+)?\s?(?:ms|s|seconds?)\b/g, "…");
}

/** An error's kind: its first line without numbers and quoted parts. */
function errorKind(answered: Answered): string {
  const line = answered.result.text.split("\n", 1)[0] ?? "";
  return `${answered.call.name}: ${line.replace(/[`"'][^`"']*[`"']|\d+/g, "…")}`;
}

/** The fingerprint of one turn's calls and results. */
export function printTurn(answers: readonly Answered[]): TurnPrint {
  const whole = answers.map(({ call, result }) => [
    call.name,
    call.malformed ?? call.arguments,
    result.status,
    withoutDurations(result.text),
  ]);
  const failed = answers.length > 0 && answers.every(({ result }) => result.status === "error");
  return {
    whole: sha256(canonicalJson(whole)),
    errors: failed ? [...new Set(answers.map(errorKind))].sort().join("\n") : null,
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

export const NO_TURNS: Progress = { turns: [], toldAt: null };

export type ProgressVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "tell"; readonly circle: Circle }
  | { readonly kind: "stop"; readonly circle: Circle };

/**
 * Adds a turn and says what to do. The model is told once per run; after that a circle ends it. A model that is told of
 * its repeated error gets as many tries again, since it may be correcting itself with other arguments.
 */
export function advance(progress: Progress, turn: TurnPrint): readonly [Progress, ProgressVerdict] {
  const turns = [...progress.turns, turn].slice(-50);
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
