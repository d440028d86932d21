/** The replacement behind edit_file: finds text that occurs exactly once, whatever the line ends, and puts other text in its place. Pure. */

export type Replacement =
  | {
      readonly kind: "replaced";
      readonly text: string;
      /** Lines of the new text that were touched, from 1, both included. */
      readonly firstLine: number;
      readonly lastLine: number;
    }
  | { readonly kind: "missing" }
  /** Lines, from 1, at which it begins; at most `PLACES_SHOWN` of `count`. */
  | { readonly kind: "ambiguous"; readonly count: number; readonly lines: readonly number[] }
  | { readonly kind: "same" };

const PLACES_SHOWN = 8;

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** Where `needle` begins, overlapping places included: each of them could have been meant. */
function placesOf(
  text: string,
  needle: string,
): { readonly count: number; readonly first: readonly number[] } {
  const first: number[] = [];
  let count = 0;
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1)) {
    if (count++ < PLACES_SHOWN) first.push(at);
  }
  return { count, first };
}

/** The offset in `raw` of an offset in its text with `\r\n` shortened to `\n`. */
function rawOffset(raw: string, offset: number): number {
  let shortened = 0;
  for (let at = raw.indexOf("\r\n"); at !== -1 && at - shortened < offset; at = raw.indexOf("\r\n", at + 2))
    shortened++;
  return offset + shortened;
}

/** The line end used where an insertion goes: of the line it is in, else of the line before, else of the file. */
function lineEndNear(raw: string, offset: number): string {
  const next = raw.indexOf("\n", offset);
  const near = next === -1 ? raw.lastIndexOf("\n", offset) : next;
  if (near === -1) return "\n";
  return raw[near - 1] === "\r" ? "\r\n" : "\n";
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

function commonSuffix(a: string, b: string, most: number): number {
  let length = 0;
  while (length < most && a[a.length - 1 - length] === b[b.length - 1 - length]) length++;
  return length;
}

function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/**
 * Replaces `old` by `replacement`, both compared with line ends as `\n`. Only what differs between the two is written, with
 * the line ends of its surroundings, so lines that stay keep theirs in a file of mixed ones too. A final newline is kept.
 */
export function replaceOnce(raw: string, old: string, replacement: string): Replacement {
  const [text, wanted] = [toLf(raw), toLf(old)];
  let put = toLf(replacement);
  if (wanted === put) return { kind: "same" };
  const places = placesOf(text, wanted);
  const place = places.first[0];
  if (place === undefined) return { kind: "missing" };
  if (places.count > 1)
    return { kind: "ambiguous", count: places.count, lines: places.first.map((at) => lineAt(text, at)) };
  const atEnd = place + wanted.length === text.length;
  const leavesText = place > 0 || put !== "";
  if (atEnd && wanted.endsWith("\n") && !put.endsWith("\n") && leavesText && !endsLine(text, place, put))
    put += "\n";
  const kept = commonPrefix(wanted, put);
  const tail = commonSuffix(wanted, put, Math.min(wanted.length, put.length) - kept);
  const from = rawOffset(raw, place + kept);
  const to = rawOffset(raw, place + wanted.length - tail);
  const middle = put.slice(kept, put.length - tail).replaceAll("\n", () => lineEndNear(raw, from));
  const result = raw.slice(0, from) + middle + raw.slice(to);
  const firstLine = lineAt(text, place + kept);
  return {
    kind: "replaced",
    text: result,
    firstLine,
    lastLine: firstLine + countLines(put.slice(kept, put.length - tail)),
  };
}

/** Whether nothing is put after a text that ends with a newline already. */
function endsLine(text: string, place: number, put: string): boolean {
  return put === "" && text[place - 1] === "\n";
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
