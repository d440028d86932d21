/** What one endpoint has been seen to refuse, learnt from its errors once and remembered (FAULTS A23, A24). */

import { asRecord } from "./json-values.ts";
import type { Message } from "./model.ts";

export interface Quirks {
  /** Optional members of the body that are left out, at whatever depth they stand (`stream_options`, `cache_control`). */
  readonly dropped: ReadonlySet<string>;
  /** Provider fields of assistant messages (`extra`) that are not sent back. */
  readonly droppedExtra: ReadonlySet<string>;
  /** Chat completions: under which name the output cap is sent. */
  readonly outputCap: "max_tokens" | "max_completion_tokens";
  /** The most output tokens the model may be asked for; null: no limit was named. */
  readonly outputLimit: number | null;
  /** Chat completions: the content of an assistant turn that has only calls. */
  readonly emptyContent: null | "";
  /** Chat completions: user messages that stand side by side, or behind tool results, are folded into one message. */
  readonly foldUsers: boolean;
  /** The repairs that were made; each is made once, so that a 400 is never repeated unchanged (B09). */
  readonly made: ReadonlySet<string>;
}

/** OpenAI's own newer models refuse `max_tokens`; most compatible servers know only that name. */
export function initialQuirks(baseUrl: string): Quirks {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const openAi = /(^|\.)(openai\.com|openai\.azure\.com)$/.test(host);
  return {
    dropped: new Set(),
    droppedExtra: new Set(),
    outputCap: openAi ? "max_completion_tokens" : "max_tokens",
    outputLimit: null,
    emptyContent: null,
    foldUsers: false,
    made: new Set(),
  };
}

export interface Refusal {
  readonly status: number | null;
  readonly body: unknown;
  /** The request that was refused. */
  readonly sent: Readonly<Record<string, unknown>>;
  readonly messages: readonly Message[];
}

export interface Repair {
  readonly quirks: Quirks;
  /** For the trace: what was refused and what is sent instead. */
  readonly reason: string;
}

/** `text`: the refusal's body as text, to look for wording in. */
export type RepairRule = (quirks: Quirks, refusal: Refusal, text: string) => Repair | null;

/** The first repair that a rule has for this refusal; null when it names nothing that we could leave out or say otherwise. */
export function firstRepair(rules: readonly RepairRule[], quirks: Quirks, refusal: Refusal): Repair | null {
  const text = typeof refusal.body === "string" ? refusal.body : (JSON.stringify(refusal.body) ?? "");
  for (const rule of rules) {
    const repair = rule(quirks, refusal, text);
    if (repair !== null) return repair;
  }
  return null;
}

/** The repair of that name with its change and its reason, unless it was made before. */
export function repairOnce(
  quirks: Quirks,
  name: string,
  change: Partial<Quirks>,
  reason: string,
): Repair | null {
  if (quirks.made.has(name)) return null;
  return { quirks: { ...quirks, ...change, made: new Set([...quirks.made, name]) }, reason };
}

/** Leaves out an optional member of the body that the refusal names; never one of `required`. */
export function droppedParameter(required: ReadonlySet<string>): RepairRule {
  return (quirks, { sent, body, status }, text) => {
    if (!isInvalidRequest(status)) return null;
    const name = Object.keys(sent).find((key) => !required.has(key) && isNamed(key, body, text));
    if (name === undefined) return null;
    const dropped = new Set([...quirks.dropped, name]);
    return repairOnce(quirks, `drop ${name}`, { dropped }, `the endpoint refuses ${name}; leaving it out`);
  };
}

/** The statuses that say the request itself is at fault. */
export function isInvalidRequest(status: number | null): boolean {
  return status === 400 || status === 422;
}

/** By `param`, by a location list (`["body", "stream_options"]`), or as a word in the text. */
export function isNamed(name: string, body: unknown, text: string): boolean {
  const outer = asRecord(body);
  const param = (asRecord(outer?.error) ?? outer)?.param;
  if (typeof param === "string" && param !== "") return param === name || param.startsWith(`${name}.`);
  return new RegExp(`(?<![a-z0-9_])${escapeForRegExp(name)}(?![a-z0-9_])`, "i").test(text);
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, (character) => `\\${character}`);
}
