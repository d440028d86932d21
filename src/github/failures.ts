/** From what GitHub answered (status, headers, words) to the one failure code a caller decides by: pure. */

import type { GitHubFailure } from "./github.ts";

/** An answer with a status of 400 or more. Header names in lower case. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  /** The parsed body, or its text when it was not JSON. */
  readonly body: unknown;
}

type Code = GitHubFailure["code"];

const MAX_WORDS = 500;
const RATE_LIMIT_WORDS = /rate limit|abuse detection/i;

/** The failure for a refused request; `nowMs` turns a reset time into a wait. Never throws. */
export function failureOf(refusal: Refusal, nowMs: number): GitHubFailure {
  const words = wordsOf(refusal.body);
  const code = codeOf(refusal, words);
  const needed = headerOf(refusal, "x-accepted-github-permissions");
  const hint =
    code === "permission_missing"
      ? `The app lacks a permission${needed ? `: one of "${needed}" is needed` : ""}. Grant it in the app's settings, then accept the change on the installation. `
      : "";
  return {
    code,
    status: refusal.status,
    message: `${hint}GitHub answered ${refusal.status}${words === "" ? "" : `: ${words}`}`,
    retryAfterMs: code === "rate_limited" ? retryAfterOf(refusal, nowMs) : null,
  };
}

function codeOf(refusal: Refusal, words: string): Code {
  const { status } = refusal;
  if (isRateLimit(refusal, words)) return "rate_limited";
  if (status === 401) return "unauthorized";
  if (status === 403) return forbiddenCode(words);
  if (status === 404 || status === 410) return "not_found";
  if (status === 409) return "conflict";
  if (status === 413) return "too_long";
  if (status === 422) return unprocessableCode(words);
  return status >= 500 ? "server_error" : "invalid";
}

/** A 403 may be a limit or a missing right; only GitHub's words and Retry-After tell them apart (the remaining count may be 0 in both). */
function isRateLimit(refusal: Refusal, words: string): boolean {
  if (refusal.status === 429) return true;
  if (refusal.status !== 403) return false;
  return RATE_LIMIT_WORDS.test(words) || headerOf(refusal, "retry-after") !== null;
}

function forbiddenCode(words: string): Code {
  if (/not accessible by integration/i.test(words)) return "permission_missing";
  if (/\block(ed)?\b/i.test(words)) return "locked";
  if (/installation has been suspended|archived so is read-only/i.test(words)) return "suspended";
  return "forbidden";
}

function unprocessableCode(words: string): Code {
  if (/too long|too large/i.test(words)) return "too_long";
  if (/already exists/i.test(words)) return "conflict";
  if (/permissions requested are not granted/i.test(words)) return "permission_missing";
  if (/repository that does not exist or is not accessible/i.test(words)) return "not_found";
  return "invalid";
}

/** Retry-After in seconds or as a date; else, for the primary limit, the time to its reset. Null when GitHub named neither. */
function retryAfterOf(refusal: Refusal, nowMs: number): number | null {
  const header = headerOf(refusal, "retry-after");
  if (header !== null) {
    const at = /^\d+$/.test(header) ? nowMs + Number(header) * 1000 : Date.parse(header);
    if (Number.isFinite(at)) return Math.max(0, at - nowMs);
  }
  const reset = headerOf(refusal, "x-ratelimit-reset");
  if (headerOf(refusal, "x-ratelimit-remaining") !== "0" || reset === null || !/^\d+$/.test(reset))
    return null;
  return Math.max(0, Number(reset) * 1000 - nowMs);
}

function headerOf(refusal: Refusal, name: string): string | null {
  const value = refusal.headers[name];
  return value === undefined || String(value).trim() === "" ? null : String(value).trim();
}

/** GitHub's own sentence with the details of a validation error, bounded. */
function wordsOf(body: unknown): string {
  const words = typeof body === "object" && body !== null ? sentencesOf(body) : String(body ?? "");
  return words.replace(/\s+/g, " ").trim().slice(0, MAX_WORDS);
}

function sentencesOf(body: object): string {
  const message = "message" in body && typeof body.message === "string" ? body.message : "";
  const errors = "errors" in body && Array.isArray(body.errors) ? body.errors : [];
  const details = errors.map((entry: unknown) => detailOf(entry)).filter((text) => text !== "");
  return details.length === 0 ? message : `${message} (${details.join("; ")})`;
}

function detailOf(entry: unknown): string {
  if (typeof entry === "string") return entry;
  if (typeof entry !== "object" || entry === null) return "";
  if ("message" in entry && typeof entry.message === "string") return entry.message;
  const parts = [
    "resource" in entry ? entry.resource : "",
    "field" in entry ? entry.field : "",
    "code" in entry ? entry.code : "",
  ];
  return parts.filter((part) => typeof part === "string" && part !== "").join(" ");
}

/** No usable answer came: the request may or may not have had its effect. */
export function unreachable(message: string): GitHubFailure {
  return { code: "unreachable", status: null, message, retryAfterMs: null };
}

export function cancelled(): GitHubFailure {
  return { code: "cancelled", status: null, message: "The call was cancelled.", retryAfterMs: null };
}
