/** How each type of trace line reads in a terminal. */

import { flagField, numberField, objectsField, textField, textsField } from "./fields.ts";
import { count, dollars, duration, firstLines, oneLine } from "./plain.ts";
import type { TraceEvent, TraceType } from "./trace.ts";

export type Tone = "good" | "bad" | "quiet" | "strong" | "plain";

/** One line of the rendering; `inset` lines belong to the one above. */
export interface Line {
  readonly text: string;
  readonly tone: Tone;
  readonly inset?: boolean;
}

export interface LineLimits {
  /** Most lines shown of a text from a model or a tool. */
  readonly lines: number;
  /** Most characters of a line. */
  readonly width: number;
}

type Data = TraceEvent["data"];
type Render = (data: Data, limits: LineLimits, step: string | null) => readonly Line[];

const line = (text: string, tone: Tone = "plain"): Line => ({ text, tone });
const inset = (texts: readonly string[], tone: Tone = "quiet"): readonly Line[] =>
  texts.map((text) => ({ text, tone, inset: true }));
const took = (data: Data): string => {
  const ms = numberField(data, "ms");
  return ms === null ? "" : ` (${duration(ms)})`;
};

/** What the model asked for, as `name key="value" …` on one line. */
export function callText(data: Data, width: number): string {
  const name = oneLine(textField(data, "name"), 60);
  return oneLine(`${name} ${argumentText(textField(data, "arguments"))}`, width);
}

const MAX_ARGUMENT = 80;

function argumentText(json: string): string {
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return json;
    return Object.entries(parsed)
      .map(([key, value]) => `${key}=${oneLine(JSON.stringify(value), MAX_ARGUMENT)}`)
      .join(" ");
  } catch {
    return json; // Malformed arguments are shown as they came.
  }
}

function suiteText(data: Data): string {
  const number = (name: string) => count(numberField(data, name) ?? 0);
  const skipped = numberField(data, "skipped") ? `, ${number("skipped")} skipped` : "";
  const exit = numberField(data, "exitCode");
  const stopped = textField(data, "stopped");
  const end = stopped === "" ? `exit ${exit ?? "unknown"}` : `stopped: ${stopped}`;
  return `${number("passed")} passed, ${number("failed")} failed${skipped}, ${end}`;
}

function verdictLines(data: Data, { lines, width }: LineLimits): readonly Line[] {
  const kind = textField(data, "class");
  const reason = oneLine(textField(data, "reason"), width);
  const tone: Tone = kind === "proven" ? "good" : kind === "passing" ? "plain" : "bad";
  const list = (label: string, name: string) =>
    inset(
      textsField(data, name)
        .slice(0, lines)
        .map((text) => `${label} ${oneLine(text, width)}`),
    );
  return [
    line(`verdict ${oneLine(kind, 20)}${reason === "" ? "" : `: ${reason}`}`, tone),
    ...list("fixed", "fixed"),
    ...list("newly failing", "newlyFailing"),
    ...list("tampering", "tampering"),
  ];
}

function stepEnd(data: Data, width: number, step: string | null): Line {
  const outcome = textField(data, "outcome");
  const why = [textField(data, "code"), textField(data, "message")].filter((text) => text !== "").join(": ");
  const text = `step ${step ?? "?"} ${outcome}${took(data)}${why === "" ? "" : `: ${why}`}`;
  return line(oneLine(text, width), outcome === "failed" ? "bad" : "quiet");
}

const RENDER: { readonly [type in TraceType]: Render } = {
  run_started: (data, { width }) => [
    line(
      oneLine(
        `run ${flagField(data, "resumed") ? "resumed" : "started"}: model ${textField(data, "model")}, sandbox ${textField(data, "sandbox")}`,
        width,
      ),
    ),
  ],
  run_ended: (data, { width }) => {
    const message = textField(data, "message");
    const state = textField(data, "state");
    return [
      line(
        oneLine(`run ended: ${state}${message === "" ? "" : `: ${message}`}`, width),
        state === "failed" ? "bad" : "strong",
      ),
    ];
  },
  state: (data, { width }) => [
    line(oneLine(`state ${textField(data, "from") || "none"} → ${textField(data, "to")}`, width), "strong"),
  ],
  step_started: (data, { width }, step) => {
    const attempt = numberField(data, "attempt") ?? 1;
    return [
      line(
        oneLine(`step ${step ?? "?"} started${attempt > 1 ? ` (attempt ${attempt})` : ""}`, width),
        "quiet",
      ),
    ];
  },
  step_ended: (data, { width }, step) => [stepEnd(data, width, step)],
  setup: (data, limits) => {
    const ok = flagField(data, "ok");
    const command = textField(data, "command");
    const text = command === "" ? "nothing to install" : `${ok ? "ok" : "failed"}${took(data)}: ${command}`;
    const output = ok ? [] : firstLines(textField(data, "output"), limits.lines, limits.width);
    return [line(oneLine(`setup ${text}`, limits.width), ok ? "plain" : "bad"), ...inset(output)];
  },
  sandbox: (data, { width }) => {
    const by = Object.entries(data.enforcement ?? {}).map(([limit, how]) => `${limit}: ${String(how)}`);
    return [line(oneLine(`sandbox ${by.join(" · ")}`, width), "quiet")];
  },
  network: (data, { width }) => {
    const allowed = flagField(data, "allowed");
    return [
      line(
        oneLine(`network ${textField(data, "host")} ${allowed ? "allowed" : "refused"}`, width),
        allowed ? "quiet" : "bad",
      ),
    ];
  },
  suite: (data, { width }) => {
    const good = numberField(data, "failed") === 0 && numberField(data, "exitCode") === 0;
    return [
      line(
        oneLine(`tests ${textField(data, "label")}: ${suiteText(data)}${took(data)}`, width),
        good ? "good" : "bad",
      ),
      ...inset([oneLine(`${textField(data, "command")} in ${textField(data, "directory")}`, width)]),
    ];
  },
  prompt: (data, { width }) => [
    line(
      oneLine(
        `prompt of ${count(numberField(data, "chars") ?? 0)} characters, ${textField(data, "hash").slice(0, 12)}`,
        width,
      ),
      "quiet",
    ),
  ],
  model_request: (data, { width }) => {
    const tokens = numberField(data, "estimatedInputTokens");
    const stable = numberField(data, "prefixStable");
    const about = tokens === null ? "" : `, about ${count(tokens)} tokens`;
    const kept = stable === null ? "" : `, ${Math.round(stable * 100)} % of the previous request kept`;
    const asked = textField(data, "purpose") === "note" ? "asked the model for a note" : "asked the model";
    return [
      line(
        oneLine(`${asked}: ${numberField(data, "messages") ?? "?"} messages${about}${kept}`, width),
        "quiet",
      ),
    ];
  },
  // Void or repeated in model_reply; render.ts shows what no reply followed.
  model_text: () => [],
  model_retry: (data, { width }) => [
    line(
      oneLine(
        `retry ${numberField(data, "attempt") ?? "?"} of ${numberField(data, "of") ?? "?"} in ${duration(numberField(data, "waitMs") ?? 0)}: ${textField(data, "reason")}`,
        width,
      ),
      "bad",
    ),
  ],
  model_reply: (data, limits) => {
    const finish = textField(data, "finish");
    const cost = numberField(data, "costUsd");
    const calls = objectsField(data, "calls").length;
    const facts = [
      `${calls} ${calls === 1 ? "call" : "calls"}`,
      ...(cost === null ? [] : [dollars(cost)]),
      ...(finish === "complete" ? [] : [finish]),
    ];
    return [
      ...firstLines(textField(data, "content"), limits.lines, limits.width).map((text) => line(text)),
      line(
        oneLine(`reply${took(data)}: ${facts.join(", ")}`, limits.width),
        finish === "complete" ? "quiet" : "bad",
      ),
    ];
  },
  model_failed: (data, { width }) => [
    line(oneLine(`model failed: ${textField(data, "code")}: ${textField(data, "message")}`, width), "bad"),
  ],
  tool_call: (data, { width }) => [line(`→ ${callText(data, width)}`, "strong")],
  tool_result: (data, limits) => {
    const ok = textField(data, "status") === "ok";
    const chars = numberField(data, "chars");
    const size = chars === null ? "" : `, ${count(chars)} characters`;
    const head = `← ${textField(data, "name")} ${ok ? "ok" : "error"}${size}${took(data)}`;
    const wrote = textsField(data, "wrote").map((path) => oneLine(`wrote ${path}`, limits.width));
    return [
      line(oneLine(head, limits.width), ok ? "good" : "bad"),
      ...inset(wrote, "plain"),
      ...inset(firstLines(textField(data, "text"), limits.lines, limits.width)),
    ];
  },
  context: (data, { lines, width }) => {
    const tokens = (name: string) => count(numberField(data, name) ?? 0);
    const cleared = numberField(data, "results");
    const by = textField(data, "noteBy");
    const facts = [
      ...(cleared === null ? [] : [`${count(cleared)} results`]),
      ...(textField(data, "reason") === "" ? [] : [textField(data, "reason")]),
      ...(by === "" ? [] : [`note by ${by}`]),
    ];
    const head = `context ${textField(data, "action")}: ${tokens("tokensBefore")} → ${tokens("tokensAfter")} tokens`;
    return [
      line(oneLine(`${head} (${facts.join(", ")})`, width)),
      ...inset(firstLines(textField(data, "note"), lines, width)),
    ];
  },
  notice: (data, { width }) => [line(oneLine(`told the model: ${textField(data, "text")}`, width))],
  stop: (data, { width }) => [
    line(
      oneLine(
        `stopped after ${numberField(data, "turns") ?? "?"} turns: ${textField(data, "status")}: ${textField(data, "message")}`,
        width,
      ),
      textField(data, "status") === "done" ? "strong" : "bad",
    ),
  ],
  patch: (data, { lines, width }) => {
    const files = textsField(data, "files");
    const leftOut = numberField(data, "leftOut") ?? 0;
    const shown = files.slice(0, lines).map((path) => oneLine(path, width));
    const rest = files.length - shown.length;
    return [
      line(
        `patch of ${files.length} ${files.length === 1 ? "file" : "files"}${leftOut > 0 ? `, ${leftOut} left out` : ""}`,
      ),
      ...inset(rest > 0 ? [...shown, `… ${rest} more`] : shown),
    ];
  },
  verdict: verdictLines,
  github: (data, { width }) => {
    const id = textField(data, "id");
    const message = textField(data, "message");
    const text = `github ${textField(data, "effect")} ${textField(data, "outcome")}${id && ` ${id}`}${message && `: ${message}`}`;
    return [line(oneLine(text, width), textField(data, "outcome") === "failed" ? "bad" : "plain")];
  },
  command: (data, { width }) => [
    line(
      oneLine(
        `/${textField(data, "verb")} by ${textField(data, "by")}: ${textField(data, "decision")}`,
        width,
      ),
      "strong",
    ),
  ],
  warning: (data, { width }) => [line(oneLine(`warning: ${textField(data, "text")}`, width), "bad")],
};

/** The lines of one event; a type of a later release is shown by its name. */
export function linesOf(event: TraceEvent, limits: LineLimits): readonly Line[] {
  const render: Render | undefined = Object.hasOwn(RENDER, event.type) ? RENDER[event.type] : undefined;
  if (render === undefined) return [line(oneLine(event.type, limits.width), "quiet")];
  return render(event.data, limits, event.step);
}
