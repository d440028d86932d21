/** The GitHub port over Octokit: app authentication, tokens narrowed to one repository and one phase, own retries. */

import { Octokit } from "@octokit/rest";
import signAppJwt from "universal-github-app-jwt";
import type { Clock } from "#src/base/clock.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok } from "#src/base/result.ts";
import { appCalls } from "./app-calls.ts";
import { type CallContext, createCaller } from "./calls.ts";
import { gitCalls } from "./git-calls.ts";
import type { GitHub, GitHubResult } from "./github.ts";
import type { GitHubApp } from "./github-app.ts";
import { issueCalls } from "./issue-calls.ts";
import { APP_BUDGET, createMint, installationPermissions } from "./mint.ts";
import { pullCalls } from "./pull-calls.ts";
import { createReaches } from "./reach.ts";
import { relatedCalls } from "./related-calls.ts";
import { createSender } from "./requests.ts";
import { reviewCalls } from "./review-calls.ts";
import { searchCalls } from "./search-calls.ts";
import { standingOf } from "./standing.ts";
import { createTokens, type TokenScope } from "./tokens.ts";

export interface GitHubAppOptions {
  /** The app's numeric id. */
  readonly appId: number;
  /** PEM, PKCS#1 or PKCS#8; line breaks may be written as `\n`. */
  readonly privateKey: string;
  /** The API's root without a trailing slash: `https://api.github.com`, or `https://HOST/api/v3` for GHES. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly userAgent?: string;
  /** In place of Node's own, e.g. one that goes through a proxy. */
  readonly fetch?: typeof fetch | null;
}

/** No request is sent before the first call; no call rejects. */
export function createGitHubApp(options: GitHubAppOptions): GitHubApp {
  const { clock, redactor, log } = options;
  redactor.add(options.privateKey);
  const octokit = new Octokit({
    baseUrl: options.baseUrl,
    userAgent: options.userAgent ?? "agent-fix",
    log: octokitLog(log),
    ...(options.fetch ? { request: { fetch: options.fetch } } : {}),
  });
  const send = createSender({ clock, redactor, log });
  const asApp = () => appAuthorization(options);
  const mintParts = { octokit, send, asApp, redactor, clock };
  const tokens = createTokens(clock, createMint(mintParts));
  const callsAsApp = createCaller(send, { authorize: asApp, signal: undefined, budget: APP_BUDGET });
  const identity = createIdentity(callsAsApp, octokit);
  const reaches = createReaches(clock, tokens.forgetAll);
  const { lost, regained, located, placeOf } = reaches;

  /** A token, unless GitHub said that there is nothing to be done there; what it says now is remembered. */
  const tokenFor = async (scope: TokenScope, refused: string | null): GitHubResult<string> => {
    const refusal = reaches.refusal(scope);
    if (refusal !== null) return err(refusal);
    const minted = await tokens.get(scope, refused);
    if (minted.ok) return ok(minted.value.token);
    if (minted.error.code === "suspended") lost({ ...scope, repositoryId: null }, "suspended");
    return minted;
  };
  const authorizer = (scope: TokenScope) => async (refused: string | null) => {
    const token = await tokenFor(scope, refused?.replace(/^token /, "") ?? null);
    return token.ok ? ok(`token ${token.value}`) : token;
  };

  const asWhole = appCalls({
    octokit,
    asApp: callsAsApp,
    asInstallation: (installationId) =>
      createCaller(send, {
        authorize: authorizer({ installationId, repositoryId: null, purpose: "list" }),
        signal: undefined,
        budget: String(installationId),
      }),
  });

  return {
    identity,
    lost,
    regained,
    located,
    placeOf,
    ...asWhole,
    standing: (reach) =>
      standingOf({ octokit, asApp: callsAsApp, lost, regained, repositories: asWhole.repositories }, reach),
    repository: (installationId, repo, phase, signal) => {
      const { owner, name } = placeOf(repo.id) ?? repo;
      const authorize = authorizer({ installationId, repositoryId: repo.id, purpose: phase });
      const context: CallContext = {
        octokit,
        repo: { owner, repo: name },
        repositoryId: repo.id,
        identity,
        ...createCaller(send, { authorize, signal, budget: String(installationId) }),
      };
      return {
        ...issueCalls(context),
        ...gitCalls(context),
        ...pullCalls(context),
        ...reviewCalls(context),
        ...searchCalls(context),
        ...relatedCalls(context),
      } satisfies GitHub;
    },
    gitToken: async (installationId, repo, renew) => {
      const scope = { installationId, repositoryId: repo.id, purpose: "git" } as const;
      if (renew) tokens.forget(scope);
      return tokenFor(scope, null);
    },
    permissions: (installationId) => installationPermissions(mintParts, installationId),
  };
}

/** Answered once by GitHub and kept; a failure is not kept. */
function createIdentity(caller: ReturnType<typeof createCaller>, octokit: Octokit): GitHubApp["identity"] {
  let known: Awaited<ReturnType<GitHubApp["identity"]>> | null = null;
  return async () => {
    if (known !== null) return known;
    const answer = await caller.read(
      (send) => octokit.request("GET /app", { ...send }),
      (app) => {
        if (app === null) throw new TypeError("no app in the answer");
        const slug = app.slug ?? "";
        const owner = app.owner !== null && "login" in app.owner ? app.owner.login : null;
        return { appId: app.id, slug, botLogin: `${slug}[bot]`, owner };
      },
    );
    if (answer.ok) known = answer;
    return answer;
  };
}

/** A fresh JWT for each call: signing is cheap, and one that is kept could end between two calls. */
async function appAuthorization(options: GitHubAppOptions): GitHubResult<string> {
  try {
    const now = Math.floor(options.clock.now() / 1000);
    const { token } = await signAppJwt({ id: options.appId, privateKey: options.privateKey, now });
    return ok(`bearer ${token}`);
  } catch (error) {
    return err({
      code: "unauthorized",
      status: null,
      message: options.redactor.redact(
        `The app's private key cannot sign (${messageOf(error)}). Check PRIVATE_KEY or PRIVATE_KEY_PATH: it must be the whole PEM file that GitHub gave.`,
      ),
      retryAfterMs: null,
    });
  }
}

/** Octokit's own lines carry no bodies, but go to the console unless they are taken elsewhere. */
function octokitLog(log: Log) {
  const debug = (message: string) => log.debug({}, message);
  return { debug, info: debug, warn: debug, error: debug };
}
