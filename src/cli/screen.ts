/** The one way onto the terminal for a local run: cleaned, redacted, and never two lines mixed into one. */

import { styleText } from "node:util";
import type { Redactor } from "#src/base/redact.ts";
import { oneLine, plainText } from "#src/trace/plain.ts";

export type Style = "plain" | "dim" | "bold" | "good" | "bad" | "ask";

export interface Screen {
  /** Whole lines, under what stands there. */
  print(text: string, style?: Style): void;
  /** One line, cut to the width of the terminal. */
  line(text: string, style?: Style): void;
  /** A piece of a text that comes bit by bit; pieces of another `style` begin a new line. */
  piece(text: string, style?: Style): void;
  /** Shows what was held back, and ends the line that is open. */
  flush(): void;
  /** Columns. */
  width(): number;
}

export interface ScreenOptions {
  readonly stream: Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;
  readonly redactor: Pick<Redactor, "redact" | "cut">;
  /** Text in pieces, lines cut to its width; else whole lines only. */
  readonly terminal: boolean;
  readonly colour: boolean;
}

const STYLES: Readonly<Record<Style, Parameters<typeof styleText>[0] | null>> = {
  plain: null,
  dim: "gray",
  bold: "bold",
  good: "green",
  bad: "red",
  ask: "yellow",
};
const PIPED_WIDTH = 160;
/** A word longer than this is shown before its end has come. */
const LONGEST_WORD = 8_000;
/** Of such a word this much is held back all the same: more than any secret is long. */
const HELD_BACK = 4_000;

export function createScreen({ stream, redactor, terminal, colour }: ScreenOptions): Screen {
  let held = "";
  let heldStyle: Style = "plain";
  let inLine = false;
  const safe = (text: string) => plainText(redactor.redact(text));
  const styled = (text: string, style: Style) => {
    const format = STYLES[style];
    if (!colour || format === null || text === "") return text;
    // Colour does not run over a line end, where another line may begin.
    return text.replace(/[^\n]+/g, (line) => styleText(format, line, { validateStream: false }));
  };
  const write = (text: string, style: Style) => {
    if (text === "") return;
    stream.write(styled(text, style));
    inLine = !text.endsWith("\n");
  };
  const flush = () => {
    write(safe(held), heldStyle);
    held = "";
    if (inLine) stream.write("\n");
    inLine = false;
  };
  const width = () => (terminal ? Math.max(20, stream.columns ?? 80) : PIPED_WIDTH);
  const print = (text: string, style: Style = "plain") => {
    flush();
    write(`${safe(text)}\n`, style);
  };
  return {
    print,
    line: (text, style) => print(oneLine(redactor.redact(text), width()), style),
    piece: (text, style = "plain") => {
      if (style !== heldStyle) flush();
      heldStyle = style;
      held += text;
      const whole = redactor.cut(held, showable(held, terminal));
      if (whole > 0) {
        write(safe(held.slice(0, whole)), style);
        held = held.slice(whole);
      } else if (held.length > LONGEST_WORD) {
        const clean = safe(held);
        write(clean.slice(0, -HELD_BACK), style);
        held = clean.slice(-HELD_BACK);
      }
    },
    flush,
    width,
  };
}

/** How much can be shown: whole words, so that a secret that comes in two pieces is found (one with white space in it is the redactor's affair); when piped, whole lines. A `\r` waits for its `\n`. */
function showable(text: string, terminal: boolean): number {
  if (!terminal) return text.lastIndexOf("\n") + 1;
  return Math.max(...[" ", "\t", "\n"].map((space) => text.lastIndexOf(space))) + 1;
}
