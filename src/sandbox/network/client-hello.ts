/** Reads the server name out of the first bytes of a TLS connection, without trusting any length in them. Pure. */

/** Bytes looked at before a connection is given up. */
export const HELLO_LIMIT = 16_384;

export type Hello =
  /** More bytes are needed. */
  | { readonly kind: "partial" }
  /** This is not the start of TLS. */
  | { readonly kind: "not_tls" }
  /** Null: the client named no server. */
  | { readonly kind: "hello"; readonly serverName: string | null };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const RECORD_HEADER = 5;
const MESSAGE_HEADER = 4;
/** Real clients need two or three; byte by byte in records of their own, a hello would be put together again and again. */
const MOST_RECORDS = 32;

/** `bytes` is everything received so far. A hello may be spread over several records. */
export function readClientHello(bytes: Uint8Array): Hello {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const message: Buffer[] = [];
  let collected = 0;
  let at = 0;
  for (;;) {
    if (buffer.length > at && buffer[at] !== HANDSHAKE) return { kind: "not_tls" };
    if (buffer.length < at + RECORD_HEADER) return tooLong(buffer);
    if (buffer[at + 1] !== 3) return { kind: "not_tls" };
    const length = buffer.readUInt16BE(at + 3);
    if (length === 0) return { kind: "not_tls" };
    const body = buffer.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length);
    if (message.push(body) > MOST_RECORDS) return { kind: "not_tls" };
    collected += body.length;
    const whole = wholeMessage(Buffer.concat(message));
    if (whole === "not_tls") return { kind: "not_tls" };
    if (whole !== null) return { kind: "hello", serverName: serverName(whole) };
    if (body.length < length || collected > HELLO_LIMIT) return tooLong(buffer);
    at += RECORD_HEADER + length;
  }
}

function tooLong(buffer: Buffer): Hello {
  return buffer.length > HELLO_LIMIT ? { kind: "not_tls" } : { kind: "partial" };
}

function wholeMessage(message: Buffer): Buffer | "not_tls" | null {
  if (message.length < MESSAGE_HEADER) return null;
  if (message[0] !== CLIENT_HELLO) return "not_tls";
  const length = message.readUIntBE(1, 3);
  if (length > HELLO_LIMIT) return "not_tls";
  return message.length < MESSAGE_HEADER + length
    ? null
    : message.subarray(MESSAGE_HEADER, MESSAGE_HEADER + length);
}

/** Null also when the message contradicts itself: such a hello names nobody. */
function serverName(message: Buffer): string | null {
  try {
    const at = afterLengths(message);
    const extensions = message.subarray(at + 2, at + 2 + message.readUInt16BE(at));
    for (let index = 0; index + 4 <= extensions.length; ) {
      const type = extensions.readUInt16BE(index);
      const length = extensions.readUInt16BE(index + 2);
      if (type === SERVER_NAME) return firstName(extensions.subarray(index + 4, index + 4 + length));
      index += 4 + length;
    }
    return null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Offset of the extensions: version (2), random (32), session id, cipher suites, compression methods. */
function afterLengths(message: Buffer): number {
  let at = 34;
  at += 1 + message.readUInt8(at);
  at += 2 + message.readUInt16BE(at);
  at += 1 + message.readUInt8(at);
  return at;
}

/** A list of names of which exactly one, of type host_name, may be there; more than one would let the server choose another. */
function firstName(extension: Buffer): string | null {
  const list = extension.subarray(2, 2 + extension.readUInt16BE(0));
  if (list.readUInt8(0) !== 0) return null;
  const length = list.readUInt16BE(1);
  if (list.length !== 3 + length) return null;
  return list
    .subarray(3, 3 + length)
    .toString("latin1")
    .toLowerCase();
}
