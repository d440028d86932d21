/** How the demo speaks: colour and a spinner on a terminal, plain lines when it is piped. */

import { styleText } from "node:util";
import yoctoSpinner, { type Spinner } from "yocto-spinner";

export interface Terminal {
  heading(text: string): void;
  /** Begins a step of the list; the one before it is ticked. */
  step(text: string): void;
  /** A detail under the present step. */
  detail(text: string): void;
  /** Ends the present step; `bad` marks it as refused or failed. */
  finish(text?: string, bad?: boolean): void;
  /** A block of text as it is. */
  block(text: string): void;
}

export interface TerminalOptions {
  readonly stream: NodeJS.WriteStream;
  readonly interactive: boolean;
}

export function createTerminal({ stream, interactive }: TerminalOptions): Terminal {
  const fancy = interactive && stream.isTTY === true;
  const paint = (style: Parameters<typeof styleText>[0], text: string) => styleText(style, text, { stream });
  let spinner: Spinner | null = null;
  let present: string | null = null;
  const write = (text: string) => stream.write(`${text}\n`);
  const above = (text: string) => {
    const text_ = spinner?.text ?? "";
    spinner?.clear();
    write(text);
    if (spinner !== null) spinner.text = text_;
  };
  const finish = (text?: string, bad = false) => {
    if (present === null) return;
    const line = `${bad ? paint("red", "✗") : paint("green", "✔")} ${text ?? present}`;
    if (spinner === null) {
      // Piped, a step was already announced; only an outcome that says more is worth a line.
      if (text !== undefined) write(line);
    } else {
      spinner.stop();
      spinner = null;
      write(line);
    }
    present = null;
  };
  return {
    heading: (text) => {
      finish();
      write(`\n${paint("bold", text)}`);
    },
    step: (text) => {
      finish();
      present = text;
      if (fancy) spinner = yoctoSpinner({ text, stream }).start();
      else write(`- ${text}`);
    },
    detail: (text) => above(`  ${paint("dim", text)}`),
    finish,
    block: (text) => above(text),
  };
}

/** A unified diff with its added and removed lines coloured; unchanged where the stream takes no colour. */
export function colourDiff(diff: string, stream: NodeJS.WriteStream): string {
  return diff
    .split("\n")
    .map((line) => {
      if (line.startsWith("+++") || line.startsWith("---") || line.startsWith("diff "))
        return styleText("bold", line, { stream });
      if (line.startsWith("+")) return styleText("green", line, { stream });
      if (line.startsWith("-")) return styleText("red", line, { stream });
      return line;
    })
    .join("\n");
}
