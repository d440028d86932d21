/** Removes the secrets this process holds, in every spelling they travel in, from text that leaves it. */

export interface Redactor {
  /** Registers a secret for the rest of the process; values shorter than 6 characters are ignored, since they would eat ordinary text. */
  add(secret: string): void;
  /** The text with every registered secret (raw, base64, base64url, hex, URL-encoded) and every credential inside a URL replaced by `***`. */
  redact(text: string): string;
}

const CREDENTIAL_IN_URL = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]+@/gi;
const KNOWN_TOKEN = /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{20,})\b/g;
const MIN_SECRET_LENGTH = 6;

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
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    hex,
    hex.toUpperCase(),
    ...base64Forms(secret),
  ];
}

export function createRedactor(secrets: readonly string[] = []): Redactor {
  const needles = new Set<string>();
  const add = (secret: string) => {
    if (secret.length < MIN_SECRET_LENGTH) return;
    for (const form of spellings(secret)) needles.add(form);
    // A multi-line key is also redacted line by line: logs wrap it.
    for (const line of secret.split("\n")) if (line.length >= 24) needles.add(line.trim());
  };
  for (const secret of secrets) add(secret);
  return {
    add,
    redact: (text) => {
      let clean = text;
      const longestFirst = [...needles].sort((a, b) => b.length - a.length);
      for (const needle of longestFirst) clean = clean.replaceAll(needle, () => "***");
      return clean
        .replace(CREDENTIAL_IN_URL, (_, scheme: string) => `${scheme}***@`)
        .replace(KNOWN_TOKEN, () => "***");
    },
  };
}
