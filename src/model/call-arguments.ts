/** Arguments of a tool call: knows while reading when an object is whole, and at the end what is valid, repairable or malformed. */

/** Follows pieces of JSON text without parsing them; linear in the text. */
export interface ObjectScanner {
  read(piece: string): void;
  /** Something other than white space was read. */
  readonly begun: boolean;
  /** The first value was an object and its last brace was read. */
  readonly whole: boolean;
}

export function createObjectScanner(): ObjectScanner {
  let begun = false;
  let whole = false;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let startsAsObject = false;

  const readCharacter = (code: number) => {
    if (!begun) {
      if (isWhiteSpace(code)) return;
      begun = true;
      startsAsObject = code === OPEN_BRACE;
    }
    if (inString) {
      if (escaped) escaped = false;
      else if (code === BACKSLASH) escaped = true;
      else if (code === QUOTE) inString = false;
      return;
    }
    if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
      if (depth === 0 && startsAsObject) whole = true;
    }
  };

  return {
    read: (piece) => {
      for (let at = 0; at < piece.length && !whole; at++) readCharacter(piece.charCodeAt(at));
    },
    get begun() {
      return begun;
    },
    get whole() {
      return whole;
    },
  };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

export interface SettledArguments {
  /** Valid JSON text of an object. */
  readonly arguments: string;
  /** The raw text when it is no JSON object, and then `arguments` is `{}`. */
  readonly malformed?: string;
}

/**
 * Nothing at all becomes `{}`, and so does `null`, which servers write that hold no arguments (FAULTS A07). Real line breaks and other control characters inside strings are escaped, since
 * there is only one thing they can mean (A31). No other defect is repaired: a guess could run a tool with wrong parameters.
 */
export function settleArguments(raw: string): SettledArguments {
  if (raw.trim() === "" || raw.trim() === "null") return { arguments: "{}" };
  if (isJsonObject(raw)) return { arguments: raw };
  const escaped = escapeControlCharactersInStrings(raw);
  if (escaped !== raw && isJsonObject(escaped)) return { arguments: escaped };
  return { arguments: "{}", malformed: raw };
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** One pass by hand: a regular expression for string literals backtracks on megabytes of unclosed text. */
function escapeControlCharactersInStrings(text: string): string {
  const pieces: string[] = [];
  let inString = false;
  let escaped = false;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (!inString) {
      inString = code === QUOTE;
    } else if (escaped) {
      // A backslash before a real line break is another defect and stays as it is.
      escaped = false;
    } else if (code === BACKSLASH) {
      escaped = true;
    } else if (code === QUOTE) {
      inString = false;
    } else if (code < 0x20) {
      pieces.push(text.slice(from, at), JSON.stringify(text[at]).slice(1, -1));
      from = at + 1;
    }
  }
  pieces.push(text.slice(from));
  return pieces.join("");
}
