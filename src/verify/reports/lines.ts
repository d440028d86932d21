/** Reads the JSON lines that our own hooks write: a `begin`, one line per case, an `end`. */

import { z } from "zod";
import type { ParsedReport, RawCase } from "./raw-case.ts";

const caseLine = z.object({
  file: z.string(),
  names: z.array(z.string()),
  outcome: z.enum(["pass", "fail", "skip"]),
  message: z.string(),
});
const endLine = z.object({ end: z.literal(true) });
const beginLine = z.object({ begin: z.string() });

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A torn or foreign line makes the report incomplete; the lines before it still count. */
export function parseLines(text: string): ParsedReport {
  const cases: RawCase[] = [];
  let ended = false;
  let clean = true;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const value = parseJson(line);
    const one = caseLine.safeParse(value);
    if (one.success && !ended) cases.push(one.data);
    else if (endLine.safeParse(value).success && !ended) ended = true;
    else if (!beginLine.safeParse(value).success) clean = false;
  }
  return { cases, complete: ended && clean };
}
