/** The doctor's lines about what lies outside this machine: the GitHub app and the model. */

import { deadline, systemClock } from "#src/base/clock.ts";
import { createRedactor } from "#src/base/redact.ts";
import { messageOf } from "#src/base/result.ts";
import { type Config, secretsOf } from "#src/config/config.ts";
import { processEnvironment } from "#src/config/environment.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import type { ProbeLine } from "#src/sandbox/sandbox.ts";
import { createLog, toStandardError } from "./logger.ts";
import { proxiedFetch } from "./proxied-fetch.ts";

const MODEL_WAIT_MS = 15_000;
/** The version that Anthropic's package sends. */
const ANTHROPIC_VERSION = "2026-10-21";

/** Asks GitHub who the app is. */
export async function credentialsLine(config: Config): Promise<ProbeLine> {
  const name = "GitHub app";
  const { credentials, apiUrl } = config.github;
  if (credentials === null)
    return { name, holds: false, detail: "no credentials yet: run npm start and open the page it prints" };
  const redactor = createRedactor(secretsOf(config));
  const log = createLog("silent", redactor, toStandardError);
  const { appId, privateKey } = credentials;
  const app = createGitHubApp({
    appId,
    privateKey,
    baseUrl: apiUrl,
    fetch: proxiedFetch(processEnvironment()),
    clock: systemClock,
    redactor,
    log,
  });
  const identity = await app.identity();
  if (identity.ok)
    return {
      name,
      holds: true,
      detail: `${identity.value.slug}, owned by ${identity.value.owner ?? "an unknown account"}`,
    };
  return {
    name,
    holds: false,
    detail: `${identity.error.message}: check APP_ID, the private key${apiUrl.includes("api.github.com") ? "" : ", GHE_HOST"} and the network`,
  };
}

/** Asks the model server for its models, which costs nothing. */
export async function modelLine(config: Config): Promise<ProbeLine> {
  const { api, baseUrl, apiKey, id } = config.model;
  const name = `model ${id}`;
  const anthropic = api === "anthropic";
  const vendor = anthropic ? "ANTHROPIC" : "OPENAI";
  try {
    const response = await fetch(anthropic ? `${baseUrl}/v1/models` : `${baseUrl}/models`, {
      headers: {
        ...(apiKey === null ? {} : keyHeader(apiKey, anthropic)),
        ...(anthropic ? { "anthropic-version": ANTHROPIC_VERSION } : {}),
      },
      signal: deadline(systemClock, MODEL_WAIT_MS),
    });
    await response.body?.cancel();
    if (response.status === 401 || response.status === 403)
      return {
        name,
        holds: false,
        detail: `the server refuses the key (${response.status}): check ${vendor}_API_KEY`,
      };
    // Some servers list no models; that they answer is what counts.
    return { name, holds: response.status < 500, detail: `${baseUrl} answers (${response.status})` };
  } catch (error) {
    return {
      name,
      holds: false,
      detail: `${baseUrl} cannot be reached (${messageOf(error)}): check ${vendor}_BASE_URL and the network`,
    };
  }
}

/** Each vendor's own way; Anthropic takes a bearer only from its OAuth tokens. */
function keyHeader(apiKey: string, anthropic: boolean): Readonly<Record<string, string>> {
  return anthropic ? { "x-api-key": apiKey } : { authorization: `Bearer ${apiKey}` };
}
