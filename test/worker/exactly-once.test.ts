/** Every call that a run makes of GitHub, from the label to the pull request, with a fault before its effect, after it, and a kill at both: always the same one end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Exchange } from "#src/github/sim/exchanges.ts";
import type { FaultKind } from "#src/github/sim/faults.ts";
import { inTurn, sample } from "#test/support/tier.ts";
import { type CrashWorld, crashWorld } from "./crash-world.ts";
import { assertTheOneEnd, begin, see } from "./one-end.ts";

/** From the label to the pull request; edits of the status comment and blobs, which grow with time and patch, are not counted. */
const MAX_CALLS = 25;
const COLUMNS = 2;

interface CallPlace {
  readonly method: string;
  readonly template: string;
  /** The how-manieth of its kind, counting from 0. */
  readonly nth: number;
}

interface Case extends CallPlace {
  readonly when: "before" | "after";
  /** The process dies as well. */
  readonly killed: boolean;
}

/** The calls of a run that nothing happens to, in order. */
async function callsOfOneRun(): Promise<readonly CallPlace[]> {
  await using world = await crashWorld();
  await begin(world);
  const worker = await world.startWorker(null);
  try {
    assert.equal(await see(world, worker), false);
  } finally {
    await worker.gone();
  }
  await assertTheOneEnd(world);
  const seen = new Map<string, number>();
  return world.github.calls().map(({ method, template }) => {
    assert.ok(template !== null, `${method} has a route`);
    const key = `${method} ${template}`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return { method, template, nth };
  });
}

function isStatusEditOrBlob({ method, template }: Pick<Exchange, "method" | "template">): boolean {
  return (
    (method === "PATCH" && template === "/repos/{owner}/{repo}/issues/comments/{comment_id}") ||
    (method === "POST" && template === "/repos/{owner}/{repo}/git/blobs")
  );
}

function pathOf(template: string): RegExp {
  const pattern = template
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name: string) => (name === "ref" ? ".+" : "[^/]+"));
  return new RegExp(`^${pattern}$`);
}

async function play(one: Case): Promise<void> {
  await using world = await crashWorld();
  await begin(world);
  const first = await world.startWorker(null);
  const fault: FaultKind = { kind: one.when === "before" ? "drop_before" : "drop_after" };
  let met = false;
  world.github.fault({
    method: one.method,
    path: pathOf(one.template),
    times: 1,
    skip: one.nth,
    fault,
    onMet: () => {
      met = true;
      if (one.killed) first.die();
    },
  });
  try {
    assert.equal(await see(world, first), one.killed, one.killed ? "it was killed" : "it lived");
  } finally {
    await first.gone();
  }
  assert.ok(met, "the call was made");
  if (one.killed) await seeAgain(world);
  await assertTheOneEnd(world);
}

async function seeAgain(world: CrashWorld): Promise<void> {
  const second = await world.startWorker(null);
  try {
    assert.equal(await see(world, second), false);
  } finally {
    await second.gone();
  }
}

const calls = await callsOfOneRun();
const places = calls.filter(
  // How often the status is edited depends on time; its first edit stands for all.
  (call) => !isStatusEditOrBlob(call) || call.nth === 0,
);
const cases = places.flatMap((place): Case[] =>
  (["before", "after"] as const).flatMap((when) => [
    { ...place, when, killed: false },
    { ...place, when, killed: true },
  ]),
);

test(`a run makes at most ${MAX_CALLS} calls from the label to the pull request`, (context) => {
  const counted = calls.filter((call) => !isStatusEditOrBlob(call));
  for (const [index, { method, template }] of counted.entries())
    context.diagnostic(`${String(index + 1).padStart(COLUMNS)} ${method} ${template}`);
  context.diagnostic(`${calls.length - counted.length} more: edits of comments and blobs`);
  assert.ok(counted.length <= MAX_CALLS, `${counted.length} calls`);
});

describe(`exactly once: ${cases.length} cases over ${places.length} calls`, { concurrency: 2 }, () => {
  for (const one of inTurn(1, 2) ? sample(cases, 1) : []) {
    const { method, template, nth, when, killed } = one;
    const what = `${killed ? "killed" : "a fault"} ${when} the effect of ${method} ${template}`;
    test(`${what}, call ${nth + 1} of its kind`, () => play(one));
  }
});
