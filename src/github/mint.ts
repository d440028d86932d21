/** Mints an installation token for one repository and one purpose, and names the permission when GitHub refuses. */

import type { Octokit } from "@octokit/rest";
import type { Clock } from "#src/base/clock.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err } from "#src/base/result.ts";
import type { GitHubFailure, GitHubResult } from "./github.ts";
import { missingPermissions, PERMISSIONS } from "./permissions.ts";
import type { Sender } from "./requests.ts";
import type { MintedToken, TokenScope } from "./tokens.ts";

export interface MintParts {
  readonly octokit: Octokit;
  readonly send: Sender;
  /** The Authorization header of the app itself. */
  readonly asApp: () => GitHubResult<string>;
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/** Calls as the app itself count against a limit of its own. */
export const APP_BUDGET = "app";

/** How long after its end a token is still kept out of texts: one may be written late, and clocks differ. */
const FORGET_AFTER_MS = 3_600_000;

/** The token is known to the redactor before anybody else sees it. A second token harms nobody, so minting counts as a read. */
export function createMint(parts: MintParts): (scope: TokenScope) => GitHubResult<MintedToken> {
  const { octokit, send, asApp, redactor, clock } = parts;
  let secret: readonly MintedToken[] = [];
  const forgetOld = () => {
    const isOver = ({ expiresAt }: MintedToken) => expiresAt + FORGET_AFTER_MS <= clock.now();
    for (const { token } of secret.filter(isOver)) redactor.forget(token);
    secret = secret.filter((minted) => !isOver(minted));
  };
  return async (scope) => {
    forgetOld();
    const minted = await send({
      kind: "read",
      signal: undefined,
      budget: APP_BUDGET,
      authorize: asApp,
      send: (options) =>
        octokit.request("POST /app/installations/{installation_id}/access_tokens", {
          installation_id: scope.installationId,
          ...(scope.repositoryId === null ? {} : { repository_ids: [scope.repositoryId] }),
          permissions: PERMISSIONS[scope.purpose],
          ...options,
        }),
      shape: (data) => {
        redactor.add(data.token);
        return toMinted(data);
      },
    });
    if (minted.ok) secret = [...secret, minted.value];
    if (minted.ok || minted.error.status !== 422) return minted;
    return err(await namedRefusal(parts, scope, minted.error));
  };
}

function toMinted(data: { readonly token: string; readonly expires_at: string }): MintedToken {
  const expiresAt = Date.parse(data.expires_at);
  if (data.token === "" || Number.isNaN(expiresAt)) throw new TypeError("no token in the answer");
  return { token: data.token, expiresAt };
}

/** GitHub's refusal of a narrowed token does not say which permission is missing; the installation's own list does. */
async function namedRefusal(
  parts: MintParts,
  scope: TokenScope,
  refusal: GitHubFailure,
): Promise<GitHubFailure> {
  const granted = await installationPermissions(parts, scope.installationId);
  if (!granted.ok) return refusal;
  const missing = missingPermissions(PERMISSIONS[scope.purpose], granted.value);
  if (missing.length === 0) return refusal;
  return {
    ...refusal,
    code: "permission_missing",
    message: `The app's installation lacks the permission ${missing.join(", ")}. Grant it in the app's settings on GitHub, then accept the change on the installation.`,
  };
}

/** What the installation grants, by its own page and not by a token's; GitHub leaves out what is not granted. */
export function installationPermissions(
  { octokit, send, asApp }: MintParts,
  installationId: number,
): GitHubResult<Readonly<Record<string, string>>> {
  return send({
    kind: "read",
    signal: undefined,
    budget: APP_BUDGET,
    authorize: asApp,
    send: (options) =>
      octokit.request("GET /app/installations/{installation_id}", {
        installation_id: installationId,
        ...options,
      }),
    shape: (installation): Readonly<Record<string, string>> => ({ ...installation.permissions }),
  });
}
