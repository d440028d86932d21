/** The client of the `openai` package, for both of its APIs: nothing from the environment, no retries, no time limit of its own. */

import type OpenAI from "openai";
import type { ProviderOptions } from "./provider.ts";
import { createPatientFetch, NO_TIMEOUT_MS } from "./transport.ts";

/**
 * The client, made on its first use: loading the package takes a tenth of a second and 30 MB that a program without a
 * request to this API does not need. What the package would read from the environment is given here.
 */
export function openAiClient({
  baseUrl,
  apiKey,
}: Pick<ProviderOptions, "baseUrl" | "apiKey">): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | null = null;
  const make = async () => {
    const { default: Client } = await import("openai");
    return new Client({
      baseURL: baseUrl,
      apiKey: apiKey ?? "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      maxRetries: 0,
      timeout: NO_TIMEOUT_MS,
      logLevel: "off",
      fetch: createPatientFetch(),
      ...(apiKey === null ? { defaultHeaders: { Authorization: null } } : {}),
    });
  };
  return () => {
    client ??= make();
    return client;
  };
}

/**
 * Sends JSON text to a path below the base URL and resolves with the raw answer. Not by the package's method for the path: that
 * one calls a function for every member of the body while it writes it, which costs more than all else in a long transcript.
 */
export function postJson(client: OpenAI, path: string, text: string, signal: AbortSignal): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return client.post(path, { body: text, headers, stream: true, signal }).asResponse();
}
