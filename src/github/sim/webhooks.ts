/** Signs and sends the webhooks of the embedded GitHub, keeps them on record, and lets a test hold, lose, double or reorder them. */

import { createHmac } from "node:crypto";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import { messageOf } from "#src/base/result.ts";
import type { JsonObject } from "./json.ts";
import { type App, type State, takeId } from "./state.ts";

export interface Event {
  readonly app: App;
  readonly event: string;
  readonly action: string | null;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
  readonly payload: JsonObject;
}

/** One attempt at delivering an event. A redelivery is a new attempt with the same guid. */
export interface Delivery {
  readonly id: number;
  readonly guid: string;
  readonly event: string;
  readonly action: string | null;
  readonly appId: number;
  readonly installationId: number | null;
  readonly repositoryId: number | null;
  readonly redelivery: boolean;
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact bytes that are signed and sent. */
  readonly body: string;
  /** ms since the epoch; null while it is held or under way. */
  deliveredAt: number | null;
  /** Seconds. */
  duration: number;
  /** 0: no answer, with the reason in `status`. */
  statusCode: number;
  status: string;
  answer: string;
}

export interface Webhooks {
  /** Queues the event for its app, if the app asked for events of that kind. Events go out one after another, in order. */
  emit(event: Event): void;
  /** Every attempt so far, oldest first, held and dropped ones included. */
  deliveries(): readonly Delivery[];
  /** Sends the delivery's bytes once more under its guid; false when the id is unknown. */
  redeliver(id: number): boolean;
  /** From now on deliveries wait. */
  hold(): void;
  /** Sends what waited, in the order that `arrange` returns (leaving some out loses them), and stops holding. */
  release(arrange?: (held: readonly Delivery[]) => readonly Delivery[]): void;
  /** The next `count` deliveries are lost: recorded as failed, never sent. */
  dropNext(count: number): void;
  /** The next `count` deliveries are sent twice with the same guid. */
  duplicateNext(count: number): void;
  /** Resolves when nothing is queued or under way; held deliveries do not count. */
  settled(): Promise<void>;
  /** Stops sending; what is under way is cut off. */
  close(): Promise<void>;
}

/** GitHub gives a receiver ten seconds. */
const TIME_LIMIT_MS = 10_000;
const ALWAYS_SENT = new Set(["installation", "installation_repositories", "ping"]);

export function createWebhooks(parts: {
  readonly state: State;
  readonly clock: Clock;
  readonly ids: Ids;
}): Webhooks {
  const { state, clock, ids } = parts;
  const log: Delivery[] = [];
  const stop = new AbortController();
  let held: Delivery[] | null = null;
  let toDrop = 0;
  let toDouble = 0;
  let queue = Promise.resolve();

  const enqueue = (delivery: Delivery) => {
    queue = queue.then(() => send(delivery, clock, stop.signal));
  };

  const record = (delivery: Delivery): Delivery => {
    log.push(delivery);
    return delivery;
  };

  const again = (delivery: Delivery): Delivery =>
    record({
      ...delivery,
      id: takeId(state),
      redelivery: true,
      // It goes to the app's present address.
      url: state.apps.get(delivery.appId)?.webhookUrl ?? null,
      ...UNSENT,
    });

  const dispatch = (delivery: Delivery) => {
    if (toDrop > 0) {
      toDrop--;
      Object.assign(delivery, { deliveredAt: clock.now(), status: "lost on the way" });
      return;
    }
    enqueue(delivery);
    if (toDouble > 0) {
      toDouble--;
      enqueue(again(delivery));
    }
  };

  const accept = (delivery: Delivery) => {
    if (held !== null) held.push(delivery);
    else dispatch(delivery);
  };

  return {
    emit: (event) => {
      if (!ALWAYS_SENT.has(event.event) && !event.app.events.includes(event.event)) return;
      accept(record(createDelivery(event, takeId(state), uuid(ids))));
    },
    deliveries: () => [...log],
    redeliver: (id) => {
      const delivery = log.find((entry) => entry.id === id);
      if (delivery === undefined) return false;
      accept(again(delivery));
      return true;
    },
    hold: () => {
      held ??= [];
    },
    release: (arrange = (waiting) => waiting) => {
      const waiting = held ?? [];
      held = null;
      for (const delivery of arrange(waiting)) dispatch(delivery);
    },
    dropNext: (count) => {
      toDrop += count;
    },
    duplicateNext: (count) => {
      toDouble += count;
    },
    settled: async () => {
      for (let seen: Promise<void> | null = null; seen !== queue; ) {
        seen = queue;
        await seen;
      }
    },
    close: async () => {
      stop.abort();
      await queue;
    },
  };
}

const UNSENT = { deliveredAt: null, duration: 0, statusCode: 0, status: "queued", answer: "" };

function createDelivery(event: Event, id: number, guid: string): Delivery {
  const body = JSON.stringify(event.payload);
  const signature = createHmac("sha256", event.app.webhookSecret).update(body).digest("hex");
  const sha1 = createHmac("sha1", event.app.webhookSecret).update(body).digest("hex");
  return {
    id,
    guid,
    event: event.event,
    action: event.action,
    appId: event.app.id,
    installationId: event.installationId,
    repositoryId: event.repositoryId,
    redelivery: false,
    url: event.app.webhookUrl,
    headers: {
      accept: "*/*",
      "content-type": "application/json",
      "user-agent": "GitHub-Hookshot/sim",
      "x-github-delivery": guid,
      "x-github-event": event.event,
      "x-github-hook-id": String(event.app.id),
      "x-github-hook-installation-target-id": String(event.app.id),
      "x-github-hook-installation-target-type": "integration",
      "x-hub-signature": `sha1=${sha1}`,
      "x-hub-signature-256": `sha256=${signature}`,
    },
    body,
    ...UNSENT,
  };
}

function uuid(ids: Ids): string {
  const hex = ids.hex(16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Never rejects: how the attempt ended is written into it. */
async function send(delivery: Delivery, clock: Clock, stop: AbortSignal): Promise<void> {
  const startedAt = clock.now();
  const limit = new AbortController();
  const stopTimer = clock.timer(TIME_LIMIT_MS, () => limit.abort(new Error("timed out")));
  try {
    if (delivery.url === null) throw new Error("failed to connect: the app has no webhook address");
    const answer = await fetch(delivery.url, {
      method: "POST",
      headers: delivery.headers,
      body: delivery.body,
      redirect: "manual",
      signal: AbortSignal.any([limit.signal, stop]),
    });
    delivery.answer = await answer.text();
    delivery.statusCode = answer.status;
    delivery.status = answer.ok ? "OK" : `Invalid HTTP Response: ${answer.status}`;
  } catch (error) {
    delivery.status = limit.signal.aborted ? "timed out" : messageOf(error);
  } finally {
    stopTimer();
    delivery.deliveredAt = clock.now();
    delivery.duration = (clock.now() - startedAt) / 1000;
  }
}
