/** The Model adapter for Anthropic's Messages API, over the client of Anthropic's own package. */

import type Anthropic from "@anthropic-ai/sdk";
import { anthropicBody, repairAnthropic } from "./anthropic-body.ts";
import { createAnthropicAssembler } from "./anthropic-stream.ts";
import type { Model } from "./model.ts";
import { createProvider, type ProviderOptions } from "./provider.ts";
import { createPatientFetch, NO_TIMEOUT_MS } from "./transport.ts";

/** `baseUrl` is without the version, e.g. `https://api.anthropic.com`. */
export function createAnthropicMessages(options: ProviderOptions): Model {
  const client = anthropicClient(options);
  const { modelId, parameters = {} } = options;
  return createProvider(options, {
    name: "a Messages API, without its /v1",
    body: (request, quirks) => anthropicBody(request, { modelId, quirks, parameters }),
    // Not `messages.create`: it prints a warning for models that are to be retired.
    send: async (body, signal) =>
      (await client()).post("/v1/messages", { body, signal, stream: true }).asResponse(),
    assemble: (known) => createAnthropicAssembler({ ...known, modelId }),
    repair: repairAnthropic,
  });
}

/**
 * The client, made on its first use, as loading the package takes a tenth of a second and 30 MB. What the package would read from
 * the environment, from a profile in the home directory, or send to a tracer is given or switched off here. Its own reader of
 * streams is not used: it ends without an error when a stream is closed early, and drops events without a name, errors too.
 */
function anthropicClient({
  baseUrl,
  apiKey,
}: Pick<ProviderOptions, "baseUrl" | "apiKey">): () => Promise<Anthropic> {
  let client: Promise<Anthropic> | null = null;
  const make = async () => {
    const { default: Client } = await import("@anthropic-ai/sdk");
    return new Client({
      baseURL: baseUrl,
      // Without any key the package would look for credentials by itself.
      apiKey: apiKey ?? "none",
      webhookKey: null,
      openTelemetry: false,
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
