/** The Model adapter for chat completions, OpenAI's and every compatible server's. */

import { createAssembler } from "./assemble.ts";
import { bodyText } from "./body-text.ts";
import { repairChat } from "./chat-quirks.ts";
import type { Model } from "./model.ts";
import { openAiClient, postJson } from "./openai-client.ts";
import { createProvider, type ProviderOptions } from "./provider.ts";
import { requestBody } from "./wire.ts";

/** `baseUrl` goes up to and including the version, e.g. `https://api.openai.com/v1`. */
export function createOpenAiChat(options: ProviderOptions): Model {
  const client = openAiClient(options);
  const { modelId, parameters = {} } = options;
  return createProvider(options, {
    name: "a chat-completions API",
    body: (request, quirks) => requestBody(request, { modelId, quirks, parameters }),
    send: async (body, signal) => postJson(await client(), "/chat/completions", bodyText(body), signal),
    assemble: createAssembler,
    repair: repairChat,
  });
}
