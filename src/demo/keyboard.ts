/** Asks the person at the keyboard, who plays the maintainer in the interactive demo. */

import { createInterface } from "node:readline/promises";

/** A line from the keyboard; the end of input cancels. */
export async function askPerson(): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("/cancel")));
  try {
    const line = await Promise.race([lines.question("You are the maintainer. Your comment: "), closed]);
    return line.trim() === "" ? "/help" : line;
  } finally {
    lines.close();
  }
}
