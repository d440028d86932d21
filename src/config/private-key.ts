/** Reads the app's private key in the spellings people have it in: PEM, PEM with `\n` written out, PEM in one line, base64 of a PEM. */

import { createPrivateKey } from "node:crypto";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";

const PEM = /-----BEGIN ((?:RSA )?PRIVATE KEY)-----([\s\S]*?)-----END \1-----/;
const LINE = 64;

/** PEM text with real line breaks; the error completes "PRIVATE_KEY …" and never holds a part of the key. */
export function readPrivateKey(text: string): Result<string, string> {
  const candidates = [text, Buffer.from(text, "base64").toString("utf8")].map((one) =>
    one.replaceAll("\\n", "\n"),
  );
  const match = candidates.map((one) => PEM.exec(one)).find((one) => one !== null);
  if (match === undefined || match === null) {
    return err("is no private key in PEM form (-----BEGIN RSA PRIVATE KEY----- …)");
  }
  const [, label = "", body = ""] = match;
  const lines = body.replaceAll(/\s+/g, "").match(new RegExp(`.{1,${LINE}}`, "g")) ?? [];
  const pem = `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
  try {
    const type = createPrivateKey(pem).asymmetricKeyType;
    return type === "rsa" ? ok(pem) : err(`is a private key of type ${type}; GitHub gives RSA keys`);
  } catch (error) {
    return err(`is a damaged private key (${messageOf(error)})`);
  }
}
