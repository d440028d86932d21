/** Bytes of a file as text and back without losing any: byte order mark, encoding and line ends stay what they were. */

import { isBinaryFile } from "isbinaryfile";

const MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface TextFile {
  /** Without byte order mark; line ends as in the file. */
  readonly text: string;
  readonly mark: boolean;
  /** `latin1` stands for every encoding that is not UTF-8: each byte is one character, so nothing is lost. */
  readonly encoding: "utf8" | "latin1";
}

export type Decoded =
  | { readonly kind: "text"; readonly file: TextFile }
  /** `what` reads after "is", e.g. `a binary file`. */
  | { readonly kind: "binary"; readonly what: string };

function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

export async function decodeFile(bytes: Buffer): Promise<Decoded> {
  if (isUtf16(bytes)) return { kind: "binary", what: "UTF-16 text, which these tools do not edit" };
  const mark = bytes.subarray(0, 3).equals(MARK);
  const body = mark ? bytes.subarray(3) : bytes;
  const text = decodeUtf8(body);
  if (text?.includes("\0")) return { kind: "binary", what: "a binary file" };
  if (text !== null) return { kind: "text", file: { text, mark, encoding: "utf8" } };
  if (bytes.includes(0) || (await isBinaryFile(bytes, { size: bytes.length, encoding: "latin1" })))
    return { kind: "binary", what: "a binary file" };
  return { kind: "text", file: { text: body.toString("latin1"), mark, encoding: "latin1" } };
}

/** The bytes of `text` in the file's form; null when a character has no place in its encoding. */
export function encodeFile(text: string, form: Pick<TextFile, "mark" | "encoding">): Buffer | null {
  if (form.encoding === "latin1" && /[^\u0000-\u00ff]/.test(text)) return null;
  const body = Buffer.from(text, form.encoding);
  return form.mark ? Buffer.concat([MARK, body]) : body;
}
