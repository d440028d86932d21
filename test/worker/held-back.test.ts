/** F13: a rate limit at the plan comment costs nothing that was paid for: the run stands as it is, and the next start posts the plan. */

import assert from "node:assert/strict";
import { testPart } from "#test/support/tier.ts";
import { crashWorld } from "./crash-world.ts";
import { begin, nextWorkerEndsIt } from "./one-end.ts";

testPart(0.5)(
  "F13: a limit of an hour at the plan comment is left for the next start, which posts what is kept",
  async () => {
    await using world = await crashWorld();
    const { store, github, request } = world;
    await begin(world);
    const reset = String(Math.floor(Date.now() / 1000) + 3_000);
    github.fault({
      method: "POST",
      path: /issues\/\d+\/comments$/,
      skip: 1,
      times: 1,
      fault: {
        kind: "status",
        status: 403,
        body: { message: "API rate limit exceeded for installation ID 1." },
        headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset },
      },
    });
    const records = async (step: string) =>
      (await store.events(request.runId)).flatMap(({ event }) =>
        event.type === "step" && event.record.step === step ? [event.record.kind] : [],
      );
    const first = await world.startWorker(null);
    try {
      const left = async () =>
        (await records("propose")).includes("paused") && (await store.leases()).length === 0;
      assert.equal(await first.until(left), false);
    } finally {
      await first.gone();
    }
    assert.equal((await store.run(request.runId))?.state, "verifying");
    assert.equal(github.comments("acme/tiny", request.issue.number).length, 1, "the status comment only");
    await nextWorkerEndsIt(world);
    assert.equal(
      (await records("solve")).filter((kind) => kind === "done").length,
      1,
      "the agent worked once",
    );
  },
);
