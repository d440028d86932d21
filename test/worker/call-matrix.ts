/** Every call that a story makes of GitHub, REST and git, read from a run that nothing happens to, and the story once more with a fault or a kill at one of them. */

import assert from "node:assert/strict";
import type { Exchange } from "#src/github/sim/exchanges.ts";
import type { FaultKind } from "#src/github/sim/faults.ts";
import { type CrashWorld, crashWorld, type LivingWorker } from "./crash-world.ts";

/** A part of a run's life, from where its calls count to the one end that it must come to. */
export interface Story {
  prepare(world: CrashWorld): Promise<void>;
  /** Goes on with it as far as this worker lives; true when it was killed. */
  see(world: CrashWorld, worker: LivingWorker): Promise<boolean>;
  assertTheOneEnd(world: CrashWorld): Promise<void>;
}

export interface CallPlace {
  readonly method: string;
  /** The route's template; of git the address itself. */
  readonly template: string;
  readonly over: "rest" | "git";
  /** The how-manieth of its kind, counting from 0. */
  readonly nth: number;
}

export interface Case extends CallPlace {
  readonly when: "before" | "after";
  /** The process dies as well. */
  readonly killed: boolean;
}

/** The calls of a story that nothing happens to: REST in order, then git. */
export async function callsOf(story: Story): Promise<readonly CallPlace[]> {
  await using world = await crashWorld();
  const { github } = world;
  await story.prepare(world);
  const before = { rest: github.calls().length, git: github.gitRequests().length };
  await liveOn(world, story);
  await story.assertTheOneEnd(world);
  const rest = github.calls().slice(before.rest);
  const seen = new Map<string, number>();
  const place = (over: CallPlace["over"], method: string, template: string): CallPlace => {
    const key = `${method} ${template}`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    return { method, template, over, nth };
  };
  return [
    ...rest.map(({ method, template }) => {
      assert.ok(template !== null, `${method} has a route`);
      return place("rest", method, template);
    }),
    ...github
      .gitRequests()
      .slice(before.git)
      .map(({ method, path }) => place("git", method, path)),
  ];
}

async function liveOn(world: CrashWorld, story: Story): Promise<void> {
  const worker = await world.startWorker(null);
  try {
    assert.equal(await story.see(world, worker), false);
  } finally {
    await worker.gone();
  }
}

/** They grow with the time that a run takes and with the size of its patch. */
export function isStatusEditOrBlob({ method, template }: Pick<Exchange, "method" | "template">): boolean {
  return (
    (method === "PATCH" && template === "/repos/{owner}/{repo}/issues/comments/{comment_id}") ||
    (method === "POST" && template === "/repos/{owner}/{repo}/git/blobs")
  );
}

/** How often the status is edited depends on time; its first edit stands for all. What git asks has no effect to come after. */
export function casesOf(calls: readonly CallPlace[]): readonly Case[] {
  return calls
    .filter((call) => !isStatusEditOrBlob(call) || call.nth === 0)
    .flatMap((place): Case[] =>
      (place.over === "git" ? (["before"] as const) : (["before", "after"] as const)).flatMap((when) => [
        { ...place, when, killed: false },
        { ...place, when, killed: true },
      ]),
    );
}

export function nameOf({ method, template, nth, when, killed }: Case): string {
  return `${killed ? "killed" : "a fault"} ${when} the effect of ${method} ${template}, call ${nth + 1} of its kind`;
}

function pathOf({ template }: CallPlace): RegExp {
  const pattern = template
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(\w+)\}/g, (_, name: string) => (name === "ref" ? ".+" : "[^/]+"));
  return new RegExp(`^${pattern}$`);
}

export async function play(story: Story, one: Case): Promise<void> {
  await using world = await crashWorld();
  await story.prepare(world);
  const first = await world.startWorker(null);
  const fault: FaultKind = { kind: one.when === "before" ? "drop_before" : "drop_after" };
  let met = false;
  world.github.fault({
    method: one.method,
    path: pathOf(one),
    times: 1,
    skip: one.nth,
    fault,
    onMet: () => {
      met = true;
      if (one.killed) first.die();
    },
  });
  try {
    assert.equal(await story.see(world, first), one.killed, one.killed ? "it was killed" : "it lived");
  } finally {
    await first.gone();
  }
  assert.ok(met, "the call was made");
  if (one.killed) await liveOn(world, story);
  await story.assertTheOneEnd(world);
}
