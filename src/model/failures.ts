/** Tells the failures of providers apart by code, type, status and wording, and says which may be tried again. */

import { asRecord, type JsonRecord } from "./json-values.ts";
import type { ModelFailure } from "./model.ts";
import { type HeaderReader, retryHint } from "./retry-hints.ts";

/** What a provider said when it refused or broke off. */
export interface ProviderError {
  /** HTTP status; null for an error inside a stream. */
  readonly status: number | null;
  /** Parsed JSON of the answer, or its text. */
  readonly body: unknown;
  readonly headers: HeaderReader | null;
}

/** A failed try: what to report, and what the retry policy needs to know. */
export interface Trouble {
  readonly failure: ModelFailure;
  readonly retryable: boolean;
  /** The least wait the provider asked for; null when it named none. */
  readonly retryAfterMs: number | null;
}

/** A wait longer than this is no throttling but an exhausted allowance (FAULTS B06). */
export const RETRY_AFTER_CEILING_MS = 120_000;

const MAX_WORDS = 1_000;
const MAX_PAGE = 10_000;

export function troubleFromProvider(error: ProviderError, nowMs: number): Trouble {
  const facts = readFacts(error);
  const hint = retryHint(error.headers, facts.text, nowMs);
  const code = classify(facts, hint);
  const waitable = hint === null || hint <= RETRY_AFTER_CEILING_MS;
  const forbidden = error.headers?.get("x-should-retry") === "false";
  return {
    failure: { code, message: sentence(code, facts), status: facts.status },
    retryable: (code === "rate_limited" || code === "server_error") && waitable && !forbidden,
    retryAfterMs: hint,
  };
}

interface Facts {
  readonly status: number | null;
  /** `code`, `type` and the like of the body, lower case. */
  readonly labels: readonly string[];
  /** The provider's sentence. */
  readonly words: string;
  /** The whole body as text, to look for wording in. */
  readonly text: string;
}

function readFacts({ status, body }: ProviderError): Facts {
  const outer = asRecord(body);
  const inner = asRecord(outer?.error) ?? outer;
  const label = (value: unknown) => (typeof value === "string" && value !== "" ? [value.toLowerCase()] : []);
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  return {
    status: status ?? statusInBody(inner),
    labels: [inner?.code, inner?.type, inner?.status, asRecord(inner?.details)?.error_code].flatMap(label),
    words: words(inner, text),
    text,
  };
}

/** Errors inside a 200 stream carry the upstream's status as their code, as a number or as text. */
function statusInBody(body: JsonRecord | null): number | null {
  for (const value of [body?.status, body?.status_code, body?.code]) {
    const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && number >= 400 && number <= 599) return number;
  }
  return null;
}

/** The sentence itself where there is one; else the body, without the mark-up of an HTML page. */
function words(body: JsonRecord | null, text: string): string {
  // OpenRouter wraps the upstream's answer; "Provider returned error" alone helps nobody.
  const upstream = asRecord(body?.metadata)?.raw;
  const said = [body?.message, body?.error, body?.detail, upstream].filter(
    (value): value is string => typeof value === "string" && value.trim() !== "",
  );
  const plain =
    said.length > 0
      ? said.join(": ")
      : text.slice(0, MAX_PAGE).replace(/<(style|script)[\s\S]*?<\/\1>|<[^>]*>/gi, " ");
  const oneLine = plain.replace(/\s+/g, " ").trim();
  if (oneLine === "") return "no explanation was given";
  return oneLine.length > MAX_WORDS ? `${oneLine.slice(0, MAX_WORDS)}…` : oneLine;
}

function classify(facts: Facts, hintMs: number | null): ModelFailure["code"] {
  const { status, text } = facts;
  const labelled = (...names: readonly string[]) => facts.labels.some((label) => names.includes(label));
  if (isContextOverflow(facts)) return "context_overflow";
  if (labelled("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"))
    return "quota_exhausted";
  if (status === 402 || facts.labels.some((label) => label.endsWith("spend_limit_reached")))
    return "quota_exhausted";
  const mentionsMoney = MONEY_WORDING.test(text);
  if (mentionsMoney && (status === 403 || status === 400 || labelled("invalid_request_error")))
    return "quota_exhausted";
  if (status === 401 || status === 403) return "unauthorized";
  if (labelled("invalid_api_key", "authentication_error", "permission_error")) return "unauthorized";
  if (status === 400 && /api[ _]key not valid|invalid api[ _]key/i.test(text)) return "unauthorized";
  if (status === 429 || labelled("rate_limit_exceeded", "rate_limit_error", "resource_exhausted")) {
    // Google words its limit per minute like an exhausted plan, but names a short wait.
    if (hintMs !== null) return hintMs > RETRY_AFTER_CEILING_MS ? "quota_exhausted" : "rate_limited";
    return mentionsMoney ? "quota_exhausted" : "rate_limited";
  }
  if (status === 408 || status === 409) return "server_error";
  // llama.cpp answers 500 when a chat template refuses the order of the messages, which no second try changes.
  if (mentionsRoleOrder(text) && /jinja|template|alternate/i.test(text)) return "bad_request";
  if (status !== null && status >= 400 && status < 500) return "bad_request";
  if (status === null && labelled(...REFUSED_INPUT)) return "bad_request";
  return "server_error";
}

/** Labels of errors inside a stream that lie in the request itself. */
const REFUSED_INPUT = [
  ...["invalid_request_error", "not_found_error", "invalid_prompt", "data_residency_mismatch"],
  ...["bio_policy", "cyber_policy", "misalignment_policy_violation"],
];

/** Whether an error says that roles must alternate: strict chat templates, Mistral, Bedrock. */
export function mentionsRoleOrder(text: string): boolean {
  return /roles? must alternate|invalid_request_message_order|(multiple|consecutive) .{0,20}(user|assistant)|unexpected role .{0,3}(user|tool)|expected .{0,60}(got|but found) .{0,20}(user|tool)/i.test(
    text,
  );
}

const MONEY_WORDING =
  /insufficient[_ ](quota|balance|credit|fund)|exceeded your (current|monthly|daily)? ?(quota|budget)|billing|credit balance|(out of|no|more) credits|payment required|usage limit|spend(ing)?[_ ]limit|key limit exceeded|top up your/i;

/** Codes first: the message of B01 matched no wording that was known then. */
const OVERFLOW_LABELS = [
  "context_length_exceeded",
  "exceed_context_size_error",
  "context_window_exceeded",
  "model_context_window_exceeded",
  "request_too_large",
  "string_above_max_length",
];

const OVERFLOW_WORDING = [
  // OpenAI, vLLM, Mistral, DeepSeek, Together, Ollama
  /maximum context length|max(imum)? (model|context)[_ ]len(gth)?|context_length_exceeded/i,
  // llama.cpp, LM Studio, MiniMax, B01
  /exceeds? (the )?(available |model'?s? |configured |maximum )?context|(configured|available) context (size|window|length)/i,
  /context (size|window|length|limit)\b[^.]{0,40}\b(exceed|too (small|long|large)|overflow)/i,
  /(exceed|greater than|larger than|longer than|beyond|over) (the )?[^.]{0,40}\bcontext (size|window|length|limit)/i,
  /context the overflows|loaded with context length/i,
  // Anthropic, Bedrock, xAI, Google, Groq, Moonshot, Zhipu
  /prompt is too long|(input|prompt) (length |is )?(is )?too long|prompt exceeds max length/i,
  /maximum prompt length|input token count[^.]{0,60}exceeds|exceeded model token limit/i,
  /(please )?reduce the length of the (messages|prompt|input)/i,
  // A single request above the limit per minute never fits, however long one waits.
  /request too large for/i,
  // Text Generation Inference, Cohere
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  /too many tokens: size limit exceeded/i,
];

function isContextOverflow({ status, labels, text }: Facts): boolean {
  if (labels.some((label) => OVERFLOW_LABELS.includes(label))) return true;
  if (status === 413) return true;
  if (status === 401 || status === 403) return false;
  return OVERFLOW_WORDING.some((wording) => wording.test(text));
}

/** What to do, for the person who reads the failure on the issue. */
const ADVICE: Readonly<Partial<Record<ModelFailure["code"], string>>> = {
  unauthorized: "Check the API key and that it may use this model.",
  quota_exhausted: "The account's quota or credit is used up: check plan and billing, or wait for the reset.",
  context_overflow: "The request was longer than the model's context.",
  bad_request: "Check the base URL, the model's name and whether the endpoint supports tool calls.",
};

function sentence(code: ModelFailure["code"], { status, words: said }: Facts): string {
  const who =
    status === null ? "The model provider reported an error" : `The model provider answered ${status}`;
  const advice = ADVICE[code];
  return `${who}: ${said}${advice === undefined ? "" : ` (${advice})`}`;
}
