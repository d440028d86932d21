/** The webhook edge under load, with scripted runs at work beside it, and how long people wait for a first sign and for a pull request. */

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { queryState } from "#test/support/left-behind.ts";
import { byIssue, call } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, REPO, startOutside } from "#test/support/outside.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { type Bench, median } from "./row.ts";

const RATE_PER_S = 200;
const SECONDS = 60;
const ACTIVE_RUNS = 4;
const P99_TARGET_MS = 50;
const SIGN_TARGET_MS = 1_000;
const PULL_TARGET_MS = 2_000;
const TIMES = 5;
const POLL_MS = 5;
const BUSY = "busy";

export function webhooksBench(seconds = SECONDS): Bench {
  return async () => {
    const world = await startOutside({
      // Commands with a pause, so that the runs go on for as long as the load.
      script: byIssue(
        { [BUSY]: () => call("run_command", { command: "ls -R . | wc -l; sleep 1" }) },
        smallJob,
      ),
      files: SMALL_FILES,
      env: { CONCURRENCY: String(ACTIVE_RUNS + TIMES) },
    });
    try {
      const busy = await startBusy(world);
      const load = await underLoad(world, seconds);
      const active = busy.filter((issue) => world.run(issue)?.state === "solving").length;
      const waits = await peoplesWaits(world);
      return [
        {
          name: "webhooks",
          what: `p99 of the answer to a webhook at ${RATE_PER_S} deliveries/s for ${seconds} s, ${active} scripted runs active`,
          unit: "ms",
          values: [load.p99],
          target: P99_TARGET_MS,
          note: load.note,
        },
        {
          name: "webhooks",
          what: "from the label to the first visible sign",
          unit: "ms",
          values: waits.sign,
          target: SIGN_TARGET_MS,
          note: "reaction or comment, GitHub embedded in this process",
        },
        {
          name: "webhooks",
          what: "from `/approve` to the pull request, the base unmoved",
          unit: "ms",
          values: waits.pull,
          target: PULL_TARGET_MS,
          note: "the embedded GitHub's own time included",
        },
      ];
    } finally {
      await world.close();
    }
  };
}

async function startBusy(world: Outside): Promise<readonly number[]> {
  const issues = Array.from({ length: ACTIVE_RUNS }, () => world.openIssue({ title: BUSY }));
  for (const issue of issues) world.github.label(REPO, issue, MAINTAINER, LABEL);
  for (const issue of issues) await world.untilState(issue, "solving");
  return issues;
}

interface Load {
  readonly p99: number;
  readonly note: string;
}

/** Sends on a fixed schedule, whatever the answers take; a latency counts from when the delivery was due. */
async function underLoad(world: Outside, seconds: number): Promise<Load> {
  const labelled = world.github.webhooks.deliveries().find(({ action }) => action === "labeled");
  if (labelled === undefined) throw new Error("no label was delivered");
  const payload = JSON.parse(labelled.body);
  payload.label.name = "bug";
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const before = recorded(world);
  const [ownBefore, serverBefore] = [ownMs(), serverMs(world)];
  const startedAt = performance.now();
  const count = RATE_PER_S * seconds;
  const pending: Promise<Answered>[] = [];
  for (let at = 0; at < count; at++) {
    const due = startedAt + (at * 1_000) / RATE_PER_S;
    const early = due - performance.now();
    if (early > 0) await systemClock.sleep(early);
    payload.issue.updated_at = new Date(Date.UTC(2025, 0, 1) + at * 1_000).toISOString();
    pending.push(post(world, { agent, at, due, body: JSON.stringify(payload) }));
  }
  const answers = await Promise.all(pending);
  const tookS = (performance.now() - startedAt) / 1_000;
  agent.destroy();
  const latencies = answers.map(({ ms }) => ms).sort((a, b) => a - b);
  const refused = answers.filter(({ status }) => status !== 200).length;
  const own = ownMs() - ownBefore;
  const server = serverMs(world) - serverBefore;
  const share = Math.round((100 * own) / (own + server));
  return {
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
    note: [
      `median ${median(latencies).toFixed(1)} ms, worst ${latencies.at(-1)?.toFixed(0)} ms`,
      `${count} sent in ${tookS.toFixed(1)} s, ${refused} refused, ${count - (recorded(world) - before)} lost`,
      `the load generator took ${share} % of the processor time of both (${Math.round(server / tookS / 10)} % of a core for the server)`,
    ].join("; "),
  };
}

interface Answered {
  readonly status: number;
  readonly ms: number;
}

function post(
  world: Outside,
  { agent, at, due, body }: { agent: Agent; at: number; due: number; body: string },
): Promise<Answered> {
  const signature = createHmac("sha256", world.secrets.webhookSecret).update(body).digest("hex");
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ status, ms: performance.now() - due });
    const sent = request(`${world.url()}${WEBHOOK_PATH}`, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "x-github-event": "issues",
        "x-github-delivery": `bench-${at}`,
        "x-hub-signature-256": `sha256=${signature}`,
      },
    });
    sent.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => done(answer.statusCode ?? 0));
    });
    sent.on("error", () => done(0));
    sent.end(body);
  });
}

/** How many deliveries were ever recorded: rows are trimmed, their numbers go on. */
function recorded(world: Outside): number {
  const [row] = queryState(world.dataDir, "SELECT max(n) AS n FROM delivery");
  return Number(row?.n ?? 0);
}

function ownMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const TICKS_PER_S = 100;

/** Processor time of the server's own process, without those it started. */
function serverMs(world: Outside): number {
  const stat = readFileSync(`/proc/${world.server().pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_S;
}

async function peoplesWaits(
  world: Outside,
): Promise<{ readonly sign: readonly number[]; readonly pull: readonly number[] }> {
  const { github } = world;
  const sign: number[] = [];
  const pull: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const { fullName: repo } = await world.addRepository({ name: `waits-${time}`, files: SMALL_FILES });
    const issue = world.openIssue({}, repo);
    const labelledAt = performance.now();
    github.label(repo, issue, MAINTAINER, LABEL);
    await until(
      () => github.issue(repo, issue).reactions.length > 0 || github.comments(repo, issue).length > 0,
    );
    sign.push(performance.now() - labelledAt);
    await world.untilState(issue, "awaiting_approval", repo);
    const approvedAt = performance.now();
    github.comment(repo, issue, MAINTAINER, "/approve unverified");
    await until(() => github.pullRequests(repo).length > 0);
    pull.push(performance.now() - approvedAt);
  }
  return { sign, pull };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await systemClock.sleep(POLL_MS);
}
