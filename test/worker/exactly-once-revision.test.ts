/** The same of a revision, from the review that asks for it to the push: one plan, one commit on top, one answer in each thread, whatever is lost or dies. */

import { describe, test } from "node:test";
import { FULL } from "#test/support/tier.ts";
import { callsOf, casesOf, nameOf, play } from "./call-matrix.ts";
import { revision } from "./revision-end.ts";

/** Two runs a case are too many for the quick tier, which has test/publish/revision and test/e2e/pull-request. */
const calls = FULL ? await callsOf(revision) : [];
const cases = casesOf(calls);

describe(`a revision exactly once: ${cases.length} cases over ${calls.length} calls`, {
  concurrency: 2,
}, () => {
  for (const one of cases) test(nameOf(one), () => play(revision, one));
});
