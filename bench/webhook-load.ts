/** The load generator of `webhooks.ts`, a process of its own so that its share is known; an order comes by standard input, a report goes to standard output. */

import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { json } from "node:stream/consumers";
import { systemClock } from "#src/base/clock.ts";

export interface LoadOrder {
  readonly url: string;
  readonly secret: string;
  /** A webhook's body; each delivery has a node id of its own, since the same body twice is one delivery. */
  readonly payload: { readonly issue: object };
  readonly perSecond: number;
  readonly seconds: number;
  /** Deliveries are called by it and a number. */
  readonly prefix: string;
}

export interface LoadReport {
  /** From when each delivery was due until its answer was read, in the order sent. */
  readonly latenciesMs: readonly number[];
  /** How long after it was due each was sent: what the generator itself was late. */
  readonly latenessMs: readonly number[];
  /** Those that were not answered with 200, by what came instead. */
  readonly refused: Readonly<Record<string, number>>;
  readonly tookMs: number;
  readonly cpuMs: number;
}

/** Sends on a fixed schedule, whatever the answers take. */
async function load(order: LoadOrder): Promise<LoadReport> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const refused: Record<string, number> = {};
  const latenessMs: number[] = [];
  const pending: Promise<number>[] = [];
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (let at = 0; at < order.perSecond * order.seconds; at++) {
    const due = startedAt + (at * 1_000) / order.perSecond;
    const early = due - performance.now();
    if (early > 0) await systemClock.sleep(early);
    latenessMs.push(performance.now() - due);
    const answered = post(order, agent, at).then((status) => {
      if (status !== "200") refused[status] = (refused[status] ?? 0) + 1;
      return performance.now() - due;
    });
    pending.push(answered);
  }
  const latenciesMs = await Promise.all(pending);
  const { user, system } = process.cpuUsage(cpuBefore);
  const tookMs = performance.now() - startedAt;
  agent.destroy();
  return { latenciesMs, latenessMs, refused, tookMs, cpuMs: (user + system) / 1_000 };
}

/** The status it was answered with, or the code of what went wrong. */
function post({ url, secret, payload, prefix }: LoadOrder, agent: Agent, at: number): Promise<string> {
  const body = JSON.stringify({ ...payload, issue: { ...payload.issue, node_id: `${prefix}${at}` } });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return new Promise((resolve) => {
    const sent = request(url, {
      method: "POST",
      agent,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "x-github-event": "issues",
        "x-github-delivery": `${prefix}${at}`,
        "x-hub-signature-256": `sha256=${signature}`,
      },
    });
    sent.on("response", (answer) => {
      answer.resume();
      answer.on("end", () => resolve(String(answer.statusCode)));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(body);
  });
}

process.stdout.write(JSON.stringify(await load((await json(process.stdin)) as LoadOrder)));
