/** One world from outside for all tests of a `describe` block, with the checks that hold at the end of every story. */

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { secretsSeen } from "#test/support/canaries.ts";
import { contractViolations, webhookViolations } from "#test/support/contract.ts";
import { type Outside, type OutsideOptions, REPO, startOutside } from "#test/support/outside.ts";

export interface SharedWorld {
  /** The world; only from within tests and hooks. */
  get(): Outside;
}

/**
 * Call it in a `describe` block, which may run its tests at the same time. Afterwards: the server stops cleanly, no secret
 * is seen anywhere, GitHub's published contracts were kept, and nothing is left.
 */
export function sharedWorld(
  options: OutsideOptions,
  prepare: (world: Outside) => Promise<void> = async () => undefined,
): SharedWorld {
  let world: Outside | null = null;
  const repos: string[] = [REPO];
  const get = () => {
    assert.ok(world !== null, "the world has not started");
    return world;
  };
  before(async () => {
    const started = await startOutside(options);
    world = {
      ...started,
      addRepository: async (...wanted) => {
        const created = await started.addRepository(...wanted);
        repos.push(created.fullName);
        return created;
      },
    };
    await prepare(world);
  });
  after(async () => {
    if (world === null) return;
    const { github } = world;
    try {
      await github.settled();
      if (world.server().exit() === null) await world.stop();
      assert.deepEqual(secretsSeen(world, repos), []);
      assert.deepEqual(contractViolations(github.calls()), []);
      assert.deepEqual(webhookViolations(github.webhooks.deliveries()), []);
      await world.finish();
    } catch (error) {
      const log = world.output().slice(-6_000);
      throw new Error(`${(error as Error).message}\n--- the server said ---\n${log}`, { cause: error });
    } finally {
      await world.close();
    }
  });
  return { get };
}
