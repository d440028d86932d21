/** Removes the secrets this process holds, in every spelling they travel in, from text that leaves it. */

export interface Redactor {
  /** Registers a secret until it is forgotten; values shorter than 6 characters are ignored, since they would eat ordinary text. */
  add(secret: string): void;
  /** For a secret that has expired, so that a long life of the process does not make every text slower to clean. */
  forget(secret: string): void;
  /**
   * The text with every registered secret (raw, JSON-escaped, base64, base64url, hex, URL-encoded in whatever dialect) and every
   * credential inside a URL replaced by `***`.
   */
  redact(text: string): string;
  /**
   * Where a text that comes in pieces can be cut, at `at` or before: not within a secret that has white space in it, nor within
   * what may be the beginning of one.
   */
  cut(text: string, at: number): number;
}

/** Up to the last `@` before the path, since a password may hold one. */
const CREDENTIAL_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/'"]+@/gi;
const KNOWN_TOKEN = /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{20,})/g;
const MIN_SECRET_LENGTH = 6;
/** A multi-line key is also redacted line by line, since logs wrap it. */
const MIN_LINE_LENGTH = 24;

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Up to so many bytes the whole characters alone are too few to be told from ordinary text. */
const SHORT_BYTES = 8;

/**
 * A short secret inside longer base64: at its ends stand characters of which it decides only some bits, so that they are any of a
 * few. Null: it is long enough to be found by its whole characters.
 */
function shortInBase64(secret: string): RegExp | null {
  const bytes = Buffer.from(secret, "utf8");
  if (bytes.length > SHORT_BYTES) return null;
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
  const forms = [0, 1, 2].map((offset) => {
    const known = "?".repeat(offset * 8) + bits;
    const groups = known.padEnd(Math.ceil(known.length / 6) * 6, "?").match(/.{6}/g) ?? [];
    return groups
      .filter((group) => group !== "??????")
      .map(anyOf)
      .join("");
  });
  return new RegExp(forms.join("|"), "g");
}

/** The characters of base64, either alphabet, whose six bits are these; `?` is either. */
function anyOf(group: string): string {
  const pattern = new RegExp(`^${group.replaceAll("?", ".")}$`);
  const fitting = Array.from(BASE64).filter((_, value) => pattern.test(value.toString(2).padStart(6, "0")));
  const both = fitting.map((char) => ({ "+": "+\\-", "/": "/_" })[char] ?? char);
  return `[${both.join("")}]`;
}

/** Base64 shifts with its offset in the stream; the three alignments below cover a secret inside a longer encoded text. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const firstWhole = offset === 0 ? 0 : 4;
    const lastWhole = encoded.length - ((bytes.length + offset) % 3 === 0 ? 0 : 4);
    const core = encoded.slice(firstWhole, lastWhole);
    return core.length >= MIN_SECRET_LENGTH ? [core, core.replaceAll("+", "-").replaceAll("/", "_")] : [];
  });
}

function spellings(secret: string): string[] {
  const hex = Buffer.from(secret, "utf8").toString("hex");
  const lines = secret.split("\n").filter((line) => line.length >= MIN_LINE_LENGTH);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    hex,
    hex.toUpperCase(),
    ...base64Forms(secret),
    ...lines.map((line) => line.trim()),
  ];
}

/** Matches the secret with any of its characters percent-encoded: encoders differ in what they leave as it is. Null: it has no such form. */
function urlEncoded(secret: string): RegExp | null {
  if (!secret.isWellFormed()) return null;
  const characters = Array.from(secret, (char) => {
    const literal = `\\u{${char.codePointAt(0)?.toString(16)}}`;
    const bytes = [...Buffer.from(char, "utf8")];
    const percent = bytes.map((byte) => `%${anyCase(byte.toString(16).padStart(2, "0"))}`).join("");
    return char === " " ? `(?:${literal}|${percent}|\\+)` : `(?:${literal}|${percent})`;
  });
  return new RegExp(characters.join(""), "gu");
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

interface Known {
  readonly needles: readonly string[];
  readonly patterns: readonly RegExp[];
}

/** The first place of the secret that a cut at `at` would divide, or of what may be its beginning at the end of the text; else `at`. */
function beforeSecret(secret: string, text: string, at: number): number {
  for (let start = Math.max(0, at - secret.length + 1); start < at; start++)
    if (secret.startsWith(text.slice(start, start + secret.length))) return start;
  return at;
}

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Map<string, Known>();
  /** Longest first, so that a secret that holds another one goes as a whole. */
  let needles: readonly string[] = [];
  const sort = () => {
    const all = new Set([...known.values()].flatMap((forms) => forms.needles));
    needles = [...all].sort((a, b) => b.length - a.length);
  };
  const add = (secret: string) => {
    if (secret.length < MIN_SECRET_LENGTH || known.has(secret)) return;
    const patterns = [urlEncoded(secret), shortInBase64(secret)].filter((one) => one !== null);
    known.set(secret, { needles: spellings(secret), patterns });
    sort();
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    forget: (secret) => {
      if (known.delete(secret)) sort();
    },
    cut: (text, at) => {
      const spaced = needles.filter((needle) => /\s/.test(needle));
      let cut = at;
      // A cut before one secret may lie within another.
      for (let last = -1; cut !== last; ) {
        last = cut;
        for (const needle of spaced) cut = beforeSecret(needle, text, cut);
      }
      return cut;
    },
    redact: (text) => {
      let clean = text;
      for (const needle of needles) clean = clean.replaceAll(needle, () => "***");
      for (const { patterns } of known.values())
        for (const pattern of patterns) clean = clean.replace(pattern, () => "***");
      return clean
        .replace(CREDENTIAL_IN_URL, (_, scheme: string) => `${scheme}***@`)
        .replace(KNOWN_TOKEN, () => "***");
    },
  };
}
