/** Chooses the model's adapter by the protocol the operator named. */

import type { ModelConfig } from "#src/config/config.ts";
import { createAnthropicMessages } from "#src/model/anthropic-messages.ts";
import type { Model } from "#src/model/model.ts";
import { createOpenAiChat } from "#src/model/openai-chat.ts";
import { createOpenAiResponses } from "#src/model/openai-responses.ts";
import type { ProviderOptions } from "#src/model/provider.ts";
import { createTextProtocol } from "#src/model/text-protocol.ts";

const ADAPTERS: Readonly<Record<ModelConfig["api"], (options: ProviderOptions) => Model>> = {
  chat: createOpenAiChat,
  responses: createOpenAiResponses,
  anthropic: createAnthropicMessages,
};

/** One adapter for each model's name, so that what it learns of its server's ways outlives a run. */
export function createModels(
  { api, baseUrl, apiKey, toolProtocol, idleTimeoutMs }: ModelConfig,
  { clock, ids, redactor, log }: Pick<ProviderOptions, "clock" | "ids" | "redactor" | "log">,
): (modelId: string) => Model {
  const models = new Map<string, Model>();
  return (modelId) => {
    const known = models.get(modelId);
    if (known !== undefined) return known;
    const native = ADAPTERS[api]({ baseUrl, apiKey, modelId, clock, ids, redactor, log, idleTimeoutMs });
    const model = toolProtocol === "text" ? createTextProtocol(native, ids) : native;
    models.set(modelId, model);
    return model;
  };
}
