/** The record of what was asked of the embedded GitHub's REST interface and what it answered. */

import type { Json } from "#src/base/canonical-json.ts";
import type { Caller } from "./access.ts";

export interface Exchange {
  readonly method: string;
  /** Without `/api/v3` and query, still encoded. */
  readonly path: string;
  /** The template of the route that answered; null when there is none. */
  readonly template: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly requestBody: Json | undefined;
  /** Lower-case names; the Authorization header is left out. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly caller: CallerRecord;
  readonly status: number;
  readonly responseBody: Json | undefined;
  /** True when a planned fault made the answer (or kept it back). */
  readonly faulted: boolean;
}

/** Who called, without any secret: for a token what it was made for. */
export type CallerRecord =
  | { readonly kind: "anonymous" | "app" | "refused" }
  | {
      readonly kind: "installation";
      readonly installationId: number;
      readonly repositoryIds: readonly number[] | null;
      readonly permissions: Readonly<Record<string, string>>;
    };

/** Null: the credentials were not valid. */
export function callerRecord(caller: Caller | null): CallerRecord {
  if (caller === null) return { kind: "refused" };
  if (caller.kind !== "installation") return { kind: caller.kind };
  const { installation, repositoryIds, permissions } = caller.token;
  return { kind: "installation", installationId: installation.id, repositoryIds, permissions };
}
