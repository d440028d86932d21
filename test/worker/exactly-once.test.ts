/** Every call that a run makes of GitHub, from the label to the pull request, with a fault before its effect, after it, and a kill at both: always the same one end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inTurn, sample } from "#test/support/tier.ts";
import { callsOf, casesOf, isStatusEditOrBlob, nameOf, play, type Story } from "./call-matrix.ts";
import { assertTheOneEnd, begin, see } from "./one-end.ts";

/** From the label to the pull request; edits of the status comment and blobs, which grow with time and patch, are not counted. */
const MAX_CALLS = 25;
const COLUMNS = 2;

const firstRun: Story = { prepare: begin, see, assertTheOneEnd };
const calls = await callsOf(firstRun);
const cases = casesOf(calls);

test(`a run makes at most ${MAX_CALLS} calls from the label to the pull request`, (context) => {
  const rest = calls.filter(({ over }) => over === "rest");
  const counted = rest.filter((call) => !isStatusEditOrBlob(call));
  for (const [index, { method, template }] of counted.entries())
    context.diagnostic(`${String(index + 1).padStart(COLUMNS)} ${method} ${template}`);
  context.diagnostic(`${rest.length - counted.length} more: edits of comments and blobs`);
  context.diagnostic(`${calls.length - rest.length} requests of git`);
  assert.ok(counted.length <= MAX_CALLS, `${counted.length} calls`);
});

describe(`exactly once: ${cases.length} cases over ${calls.length} calls`, { concurrency: 2 }, () => {
  for (const one of inTurn(1, 2) ? sample(cases, 1) : []) test(nameOf(one), () => play(firstRun, one));
});
