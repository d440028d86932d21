/** Sends one call to GitHub: time limit, cancel, one renewed token after a 401, bounded waits, failures as values. */

import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { cancelled, failureOf, unreachable } from "./failures.ts";
import type { GitHubFailure, GitHubResult } from "./github.ts";
import { createLimits, type Limits } from "./limits.ts";
import { isTooLong, nextWait, type Progress } from "./waits.ts";

/** What each Octokit request is given besides its own parameters. */
export interface SendOptions {
  readonly headers: { readonly authorization: string; readonly "x-github-api-version": string };
  readonly request: { readonly signal: AbortSignal };
}

export interface Answer<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | undefined>>;
  readonly data: T;
}

export interface Call<T, R> {
  /** Reads are sent again after server and network failures; writes are not. */
  readonly kind: "read" | "write";
  /** Whose rate limit it counts against: the app's, or an installation's. */
  readonly budget: string;
  readonly signal: AbortSignal | undefined;
  /** The Authorization header; `refused` is the header that a 401 came back for. */
  readonly authorize: (refused: string | null) => GitHubResult<string>;
  readonly send: (options: SendOptions) => Promise<Answer<T>>;
  /** Takes what is needed out of the answer; a throw is reported as an answer of unexpected shape. */
  readonly shape: (data: T, answer: Answer<T>) => R;
}

/** Runs one call; never rejects. */
export type Sender = <T, R>(call: Call<T, R>) => GitHubResult<R>;

/** GitHub answers within seconds or not at all. */
export const TIME_LIMIT_MS = 30_000;
const API_VERSION = "2022-11-28";

export function createSender(parts: {
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
}): Sender {
  const { clock, redactor, log } = parts;
  const limits = createLimits(clock);
  return async <T, R>(call: Call<T, R>) => {
    let progress: Progress = { kind: call.kind, broken: 0, limited: 0, limitWaitMs: 0 };
    let refused: string | null = null;
    for (;;) {
      const held = limits.waitOf(call.budget);
      if (isTooLong(held, progress)) return err(heldBack(held));
      if (held > 0) {
        progress = { ...progress, limitWaitMs: progress.limitWaitMs + held };
        if (!(await slept(clock, held, call.signal))) return err(cancelled());
      }
      const tried: Result<R, Failed> = await attempt(call, refused, { clock, limits });
      if (tried.ok) return tried;
      const failure = redacted(tried.error.failure, redactor);
      if (failure.code === "unauthorized" && refused === null && tried.error.authorization !== null) {
        refused = tried.error.authorization;
        continue;
      }
      // A failure to get a token was already waited for by the call that asked for it.
      if (tried.error.authorization === null) return err(failure);
      progress = counted(progress, failure);
      const wait = nextWait(failure, progress);
      const limitMs = failure.code === "rate_limited" ? (wait ?? failure.retryAfterMs ?? 0) : 0;
      limits.note(call.budget, limitMs);
      if (wait === null) return err(failure);
      log.warn({ code: failure.code, status: failure.status, waitMs: wait }, "GitHub call is tried again");
      // The next turn waits, as every other call on that budget does.
      if (limitMs > 0) continue;
      if (!(await slept(clock, wait, call.signal))) return err(cancelled());
    }
  };
}

interface Failed {
  readonly failure: GitHubFailure;
  /** Null: no token, so nothing was sent. */
  readonly authorization: string | null;
}

async function attempt<T, R>(
  call: Call<T, R>,
  refused: string | null,
  parts: SendParts,
): Promise<Result<R, Failed>> {
  if (call.signal?.aborted) return err({ failure: cancelled(), authorization: null });
  const token = await unlessAborted(call.authorize(refused), call.signal);
  if (!token.ok) return err({ failure: token.error, authorization: null });
  const sent = await sendOnce(call, token.value, parts);
  return sent.ok ? sent : err({ failure: sent.error, authorization: token.value });
}

interface SendParts {
  readonly clock: Clock;
  readonly limits: Limits;
}

async function sendOnce<T, R>(
  call: Call<T, R>,
  authorization: string,
  { clock, limits }: SendParts,
): GitHubResult<R> {
  const controller = new AbortController();
  let timedOut = false;
  const stopTimer = clock.timer(TIME_LIMIT_MS, () => {
    timedOut = true;
    controller.abort();
  });
  const onAbort = () => controller.abort();
  call.signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const answer = await call.send({
      headers: { authorization, "x-github-api-version": API_VERSION },
      request: { signal: controller.signal },
    });
    limits.read(call.budget, answer.headers);
    return shaped(call, answer);
  } catch (error) {
    if (call.signal?.aborted) return err(cancelled());
    if (timedOut) return err(unreachable(`GitHub did not answer within ${TIME_LIMIT_MS / 1000} s.`));
    return err(failureOfThrown(error, clock.now()));
  } finally {
    stopTimer();
    call.signal?.removeEventListener("abort", onAbort);
  }
}

/** Octokit hands over the text of a JSON answer that was cut off as if it were the data, so that is looked at first. */
function shaped<T, R>(call: Call<T, R>, answer: Answer<T>): Result<R, GitHubFailure> {
  const empty = answer.status === 204 || answer.status === 205;
  if (!empty && (typeof answer.data !== "object" || answer.data === null))
    return err(unreachable("GitHub's answer was cut off, or something between here and GitHub answered."));
  try {
    return ok(call.shape(answer.data, answer));
  } catch (error) {
    return err({
      code: "server_error",
      status: answer.status,
      message: `GitHub's answer has an unexpected shape: ${messageOf(error)}`,
      retryAfterMs: null,
    });
  }
}

/** Octokit throws an error with `response` for an answered refusal, and one without for a network failure (status 500 then means nothing). */
function failureOfThrown(error: unknown, nowMs: number): GitHubFailure {
  const answered = answerOf(error);
  if (answered !== null) return failureOf(answered, nowMs);
  const why = messageOf(error);
  const remedy = UNTRUSTED.test(why)
    ? ". Set NODE_EXTRA_CA_CERTS to the file with the certificate authority (PEM) that signed it"
    : "";
  return unreachable(`GitHub could not be reached: ${why}${remedy}`);
}

const UNTRUSTED =
  /self-signed certificate|unable to (verify the first certificate|get (local )?issuer certificate)/i;

function answerOf(error: unknown): Parameters<typeof failureOf>[0] | null {
  if (typeof error !== "object" || error === null || !("response" in error)) return null;
  const { response } = error;
  if (typeof response !== "object" || response === null || !("status" in response)) return null;
  const headers = "headers" in response && typeof response.headers === "object" ? response.headers : {};
  return {
    status: Number(response.status),
    headers: { ...headers },
    body: "data" in response ? response.data : null,
  };
}

/** Nothing was sent: the limit that another call met holds for longer than a call may wait. */
function heldBack(waitMs: number): GitHubFailure {
  const minutes = Math.ceil(waitMs / 60_000);
  return {
    code: "rate_limited",
    status: null,
    message: `GitHub's rate limit is used up for about ${minutes} more minute${minutes === 1 ? "" : "s"}; nothing was sent.`,
    retryAfterMs: waitMs,
  };
}

function counted(progress: Progress, failure: GitHubFailure): Progress {
  return failure.code === "rate_limited"
    ? { ...progress, limited: progress.limited + 1 }
    : { ...progress, broken: progress.broken + 1 };
}

function redacted(failure: GitHubFailure, redactor: Redactor): GitHubFailure {
  return { ...failure, message: redactor.redact(failure.message) };
}

async function slept(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch {
    return false; // Only an abort rejects a sleep.
  }
}

/** A token being minted may be shared with other calls, so a cancel leaves it running and only stops waiting for it. */
async function unlessAborted<T>(pending: GitHubResult<T>, signal: AbortSignal | undefined): GitHubResult<T> {
  if (signal === undefined) return pending;
  let onAbort = () => undefined as undefined;
  const aborted = new Promise<Result<T, GitHubFailure>>((resolve) => {
    onAbort = () => {
      resolve(err(cancelled()));
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([pending, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
