/** The Model adapter for chat completions, OpenAI's and every compatible server's. */

import type OpenAI from "openai";
import { createAssembler } from "./assemble.ts";
import { repairChat } from "./chat-quirks.ts";
import type { Model } from "./model.ts";
import { openAiClient } from "./openai-client.ts";
import { createProvider, type ProviderOptions } from "./provider.ts";
import { requestBody } from "./wire.ts";

/** `baseUrl` goes up to and including the version, e.g. `https://api.openai.com/v1`. */
export function createOpenAiChat(options: ProviderOptions): Model {
  const client = openAiClient(options);
  const { modelId, parameters = {} } = options;
  return createProvider(options, {
    name: "a chat-completions API",
    body: (request, quirks) => requestBody(request, { modelId, quirks, parameters }),
    send: async (body, signal) => {
      // The package's types know OpenAI's own members only; ours were built for whatever endpoint this is.
      const wire = body as unknown as OpenAI.ChatCompletionCreateParamsStreaming;
      return (await client()).chat.completions.create(wire, { signal }).asResponse();
    },
    assemble: createAssembler,
    repair: repairChat,
  });
}
