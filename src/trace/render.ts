/** Renders a trace as a story for the terminal: what happened, turn by turn, and what it came to. Pure. */

import { styleText } from "node:util";
import { numberField, textField } from "./fields.ts";
import { count, dollars, duration, firstLines, oneLine } from "./plain.ts";
import type { TraceFile } from "./read.ts";
import { type Line, type LineLimits, linesOf, type Tone } from "./render-lines.ts";
import { summarise, type TraceSummary } from "./summary.ts";
import type { TraceEvent } from "./trace.ts";

export interface RenderOptions {
  readonly colour: boolean;
  /** Most characters of a line; 120 when left out. */
  readonly width?: number;
  /** Most lines shown of what a model said or a tool answered; 6 when left out. */
  readonly lines?: number;
}

const DEFAULTS: LineLimits = { width: 120, lines: 6 };
const MIN_WIDTH = 20;
const TIME_COLUMN = " ".repeat(9);

const STYLE: { readonly [tone in Tone]: Parameters<typeof styleText>[0] | null } = {
  good: "green",
  bad: "red",
  quiet: "dim",
  strong: "bold",
  plain: null,
};

type Paint = (text: string, tone: Tone) => string;

/** The whole story, ending in a newline. Nothing in it can move the cursor, ring or recolour: what models and tests printed is cleaned. */
export function renderTrace(file: TraceFile, options: RenderOptions): string {
  const { events, skipped } = file;
  const width = Math.max(MIN_WIDTH, (options.width ?? DEFAULTS.width) - TIME_COLUMN.length);
  const limits = { width, lines: options.lines ?? DEFAULTS.lines };
  const paint: Paint = (text, tone) => {
    const style = STYLE[tone];
    return options.colour && style !== null ? styleText(style, text, { validateStream: false }) : text;
  };
  const torn =
    skipped.length === 0 ? [] : [paint(`unreadable lines in the file: ${skipped.join(", ")}`, "bad")];
  const out = [
    ...headLines(events, limits.width).map((text) => paint(text, "strong")),
    ...story(events, limits, paint),
    "",
    ...torn,
    paint(summaryLine(summarise(events)), "strong"),
  ];
  return `${out.join("\n")}\n`;
}

function headLines(events: readonly TraceEvent[], width: number): readonly string[] {
  const [first] = events;
  if (first === undefined) return ["The trace is empty: the run has not written anything yet."];
  const started = events.find((event) => event.type === "run_started")?.data ?? {};
  const issue = numberField(started, "issue");
  const place = [textField(started, "repository"), issue === null ? "" : `#${issue}`].join("");
  const title = textField(started, "title");
  const what = [place, title].filter((text) => text !== "").join(": ");
  return [oneLine(`Run ${first.run}${what === "" ? "" : ` · ${what}`}`, width), ""];
}

function story(events: readonly TraceEvent[], limits: LineLimits, paint: Paint): readonly string[] {
  const out: string[] = [];
  let turn: number | null = null;
  let streamed: string[] = [];
  let nested = "";
  const put = (time: string, { text, tone, inset }: Line) =>
    out.push(`${inset ? `${TIME_COLUMN}  ` : time}${nested}${paint(text, tone)}`);

  for (const event of events) {
    const time = `${paint(oneLine(event.at.slice(11, 19), 8), "quiet")} `;
    nested = event.parent === undefined ? "" : paint(NESTED, "quiet");
    if (event.turn !== null && event.turn !== turn) {
      turn = event.turn;
      out.push("", paint(`── turn ${turn} ──`, "strong"));
    }
    if (event.type === "model_text") streamed.push(textField(event.data, "text"));
    else if (streamed.length > 0 && CUTS_OFF.has(event.type)) {
      for (const text of firstLines(streamed.join(""), limits.lines, limits.width))
        put(time, { text: `(cut off) ${text}`, tone: "quiet" });
    }
    if (CUTS_OFF.has(event.type) || event.type === "model_reply") streamed = [];
    for (const entry of linesOf(event, limits)) put(time, entry);
  }
  return out;
}

/** Stands before what happened in a sub-agent. */
const NESTED = "┆ ";

/** What ends a streaming reply without completing it; what had been said until then is worth a line. */
const CUTS_OFF: ReadonlySet<string> = new Set(["model_retry", "model_failed", "run_ended"]);

/** One line for terminals and comments, e.g. `7 turns · read_file 3, edit_file 2 (1 error) · 12,345 tokens in (8,000 cached), 456 out · $0.0123 · 1 min 12 s (42.0 s in the model) · 1 retry · stopped: done`. */
export function summaryLine(summary: TraceSummary): string {
  const { tokens, retries, stop } = summary;
  const tools = Object.entries(summary.toolCalls).map(([name, { ok, errors }]) => {
    const failures = errors === 0 ? "" : ` (${errors} ${errors === 1 ? "error" : "errors"})`;
    return `${oneLine(name, 40)} ${ok + errors}${failures}`;
  });
  const cached = tokens.cached === 0 ? "" : ` (${count(tokens.cached)} cached)`;
  const atLeast = tokens.unknown ? "at least " : "";
  return [
    `${summary.turns} ${summary.turns === 1 ? "turn" : "turns"}`,
    tools.length === 0 ? "no tool calls" : tools.join(", "),
    `${atLeast}${count(tokens.input)} tokens in${cached}, ${count(tokens.output)} out`,
    summary.costUsd === null ? "cost unknown" : dollars(summary.costUsd),
    `${duration(summary.wallMs)} (${duration(summary.modelMs)} in the model)`,
    ...(retries === 0 ? [] : [`${retries} ${retries === 1 ? "retry" : "retries"}`]),
    `stopped: ${stop === null ? "not yet" : oneLine(stop.replaceAll("_", " "), 40)}`,
  ].join(" · ");
}

/** JSON lines for other programs, safe to print: characters that a terminal might obey are escaped. */
export function renderTraceJson(events: readonly TraceEvent[]): string {
  return events.map((event) => `${escaped(JSON.stringify(event))}\n`).join("");
}

function escaped(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
