/** Shows what the agent does as it does it: the model's words, each call and its result as a line, retries, and what a turn cost. */

import type { Spent } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { count, dollars, duration, oneLine } from "#src/trace/plain.ts";
import { callText } from "#src/trace/render-lines.ts";
import type { Screen, Style } from "./screen.ts";

type EventOf<T extends HarnessEvent["type"]> = Extract<HarnessEvent, { type: T }>;

const INSET = "↳ ";

/** For `FixPorts.watchAgent`. */
export function createAgentView(
  screen: Screen,
  redact: (text: string) => string,
): (spent: Spent) => (event: HarnessEvent) => void {
  return (spent) => {
    let costUsd = spent.costUsd;
    let streamed = false;
    if (spent.turns > 0)
      screen.line(`The agent goes on after ${turnsText(spent.turns)} (${moneyText(costUsd)}).`, "bold");
    return (event) => {
      if (isPaid(event)) costUsd = addCost(costUsd, event);
      show(screen, redactedCall(event, redact), costUsd);
      if (event.type === "retry" && streamed)
        screen.line("What it said since it was asked is void; it begins again.", "bad");
      streamed = event.type === "text" || event.type === "reasoning" || (streamed && event.type === "nested");
    };
  };
}

/** Arguments are cut one by one: what is secret in them must be gone before that. */
function redactedCall(event: HarnessEvent, redact: (text: string) => string): HarnessEvent {
  if (event.type === "nested") return { ...event, event: redactedCall(event.event, redact) };
  return event.type === "call" ? { ...event, arguments: redact(event.arguments) } : event;
}

function isPaid(event: HarnessEvent): boolean {
  return event.type === "reply" || (event.type === "nested" && event.event.type === "reply");
}

function addCost(before: number | null, event: HarnessEvent): number | null {
  const reply = event.type === "nested" ? event.event : event;
  return before === null || reply.type !== "reply" || reply.costUsd === null ? null : before + reply.costUsd;
}

function show(screen: Screen, event: HarnessEvent, costUsd: number | null): void {
  if (event.type === "text" || event.type === "reasoning") {
    screen.piece(event.text, event.type === "text" ? "plain" : "dim");
    return;
  }
  const shown = lineOf(event, screen.width(), costUsd);
  if (shown !== null) screen.line(...shown);
}

type Shown = readonly [text: string, style: Style];

/** The line that stands for an event, before it is cut to the width; null: it has none. */
function lineOf(event: HarnessEvent, width: number, costUsd: number | null): Shown | null {
  switch (event.type) {
    case "retry":
      return [retryText(event), "bad"];
    case "reply":
      return [replyText(event, costUsd), "dim"];
    case "failed":
      return [`the model failed: ${event.failure.message}`, "bad"];
    case "call":
      return [`→ ${callText({ name: event.name, arguments: event.arguments }, width)}`, "bold"];
    case "result":
      return [resultText(event), event.status === "ok" ? "good" : "bad"];
    case "notice":
      return [`· the model is told: ${event.text}`, "dim"];
    case "stubbed":
    case "compacted":
      return [`· context ${event.type}: ${tokensText(event)}`, "dim"];
    case "nested":
      return nestedLine(event.event, width);
    case "stop":
      return [`stopped: ${event.status}: ${event.message}`, event.status === "done" ? "dim" : "bad"];
    default:
      return null;
  }
}

/** Of a sub-agent only what it does is shown. */
function nestedLine(event: HarnessEvent, width: number): Shown | null {
  if (event.type !== "call" && event.type !== "result" && event.type !== "retry") return null;
  const shown = lineOf(event, width, null);
  return shown === null ? null : [`${INSET}${shown[0]}`, "dim"];
}

/** E.g. `429 slow down: try 2 of 6 in 4 s`; what was streamed of the try that failed is void. */
export function retryText({ attempt, of, waitMs, reason }: EventOf<"retry">): string {
  if (waitMs === 0) return `${oneLine(reason, 200)}: asked again`;
  return `${oneLine(reason, 200)}: try ${attempt + 1} of ${of} in ${duration(waitMs).replace(".0 s", " s")}`;
}

function replyText(
  { turn, purpose, reply, costUsd, estimated, ms }: EventOf<"reply">,
  total: number | null,
): string {
  const { inputTokens, cachedTokens, outputTokens } = reply.usage;
  const cached = cachedTokens === null || cachedTokens === 0 ? "" : ` (${count(cachedTokens)} cached)`;
  const used =
    inputTokens === null
      ? "usage not reported"
      : `${count(inputTokens)} tokens in${cached}, ${count(outputTokens ?? 0)} out`;
  const cost = costUsd === null ? "" : `, ${dollars(costUsd)}${estimated ? " by estimate" : ""}`;
  const what = purpose === "note" ? "hand-over note" : `turn ${turn}`;
  return `· ${what}: ${used}${cost}, ${duration(ms)}; ${total === null ? moneyText(null) : `${moneyText(total)} so far`}`;
}

function resultText({ name, status, text, ms }: EventOf<"result">): string {
  const first = text.split("\n").find((line) => line.trim() !== "") ?? "";
  return `← ${name} ${status === "ok" ? "ok" : "failed"} (${duration(ms)}): ${first}`;
}

function tokensText({ tokens }: EventOf<"stubbed" | "compacted">): string {
  return `${count(tokens.before)} → ${count(tokens.after)} tokens`;
}

export function turnsText(turns: number): string {
  return `${turns} ${turns === 1 ? "turn" : "turns"}`;
}

export function moneyText(costUsd: number | null): string {
  return costUsd === null ? "cost unknown" : dollars(costUsd);
}

/** E.g. `3 turns, 4,123 tokens in (1,000 cached), 120 out, $0.0123`. */
export function spentText({ turns, inputTokens, cachedTokens, outputTokens, costUsd }: Spent): string {
  const cached = cachedTokens === 0 ? "" : ` (${count(cachedTokens)} cached)`;
  return `${turnsText(turns)}, ${count(inputTokens)} tokens in${cached}, ${count(outputTokens)} out, ${moneyText(costUsd)}`;
}
