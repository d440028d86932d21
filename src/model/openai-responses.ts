/** The Model adapter for the Responses API of OpenAI and of the servers that copy it. */

import { bodyText } from "./body-text.ts";
import type { Model } from "./model.ts";
import { openAiClient, postJson } from "./openai-client.ts";
import { createProvider, type ProviderOptions } from "./provider.ts";
import { repairResponses, responsesBody } from "./responses-body.ts";
import { createResponsesAssembler } from "./responses-stream.ts";

/** `baseUrl` goes up to and including the version, e.g. `https://api.openai.com/v1`. */
export function createOpenAiResponses(options: ProviderOptions): Model {
  const client = openAiClient(options);
  const { modelId, parameters = {} } = options;
  return createProvider(options, {
    name: "a Responses API",
    body: (request, quirks) => responsesBody(request, { modelId, quirks, parameters }),
    send: async (body, signal) => postJson(await client(), "/responses", bodyText(body), signal),
    assemble: (known) => createResponsesAssembler({ ...known, modelId }),
    repair: repairResponses,
  });
}
