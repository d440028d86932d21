/** Who may use the set-up page: a one-time code with an attempt limit, and the `state` that is bound to it. Pure but for its counters. */

import { timingSafeEqual } from "node:crypto";
import { sha256 } from "#src/base/canonical-json.ts";
import type { Ids } from "#src/base/ids.ts";

const CODE_BYTES = 20;
const MAX_ATTEMPTS = 10;

export interface SetupSession {
  /** 160 random bits as hex, to be shown in the operator's terminal only. */
  readonly code: string;
  /** `locked` after ten wrong codes: only a restart makes a new one. */
  check(code: string): "ok" | "wrong" | "locked";
  /** The `state` to send along to GitHub; a later one replaces it. Only for someone whose code was right. */
  issueState(): string;
  /** True once for the newest state. */
  redeemState(state: string): boolean;
}

export function createSetupSession(ids: Ids): SetupSession {
  const code = ids.hex(CODE_BYTES);
  let wrong = 0;
  let state: string | null = null;
  return {
    code,
    check: (given) => {
      if (wrong >= MAX_ATTEMPTS) return "locked";
      if (equal(given, code)) return "ok";
      wrong++;
      return "wrong";
    },
    issueState: () => {
      state = ids.hex(CODE_BYTES);
      return state;
    },
    redeemState: (given) => {
      const right = state !== null && equal(given, state);
      if (right) state = null;
      return right;
    },
  };
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function equal(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a), "hex"), Buffer.from(sha256(b), "hex"));
}
