/** Compares the assertions of one test before and after: gone, weaker, wider, no longer heard, or expecting something else. Pure. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { Assertion } from "./items.ts";

const SHOWN = 120;

/** How often each entry occurs more in `more` than in `less`, as a flat list. */
export function surplus<T>(more: readonly T[], less: readonly T[], key: (one: T) => string): readonly T[] {
  const left = new Map<string, number>();
  for (const one of less) left.set(key(one), (left.get(key(one)) ?? 0) + 1);
  return more.filter((one) => {
    const count = left.get(key(one)) ?? 0;
    left.set(key(one), count - 1);
    return count <= 0;
  });
}

type Told = Pick<TamperFinding, "kind" | "detail">;

function shown(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function grew(before: string, after: string): string | null {
  const had = new Set(before.split(" "));
  return after.split(" ").find((guard) => guard !== "" && !had.has(guard)) ?? null;
}

function told(before: Assertion, after: Assertion): Told {
  const change = `\`${shown(before.shown)}\` became \`${shown(after.shown)}\``;
  const guard = grew(before.guard, after.guard);
  if (guard === "try")
    return { kind: "assertion_loosened", detail: `a failed assertion is caught now: ${change}` };
  if (guard === "if")
    return { kind: "assertion_loosened", detail: `an assertion runs only under a condition now: ${change}` };
  if (after.strength === 0)
    return { kind: "assertion_loosened", detail: `an assertion always holds now: ${change}` };
  if (after.tolerance !== null && after.tolerance > (before.tolerance ?? 0))
    return { kind: "assertion_loosened", detail: `a tolerance is wider: ${change}` };
  if (after.strength < before.strength)
    return { kind: "assertion_loosened", detail: `asserts less: ${change}` };
  if (before.subject === after.subject && after.strength === before.strength)
    return { kind: "expectation_changed", detail: `expects something else: ${change}` };
  return { kind: "existing_test_changed", detail: `an assertion is another one: ${change}` };
}

/** One finding per assertion that is gone or changed, most telling kinds first; assertions that were only added give none. */
export function comparedAssertions(
  before: readonly Assertion[],
  after: readonly Assertion[],
): readonly Told[] {
  const gone = surplus(before, after, (one) => one.text);
  const fresh = [...surplus(after, before, (one) => one.text)];
  const take = (wanted: (one: Assertion) => boolean): Assertion | null => {
    const at = fresh.findIndex(wanted);
    return at < 0 ? null : (fresh.splice(at, 1)[0] ?? null);
  };
  const paired = gone.map((one) => ({
    one,
    now: take((other) => other.subject === one.subject && one.subject !== ""),
  }));
  return paired.map(({ one, now }) => {
    const other = now ?? take(() => true);
    if (other !== null) return told(one, other);
    return { kind: "assertion_loosened", detail: `no longer asserts: \`${shown(one.shown)}\`` };
  });
}
