/** One webhook delivery: checked, read, and recorded together with what it becomes before it is answered. */

import { z } from "zod";
import { canonicalJson, type Json, sha256 } from "#src/base/canonical-json.ts";
import type { Receipt } from "#src/store/store.ts";
import type { Edge } from "./edge.ts";
import { repository } from "./payloads.ts";

/** The part of Probot's context that is used; its octokit, which reaches all repositories, is not. */
export interface Delivery {
  readonly id: string;
  readonly name: string;
  readonly payload: unknown;
}

export interface Route<Event> {
  readonly schema: z.ZodType<Event>;
  /** What a bot did to an issue or a pull request is a fact; what it asks for ends at the door. */
  readonly bots: "heard" | "ignored";
  /** Decides what the delivery becomes; nothing has happened by then. */
  readonly read: (edge: Edge, event: Event, deliveryId: string) => Promise<Reading>;
}

export interface Reading {
  readonly receipt: Receipt;
  /** What else it sets off, once: not for a delivery that came again. */
  readonly afterwards?: () => void;
}

const PLACED = z.object({ repository });

export const NOTHING: Reading = { receipt: { kind: "nothing" } };

/** Each event says where its repository is now, which a run that began earlier may know by another name. */
function noteWhere(edge: Edge, payload: unknown): void {
  const place = PLACED.safeParse(payload);
  if (!place.success) return;
  const { id, name, owner, clone_url: cloneUrl } = place.data.repository;
  edge.app.located({ id, owner: owner.login, name, cloneUrl });
}

export async function receive<Event extends { readonly sender: { readonly type?: string | undefined } }>(
  edge: Edge,
  delivery: Delivery,
  { schema, bots, read }: Route<Event>,
): Promise<void> {
  const { id, name, payload } = delivery;
  const parsed = schema.safeParse(payload);
  if (!parsed.success) {
    edge.log.warn(
      { delivery: id, event: name, problem: parsed.error.message },
      "a webhook lacks what it should hold; ignored",
    );
    return;
  }
  if (bots === "ignored" && parsed.data.sender.type === "Bot") return;
  noteWhere(edge, payload);
  const { receipt, afterwards } = await read(edge, parsed.data, id);
  const bodyHash = sha256(canonicalJson(payload as Json));
  const received = await edge.store.receive({ id, name, bodyHash }, receipt);
  if (received === "duplicate") {
    edge.log.info({ delivery: id }, "a delivery came again; ignored");
    return;
  }
  afterwards?.();
  for (const runId of received.runIds) await edge.queue.push(runId, "desk");
}
