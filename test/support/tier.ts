/** Which tier of the tests runs, and the seed by which the quick tier picks its sample. */

import { createHash } from "node:crypto";
import { type TestContext, type TestOptions, test } from "node:test";

/** True in `npm run test:full`: no sampling, many more random cases. */
export const FULL = process.env.TEST_TIER === "full";

const MS_PER_DAY = 86_400_000;

/** The sampling seed. `scripts/test.ts` prints it; without it the day counts, so that a file run alone is repeatable. */
export const SEED = Number(process.env.TEST_SEED ?? Math.floor(Date.now() / MS_PER_DAY));

const REQUIRE_ALL = process.env.REQUIRE_ALL === "1";

/** `list` in the full tier; else `n` of its members, chosen by SEED, in their old order. */
export function sample<T>(list: readonly T[], n: number): readonly T[] {
  if (FULL || list.length <= n) return list;
  const random = sequence(SEED + list.length);
  const indices = list.map((_, index) => index);
  for (let last = indices.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const [a, b] = [indices[last] as number, indices[other] as number];
    indices[last] = b;
    indices[other] = a;
  }
  const chosen = new Set(indices.slice(0, n));
  return list.filter((_, index) => chosen.has(index));
}

/** Keeps the quick tier within its eight minutes on two cores as such tests become more; raise it where there is room. */
const SHARE_TAKEN = 0.14;

const ANOTHER_SEED = "its turn comes with another seed";

/**
 * `test` for a file whose tests each cost many processes: all of them in the full tier; in the quick one a part of about `share`
 * (0 to 1) of them, chosen by SEED and name, so that each has its turn.
 */
export function testPart(share: number): (name: string, ...rest: TestRest) => void {
  return (name, ...rest) => {
    // Left out altogether, a file of which no test is drawn would run its hooks before and not those after.
    if (!FULL && lot(name) >= share * SHARE_TAKEN)
      return void test(name, { skip: ANOTHER_SEED }, () => undefined);
    if (rest.length === 1) test(name, rest[0]);
    else test(name, rest[0], rest[1]);
  };
}

type TestFn = (context: TestContext) => void | Promise<void>;
type TestRest = readonly [TestFn] | readonly [TestOptions, TestFn];

/** Suites that share an `of` take turns in the quick tier, by SEED: this one is taken when it is `turn`'s. */
export function inTurn(turn: number, of: number): boolean {
  return FULL || SEED % of === turn;
}

/** A number in [0, 1) that SEED and name decide. */
function lot(name: string): number {
  return createHash("sha256").update(`${SEED} ${name}`).digest().readUInt32BE(0) / 2 ** 32;
}

/** For node:test's `skip` option: false when the thing is there, else the reason; with REQUIRE_ALL=1 a missing thing is an error. */
export function skipUnless(there: boolean, reason: string): false | string {
  if (there) return false;
  if (REQUIRE_ALL) throw new Error(`REQUIRE_ALL=1 allows no skip, but: ${reason}`);
  return reason;
}

/** A small repeatable generator of numbers in [0, 1): a linear congruence over 2^31 - 1. */
function sequence(seed: number): () => number {
  const modulus = 2 ** 31 - 1;
  let state = (Math.abs(Math.trunc(seed)) % (modulus - 1)) + 1;
  return () => {
    state = (state * 48_271) % modulus;
    return state / modulus;
  };
}
