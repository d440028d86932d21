/** Secrets in every spelling they travel in; and a property: in none of them does one survive in any text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRedactor } from "#src/base/redact.ts";
import { FULL } from "#test/support/tier.ts";

const RUNS = { numRuns: FULL ? 10_000 : 1_000 };
const SECRET = 's3cr3t/K+y=with "quotes" & ümlaut!\'()*~';

function base64(text: string, lead = 0): string {
  return Buffer.concat([Buffer.alloc(lead, "x"), Buffer.from(text, "utf8"), Buffer.from("tail")]).toString(
    "base64",
  );
}

const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  raw: (secret) => secret,
  "base64, first alignment": (secret) => base64(secret),
  "base64, second alignment": (secret) => base64(secret, 1),
  "base64, third alignment": (secret) => base64(secret, 2),
  "base64, far in a longer text": (secret) => base64(secret, 3_001),
  "base64 by itself": (secret) => Buffer.from(secret, "utf8").toString("base64"),
  base64url: (secret) => Buffer.from(`x:${secret}`, "utf8").toString("base64url"),
  "hex, lower case": (secret) => Buffer.from(secret, "utf8").toString("hex"),
  "hex, upper case": (secret) => Buffer.from(secret, "utf8").toString("hex").toUpperCase(),
  "URL-encoded": (secret) => encodeURIComponent(secret),
  "URL-encoded, lower-case digits": (secret) =>
    encodeURIComponent(secret).replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
  "URL-encoded as a form": (secret) => new URLSearchParams({ k: secret }).toString(),
  "URL-encoded, also what need not be": (secret) =>
    encodeURIComponent(secret).replace(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16)}`),
  "JSON-escaped": (secret) => JSON.stringify({ key: secret }),
  "as a password in a URL": (secret) => `https://x-access-token:${encodeURIComponent(secret)}@host/a.git`,
  "as a raw password in a URL": (secret) => `https://user:${secret}@host/a.git`,
  "as a query": (secret) => `GET /?token=${encodeURIComponent(secret)}&x=1`,
};

/** The longest run of the secret's spelling that may stand: base64 shares a character with its neighbours at each end. */
const SLACK = 8;

function survives(clean: string, spelled: string): boolean {
  if (spelled.length <= SLACK) return clean.includes(spelled);
  for (let at = 0; at + SLACK < spelled.length; at++)
    if (clean.includes(spelled.slice(at, at + SLACK + 1))) return true;
  return false;
}

for (const [form, spell] of Object.entries(FORMS))
  test(`E01: a secret is removed in this form: ${form}`, () => {
    const clean = createRedactor([SECRET]).redact(`before ${spell(SECRET)} after`);
    assert.ok(clean.startsWith("before ") && clean.endsWith(" after"), clean);
    assert.match(clean, /\*\*\*/);
    assert.ok(!clean.includes("s3cr3t") && !clean.includes("ümlaut"), clean);
  });

test("every occurrence goes, neighbours stay, and a secret of patterns is taken literally", () => {
  const { redact } = createRedactor(["$&$1.*(secret)"]);
  assert.equal(redact("a$&$1.*(secret)b$&$1.*(secret)c secret"), "a***b***c secret");
});

test("of two secrets that contain one another the longer one goes as a whole, in either order", () => {
  for (const secrets of [
    ["abcdefgh", "abcdefgh-and-more"],
    ["abcdefgh-and-more", "abcdefgh"],
  ])
    assert.equal(createRedactor(secrets).redact("x abcdefgh-and-more y abcdefgh z"), "x *** y *** z");
});

test("a secret that is added later is removed from then on; one shorter than six characters is not", () => {
  const redactor = createRedactor();
  assert.equal(redactor.redact("late-secret"), "late-secret");
  redactor.add("late-secret");
  assert.equal(redactor.redact("late-secret"), "***");
  redactor.add("");
  redactor.add("short");
  assert.equal(redactor.redact("a short text"), "a short text");
});

test("a secret that has expired can be forgotten, and takes none of another one with it", () => {
  const redactor = createRedactor(["first-secret", "second-secret"]);
  redactor.forget("first-secret");
  redactor.forget("never-known");
  assert.equal(redactor.redact("first-secret second%2dsecret"), "first-secret ***");
});

test("a secret that is no well-formed text is taken all the same", () => {
  const redactor = createRedactor(["\ud800broken-secret"]);
  assert.equal(redactor.redact("x \ud800broken-secret y"), "x *** y");
});

test("a key of many lines is removed whole, by line, and with escaped line ends", () => {
  const body = Array.from({ length: 3 }, (_, line) => `${"QUJD".repeat(15)}${line}xyz`).join("\n");
  const pem = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----\n`;
  const { redact } = createRedactor([pem]);
  const texts = [pem, JSON.stringify(pem), pem.replaceAll("\n", "\r\n"), pem.replaceAll("\n", "\n  | ")];
  for (const text of [...texts, ...body.split("\n")]) {
    const clean = redact(`key: ${text}`);
    assert.ok(!clean.includes("QUJDQUJD"), clean);
  }
});

test("E01: credentials in a URL and well-known tokens are removed although nobody registered them", () => {
  const { redact } = createRedactor();
  const cases: readonly (readonly [string, string])[] = [
    ["fatal: https://x-access-token:abc@github.com/a/b.git", "fatal: https://***@github.com/a/b.git"],
    ["https://user@host/x", "https://***@host/x"],
    ["postgres://u:p%40ss@db:5432/x", "postgres://***@db:5432/x"],
    ["https://user:p@ss@host/x", "https://***@host/x"],
    [`Bearer ghs_${"a1".repeat(18)}`, "Bearer ***"],
    [`github_pat_${"x_1".repeat(10)}`, "***"],
    [`key sk-proj-${"Ab9_-".repeat(8)} end`, "key *** end"],
    ["https://host/path?mail=a@b.c", "https://host/path?mail=a@b.c"],
    ["mail maria@example.org, https://host/a", "mail maria@example.org, https://host/a"],
  ];
  for (const [text, clean] of cases) assert.equal(redact(text), clean);
});

test("E01: a short secret is found inside longer base64 too, in every alignment and either alphabet", () => {
  for (const secret of ["hunter", "s3cr3t!", "p@ss>>?~"]) {
    const { redact } = createRedactor([secret]);
    for (let lead = 0; lead < 6; lead++) {
      const bytes = Buffer.concat([Buffer.alloc(lead, "x"), Buffer.from(secret), Buffer.from("tail of it")]);
      for (const spelled of [bytes.toString("base64"), bytes.toString("base64url")]) {
        const clean = redact(`at ${spelled} end`);
        assert.match(clean, /^at .*\*\*\*.* end$/);
        const left = Buffer.from(clean.slice(3).split("***")[0] ?? "", "base64").toString("latin1");
        assert.ok(!left.includes(secret.slice(0, 3)), `${spelled}: ${clean}`);
      }
    }
    assert.equal(
      redact("an ordinary text, and aGVsbG8gd29ybGQ= with it"),
      "an ordinary text, and aGVsbG8gd29ybGQ= with it",
    );
  }
});

test("a text in pieces is not cut within a secret that has white space in it, nor within the beginning of one", () => {
  const { cut } = createRedactor(["one two three", "no-blank-in-it"]);
  assert.equal(cut("say one two three now", 8), 4);
  assert.equal(cut("say one two three now", 18), 18);
  assert.equal(cut("say one ", 8), 4);
  assert.equal(cut("say one three ", 14), 14);
  assert.equal(cut("say one two threefold", 12), 4);
  assert.equal(cut("no-blank-in-it", 5), 5);
});

test("redacting twice changes nothing more", () => {
  const { redact } = createRedactor([SECRET]);
  fc.assert(
    fc.property(fc.string(), fc.constantFrom(...Object.values(FORMS)), (text, spell) => {
      const once = redact(text + spell(SECRET) + text);
      assert.equal(redact(once), once);
    }),
    RUNS,
  );
});

/** Secrets as they are: keys, passwords and passphrases of 12 characters and more, with signs of every kind. */
const SECRETS = fc.oneof(
  fc.string({ unit: "grapheme-ascii", minLength: 12, maxLength: 60 }),
  fc.string({ unit: "grapheme", minLength: 12, maxLength: 30 }),
  fc.stringMatching(/^[A-Za-z0-9+/_=-]{12,80}$/),
);

test("no secret of twelve characters or more survives in any of these forms, whatever stands around it", () => {
  fc.assert(
    fc.property(
      SECRETS,
      fc.constantFrom(...Object.entries(FORMS)),
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "grapheme" }),
      (secret, [form, spell], before, after) => {
        const spelled = spell(secret);
        const clean = createRedactor([secret]).redact(before + spelled + after);
        // What the surroundings say by themselves is no leak.
        fc.pre(!survives(before, secret) && !survives(after, secret));
        assert.ok(!clean.includes(secret), `${form}: ${clean}`);
        if (form.startsWith("base64") || form.startsWith("hex")) {
          const core = Buffer.from(secret, "utf8");
          for (const text of [core.toString("hex"), core.toString("base64").replace(/=+$/, "")])
            assert.ok(!clean.toLowerCase().includes(text.toLowerCase()), `${form}: ${clean}`);
        }
      },
    ),
    RUNS,
  );
});
