/** Keeps a number of scripted runs at work for as long as something else is measured, and counts what the server has recorded meanwhile. */

import { systemClock } from "#src/base/clock.ts";
import type { ModelScript } from "#src/demo/model-server.ts";
import { queryState } from "#test/support/left-behind.ts";
import { call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, REPO } from "#test/support/outside.ts";

/** In the title of their issues. */
export const BUSY = "busy";

const TURNS = 45;
const AT_WORK: readonly string[] = ["preparing", "solving", "verifying"];
const LOOK_EVERY_MS = 1_000;

/** A command a second, each another one, so that nobody takes it for a loop. */
export const busyScript: ModelScript = (messages) => {
  const said = messages.filter(({ role }) => role === "assistant").length;
  if (said >= TURNS) return say("There is nothing to change.");
  return call("run_command", { command: `ls -R . | wc -l; echo ${said}; sleep 1` });
};

export interface BusyRuns {
  /** How many were at work at each look since the last call. */
  looks(): readonly number[];
  /** How many deliveries with this prefix are on record; asked once a phase. */
  recorded(prefix: string): number;
  stop(): Promise<void>;
}

/** Starts `count` runs and replaces each that ends; resolves when all of them are solving. */
export async function keepBusy(world: Outside, count: number): Promise<BusyRuns> {
  const issues: number[] = [];
  const begin = () => {
    const issue = world.openIssue({ title: BUSY });
    issues.push(issue);
    world.github.label(REPO, issue, MAINTAINER, LABEL);
  };
  for (let run = 0; run < count; run++) begin();
  for (const issue of issues) await world.untilState(issue, "solving");
  const stopping = new AbortController();
  const recorded = new Map<string, number>();
  let newest = 0;
  let looks: number[] = [];
  // The store keeps the newest 10,000 deliveries, which is fewer than a phase has.
  const count10k = () => {
    const sql = "SELECT n, id FROM delivery WHERE n > ? ORDER BY n";
    for (const { n, id } of queryState(world.dataDir, sql, String(newest))) {
      const prefix = String(id).replace(/\d+$/, "");
      recorded.set(prefix, (recorded.get(prefix) ?? 0) + 1);
      newest = Number(n);
    }
  };
  const look = () => {
    const states = new Map(world.runs().map(({ issue, state }) => [issue, state]));
    const open = issues.filter((issue) => ["queued", ...AT_WORK].includes(states.get(issue) ?? "queued"));
    looks.push(issues.filter((issue) => AT_WORK.includes(states.get(issue) ?? "")).length);
    for (let missing = count - open.length; missing > 0; missing--) begin();
    count10k();
  };
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      look();
      await systemClock.sleep(LOOK_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  })();
  return {
    looks: () => {
      const since = looks;
      looks = [];
      return since;
    },
    recorded: (prefix) => {
      count10k();
      return recorded.get(prefix) ?? 0;
    },
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
