/** The only door to randomness: run ids, delimiters, call ids and one-time codes. */

import { randomBytes, randomInt } from "node:crypto";

export interface Ids {
  /** A run id: 10 characters of time and 6 of chance in Crockford's base 32, lower case, so that ids sort by age. */
  runId(nowMs: number): string;
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string;
  /** A tool-call id of nine letters or digits, the only form every provider takes (FAULTS A22). */
  callId(): string;
  /** A number in [0, 1), for back-off jitter. */
  chance(): number;
}

const CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz";
const ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

function pick(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}

function crockfordTime(nowMs: number): string {
  let rest = nowMs;
  let text = "";
  for (let place = 0; place < 10; place++) {
    text = CROCKFORD[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

export const systemIds: Ids = {
  runId: (nowMs) => crockfordTime(nowMs) + pick(CROCKFORD, 6),
  hex: (bytes) => randomBytes(bytes).toString("hex"),
  callId: () => pick(ALPHANUMERIC, 9),
  chance: () => randomInt(2 ** 32) / 2 ** 32,
};
