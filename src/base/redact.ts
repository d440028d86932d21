/** Removes the secrets this process holds, in every spelling they travel in, from text that leaves it. */

export interface Redactor {
  /** Registers a secret until it is forgotten; values shorter than 6 characters are ignored, since they would eat ordinary text. */
  add(secret: string): void;
  /** For a secret that has expired, so that a long life of the process does not make every text slower to clean. */
  forget(secret: string): void;
  /**
   * The text with every registered secret (raw, JSON-escaped, base64, base64url, hex, URL-encoded in whatever dialect) and every
   * credential inside a URL replaced by `***`. Inside longer base64 a secret of fewer than 8 bytes is not found.
   */
  redact(text: string): string;
}

/** Up to the last `@` before the path, since a password may hold one. */
const CREDENTIAL_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/'"]+@/gi;
const KNOWN_TOKEN = /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{20,})/g;
const MIN_SECRET_LENGTH = 6;
/** A multi-line key is also redacted line by line, since logs wrap it. */
const MIN_LINE_LENGTH = 24;

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

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Map<string, { readonly needles: readonly string[]; readonly encoded: RegExp | null }>();
  /** Longest first, so that a secret that holds another one goes as a whole. */
  let needles: readonly string[] = [];
  const sort = () => {
    const all = new Set([...known.values()].flatMap((forms) => forms.needles));
    needles = [...all].sort((a, b) => b.length - a.length);
  };
  const add = (secret: string) => {
    if (secret.length < MIN_SECRET_LENGTH || known.has(secret)) return;
    known.set(secret, { needles: spellings(secret), encoded: urlEncoded(secret) });
    sort();
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    forget: (secret) => {
      if (known.delete(secret)) sort();
    },
    redact: (text) => {
      let clean = text;
      for (const needle of needles) clean = clean.replaceAll(needle, () => "***");
      for (const { encoded } of known.values())
        if (encoded !== null) clean = clean.replace(encoded, () => "***");
      return clean
        .replace(CREDENTIAL_IN_URL, (_, scheme: string) => `${scheme}***@`)
        .replace(KNOWN_TOKEN, () => "***");
    },
  };
}
