/** Scripts for the scripted model server, as lists of turns; stateless, so that a restarted server meets the same model. */

import type { WireMessage } from "#src/demo/model-protocol.ts";
import type { ModelScript, ServedTurn } from "#src/demo/model-server.ts";

/** Plays `turns` by the number of replies the transcript already holds; the last one for all that follow. */
export function byTurns(...turns: readonly ServedTurn[]): ModelScript {
  return (messages) => {
    const said = messages.filter((message) => message.role === "assistant").length;
    return turns[Math.min(said, turns.length - 1)] ?? { text: "Nothing to say." };
  };
}

/** Chooses the script whose key is part of the first user message (put it into the issue's title); `otherwise` when there is none. */
export function byIssue(scripts: Readonly<Record<string, ModelScript>>, otherwise: ModelScript): ModelScript {
  return (messages, tools) => {
    const task = taskOf(messages);
    const key = Object.keys(scripts).find((word) => task.includes(word));
    return ((key === undefined ? undefined : scripts[key]) ?? otherwise)(messages, tools);
  };
}

export function taskOf(messages: readonly WireMessage[]): string {
  return messages.find((message) => message.role === "user")?.content ?? "";
}

/** A turn of one tool call. */
export function call(name: string, args: Readonly<Record<string, unknown>>): ServedTurn {
  return { calls: [{ name, args }] };
}

/** A turn that says its text and ends the work. */
export function say(text: string): ServedTurn {
  return { text };
}

/** A turn that says something and then nothing more, until the client goes away. */
export const HANG: ServedTurn = { text: "Let me think", hang: true };
