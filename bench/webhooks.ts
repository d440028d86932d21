/** The webhook edge under load, with scripted runs at work beside it, against a bare server that does no more than keep each body; and how long people wait. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { byIssue } from "#test/support/model-turns.ts";
import { type Outside, startOutside } from "#test/support/outside.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { BUSY, type BusyRuns, busyScript, keepBusy } from "./busy-runs.ts";
import { type Bench, median, type Row } from "./row.ts";
import { waitRows } from "./waits.ts";
import type { LoadOrder } from "./webhook-load.ts";
import { loadPhase, type Phase } from "./webhook-phase.ts";

const RATE_PER_S = 200;
const SECONDS = 60;
/** Before what counts: code that has never run is compiled first. */
const WARM_UP_SECONDS = 2;
const ACTIVE_RUNS = 4;
const P99_TARGET_MS = 50;
/** Beside the busy ones, those whose first sign and pull request are waited for. */
const OTHER_RUNS = 2;

export function webhooksBench(seconds = SECONDS): Bench {
  return async () => {
    const world = await startOutside({
      script: byIssue({ [BUSY]: busyScript }, smallJob),
      files: SMALL_FILES,
      env: { CONCURRENCY: String(ACTIVE_RUNS + OTHER_RUNS) },
    });
    try {
      const busy = await keepBusy(world, ACTIVE_RUNS);
      const rows = [...(await edgeRows(world, busy, seconds)), ...(await waitRows(world))];
      await busy.stop();
      return rows;
    } finally {
      await world.close();
    }
  };
}

/** The floor first and then ours, with the same runs at work; what these cost the server is known from the floor's phase. */
async function edgeRows(world: Outside, busy: BusyRuns, seconds: number): Promise<readonly Row[]> {
  const server = world.server().pid;
  const order = orderOf(world, seconds);
  const floor = await withFloor(world, (url, pid) =>
    loadPhase({ ...order, url, prefix: "floor-" }, { pid, beside: server }),
  );
  const warm = { ...order, seconds: WARM_UP_SECONDS, prefix: "warm-" };
  await loadPhase(warm, { pid: server, beside: server });
  busy.looks();
  const ours = await loadPhase(order, { pid: server, beside: server });
  const active = busy.looks();
  const lost = ours.sent - busy.recorded(order.prefix);
  const runsMs = (floor.cpuMs.beside * ours.tookMs) / floor.tookMs;
  const perDelivery = (ours.cpuMs.server - runsMs) / ours.sent;
  const what = `${RATE_PER_S} deliveries/s for ${seconds} s, ${median(active)} scripted runs at work (${Math.min(...active)} to ${Math.max(...active)})`;
  return [
    {
      name: "webhooks",
      what: `p99 of the answer to a webhook, ${what}`,
      unit: "ms",
      values: [ours.p99],
      target: P99_TARGET_MS,
      note: `${timesOf(ours)}; ${lost} lost; ${costOf(ours)}; ${perDelivery.toFixed(2)} ms of the server's processor time a delivery, beside the ${Math.round((100 * runsMs) / ours.tookMs)} % of a core that the runs take in it`,
    },
    {
      name: "webhooks",
      what: "the same p99 ÷ that of a bare HTTP server with one synced append a request",
      unit: "×",
      values: [ours.p99 / floor.p99],
      target: null,
      note: `${timesOf(floor)}; ${costOf(floor)}; ${(floor.cpuMs.server / floor.sent).toFixed(2)} ms of processor time a request`,
    },
  ];
}

function timesOf({ sent, tookMs, refused, ...phase }: Phase): string {
  const answered = sent - Object.values(refused).reduce((sum, one) => sum + one, 0);
  const times = (["p50", "p95", "p99", "max"] as const).map((name) => `${name} ${phase[name].toFixed(1)}`);
  const not = Object.entries(refused).map(([why, count]) => `, ${count} × ${why}`);
  return `${times.join(", ")} ms; ${sent} sent in ${(tookMs / 1_000).toFixed(1)} s, ${answered} answered with 200${not.join("")} (${(answered / (tookMs / 1_000)).toFixed(0)}/s)`;
}

function costOf({ cpuMs, latenessP99, tookMs }: Phase): string {
  const ofCore = (ms: number) => Math.round((100 * ms) / tookMs);
  const share = Math.round((100 * cpuMs.generator) / (cpuMs.generator + cpuMs.server));
  return `the load generator took ${ofCore(cpuMs.generator)} % of a core, ${share} % of what it and the server took together, and was late by ${latenessP99.toFixed(1)} ms at its p99; all work on the machine took ${ofCore(cpuMs.machine)} % of a core`;
}

/** A label that is not ours, as GitHub sends it: read, recorded, and nothing more. */
function orderOf(world: Outside, seconds: number): LoadOrder {
  const labelled = world.github.webhooks.deliveries().find(({ action }) => action === "labeled");
  if (labelled === undefined) throw new Error("no label was delivered");
  const payload = JSON.parse(labelled.body);
  payload.label.name = "bug";
  return {
    url: `${world.url()}${WEBHOOK_PATH}`,
    secret: world.secrets.webhookSecret,
    payload,
    perSecond: RATE_PER_S,
    seconds,
    prefix: "bench-",
  };
}

/** Its file lies beside the server's database, on the same disk. */
async function withFloor<T>(world: Outside, use: (url: string, pid: number) => Promise<T>): Promise<T> {
  const script = join(import.meta.dirname, "webhook-floor.ts");
  const child = spawn(process.execPath, [script, join(world.dataDir, "floor.log")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  try {
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    return await use(String(value), child.pid ?? -1);
  } finally {
    child.stdin.end();
    await closed;
  }
}
