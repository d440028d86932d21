/** The Model adapter for the Responses API of OpenAI and of the servers that copy it. */

import type OpenAI from "openai";
import type { Model } from "./model.ts";
import { openAiClient } from "./openai-client.ts";
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
    send: async (body, signal) => {
      const wire = body as unknown as OpenAI.Responses.ResponseCreateParamsStreaming;
      return (await client()).responses.create(wire, { signal }).asResponse();
    },
    assemble: (known) => createResponsesAssembler({ ...known, modelId }),
    repair: repairResponses,
  });
}
