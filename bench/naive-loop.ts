/** The floor of `turns.ts`: the smallest loop that does the same job over the same wire, and nothing for safety, record or restart. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

interface Chunk {
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly {
        readonly id?: string;
        readonly function: { name?: string; arguments?: string };
      }[];
    };
  }[];
}

interface Called {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

async function ask(url: string, body: object): Promise<{ content: string; call: Called | null }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  let rest = "";
  let content = "";
  let call: Called | null = null;
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "data: [DONE]") continue;
      const delta = (JSON.parse(line.slice(6)) as Chunk).choices[0]?.delta;
      content += delta?.content ?? "";
      for (const piece of delta?.tool_calls ?? []) {
        call ??= { id: piece.id ?? "", name: piece.function.name ?? "", arguments: "" };
        call.arguments += piece.function.arguments ?? "";
      }
    }
  }
  return { content, call };
}

/** Reads files until the model calls nothing more; answers with the tool's bare time of each turn, in ms. */
export async function naiveLoop(options: {
  readonly url: string;
  readonly workspace: string;
  readonly system: string;
  readonly tools: readonly object[];
  readonly task: string;
}): Promise<readonly number[]> {
  const { url, workspace, system, tools, task } = options;
  const messages: object[] = [
    { role: "system", content: system },
    { role: "user", content: task },
  ];
  const toolMs: number[] = [];
  for (;;) {
    const { content, call } = await ask(url, { model: "bench", messages, tools, stream: true });
    if (call === null) return toolMs;
    const { id, name } = call;
    const tool_calls = [{ id, type: "function", function: { name, arguments: call.arguments } }];
    messages.push({ role: "assistant", content, tool_calls });
    const startedAt = performance.now();
    const { path } = JSON.parse(call.arguments) as { path: string };
    const lines = (await readFile(join(workspace, path), "utf8")).split("\n").slice(0, 200);
    const text = lines.map((line, n) => `${n + 1}\t${line}`).join("\n");
    toolMs.push(performance.now() - startedAt);
    messages.push({ role: "tool", tool_call_id: id, content: text });
  }
}
