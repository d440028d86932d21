/** What one endpoint has been seen to refuse, learnt from its errors once and remembered (FAULTS A23, A24). */

import { asRecord } from "./json-values.ts";
import type { Message } from "./model.ts";

export interface Quirks {
  /** Optional members of the body that are left out. */
  readonly dropped: ReadonlySet<string>;
  /** Provider fields of assistant messages (`extra`) that are not sent back. */
  readonly droppedExtra: ReadonlySet<string>;
  /** Under which name the output cap is sent. */
  readonly outputCap: "max_tokens" | "max_completion_tokens";
  /** The content of an assistant turn that has only calls. */
  readonly emptyContent: null | "";
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
    emptyContent: null,
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

const REQUIRED = new Set(["model", "messages", "stream", "tools"]);

/** The one change that this refusal asks for, or null when it names nothing that we could leave out or say otherwise. */
export function repairFor(quirks: Quirks, refusal: Refusal): Repair | null {
  if (refusal.status !== 400 && refusal.status !== 422) return null;
  const text = typeof refusal.body === "string" ? refusal.body : JSON.stringify(refusal.body);
  return (
    renamedOutputCap(quirks, refusal, text) ??
    droppedParameter(quirks, refusal, text) ??
    droppedMessageField(quirks, refusal, text) ??
    otherEmptyContent(quirks, refusal, text)
  );
}

function once(quirks: Quirks, name: string, change: Partial<Quirks>, reason: string): Repair | null {
  if (quirks.made.has(name)) return null;
  return { quirks: { ...quirks, ...change, made: new Set([...quirks.made, name]) }, reason };
}

function renamedOutputCap(quirks: Quirks, { sent, body }: Refusal, text: string): Repair | null {
  const name = quirks.outputCap;
  if (!(name in sent) || !isNamed(name, body, text)) return null;
  // Too large a number is refused under either name: then the endpoint's own limit has to do.
  if (/too large|at most|less than|must be|maximum/i.test(text)) return null;
  const other = name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  return once(quirks, "outputCap", { outputCap: other }, `the endpoint refuses ${name}; sending ${other}`);
}

function droppedParameter(quirks: Quirks, { sent, body }: Refusal, text: string): Repair | null {
  const name = Object.keys(sent).find((key) => !REQUIRED.has(key) && isNamed(key, body, text));
  if (name === undefined) return null;
  const dropped = new Set([...quirks.dropped, name]);
  return once(quirks, `drop ${name}`, { dropped }, `the endpoint refuses ${name}; leaving it out`);
}

function droppedMessageField(quirks: Quirks, { messages, body }: Refusal, text: string): Repair | null {
  const fields = new Set(
    messages.flatMap((message) => Object.keys(("extra" in message && message.extra) || {})),
  );
  // A provider that wants such a field back names it too (A20): only a refusal counts.
  if (
    !/unsupported|not (supported|permitted|allowed|expected)|extra|unexpected|unknown|unrecogni|additional/i.test(
      text,
    )
  ) {
    return null;
  }
  const name = [...fields].find((field) => !quirks.droppedExtra.has(field) && isNamed(field, body, text));
  if (name === undefined) return null;
  const droppedExtra = new Set([...quirks.droppedExtra, name]);
  return once(
    quirks,
    `drop message ${name}`,
    { droppedExtra },
    `the endpoint refuses ${name} in messages; leaving it out`,
  );
}

function otherEmptyContent(quirks: Quirks, { messages }: Refusal, text: string): Repair | null {
  const hasToolOnlyTurn = messages.some(
    (message) => message.role === "assistant" && message.content === "" && message.calls.length > 0,
  );
  if (!hasToolOnlyTurn || !/content/i.test(text)) return null;
  if (!/nil|null|none|empty|blank|string|required|missing|at least|too short|non-empty|text/i.test(text))
    return null;
  const emptyContent = quirks.emptyContent === null ? "" : null;
  const form = emptyContent === null ? "null" : "an empty string";
  return once(
    quirks,
    "emptyContent",
    { emptyContent },
    `the endpoint refuses the content of a turn with only tool calls; sending ${form}`,
  );
}

/** By `param`, by a location list (`["body", "stream_options"]`), or as a word in the text. */
function isNamed(name: string, body: unknown, text: string): boolean {
  const outer = asRecord(body);
  const param = (asRecord(outer?.error) ?? outer)?.param;
  if (typeof param === "string" && param !== "") return param === name || param.startsWith(`${name}.`);
  return new RegExp(`(?<![a-z0-9_])${escapeForRegExp(name)}(?![a-z0-9_])`, "i").test(text);
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, (character) => `\\${character}`);
}
