/** Who is calling the embedded GitHub, and whether that caller may do this to that repository. */

import { createPublicKey, verify } from "node:crypto";
import { notAccessible, notFound, refuse } from "./answers.ts";
import { isObject } from "./json.ts";
import type { AccessToken, App, Repository, State } from "./state.ts";

export type Caller =
  | { readonly kind: "anonymous" }
  | { readonly kind: "app"; readonly app: App }
  | { readonly kind: "installation"; readonly token: AccessToken };

/** Alternatives: any one of them is enough. */
export type Needs = readonly (readonly [permission: string, level: "read" | "write"])[];

/** GitHub takes JWTs of ten minutes at most and forgives a minute of clock difference. */
const MAX_JWT_S = 600;
const CLOCK_SLACK_S = 60;

/** From an Authorization header (`token`, `bearer` or Basic with the token as the password); throws a 401 for what is not valid now. */
export function identify(state: State, header: string | undefined, nowMs: number): Caller {
  if (header === undefined || header === "") return { kind: "anonymous" };
  const credential = credentialOf(header);
  if (credential.split(".").length === 3) return { kind: "app", app: appOfJwt(state, credential, nowMs) };
  const token = state.tokens.get(credential);
  if (token === undefined || token.revoked || token.expiresAt <= nowMs) throw refuse(401, "Bad credentials");
  return { kind: "installation", token };
}

function credentialOf(header: string): string {
  const [scheme = "", value = ""] = header.split(/\s+/);
  if (scheme.toLowerCase() !== "basic") return value;
  const decoded = Buffer.from(value, "base64").toString("utf8");
  return decoded.slice(decoded.indexOf(":") + 1);
}

function appOfJwt(state: State, jwt: string, nowMs: number): App {
  const [head = "", claimsText = "", signature = ""] = jwt.split(".");
  const claims = parsed(claimsText);
  const app = isObject(claims) ? state.apps.get(Number(claims.iss)) : undefined;
  if (app === undefined || !isObject(claims)) throw refuse(401, "A JSON web token could not be decoded");
  const genuine = verify(
    "RSA-SHA256",
    Buffer.from(`${head}.${claimsText}`),
    createPublicKey(app.publicKey),
    Buffer.from(signature, "base64url"),
  );
  if (!genuine) throw refuse(401, "A JSON web token could not be decoded");
  const now = nowMs / 1000;
  const [issuedAt, expiresAt] = [Number(claims.iat), Number(claims.exp)];
  if (!(issuedAt <= now + CLOCK_SLACK_S))
    throw refuse(
      401,
      "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
    );
  if (!(expiresAt > now))
    throw refuse(
      401,
      "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    );
  if (expiresAt > now + MAX_JWT_S + CLOCK_SLACK_S)
    throw refuse(401, "'Expiration time' claim ('exp') is too far in the future");
  return app;
}

function parsed(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}

/** True when the token was made for this repository and its installation still has it. */
export function coversRepository(token: AccessToken, repository: Repository): boolean {
  const { installation } = token;
  if (!installation.repositoryIds.has(repository.id)) return false;
  return token.repositoryIds === null || token.repositoryIds.includes(repository.id);
}

/**
 * Throws what GitHub answers: 404 for a private repository the caller cannot see, 401 for anonymous writes, 403 with the
 * permissions that would do. What a token was not made for is as good as public.
 */
export function requireAccess(caller: Caller, repository: Repository, needs: Needs): void {
  const onlyReads = needs.every(([, level]) => level === "read");
  if (caller.kind === "app") throw refuse(401, "A JSON web token cannot be used for this endpoint");
  if (caller.kind === "anonymous" || !coversRepository(caller.token, repository)) {
    if (repository.private) throw notFound();
    if (onlyReads) return;
    throw caller.kind === "anonymous"
      ? refuse(401, "Requires authentication")
      : notAccessible(spelled(needs));
  }
  if (caller.token.installation.suspension !== null)
    throw refuse(403, "This installation has been suspended");
  if (repository.archived && !onlyReads) throw refuse(403, "Repository was archived so is read-only.");
  const enough = needs.some(([name, level]) => allows(caller.token.permissions, name, level));
  if (!enough) throw notAccessible(spelled(needs));
}

/** Write includes read. */
export function allows(
  granted: Readonly<Record<string, string>>,
  name: string,
  level: "read" | "write",
): boolean {
  const has = granted[name];
  return has === "write" || has === "admin" || (level === "read" && has === "read");
}

function spelled(needs: Needs): string {
  return needs.map(([name, level]) => `${name}=${level}`).join("; ");
}
