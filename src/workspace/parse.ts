/** Parsers of git's NUL-separated outputs; pure. Names are bytes to git and need not be UTF-8. */

/** A path as people see it, and whether that spelling is the name itself. */
export interface DecodedPath {
  /** Decoded UTF-8; bytes that are none are shown as `\xHH`. */
  readonly path: string;
  /** False when the name is not UTF-8: such a path can be shown, but not used. */
  readonly exact: boolean;
}

export interface RawChange extends DecodedPath {
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: string;
  readonly newId: string;
  /** `A`, `M`, `D` or `T` (the kind of file changed). */
  readonly status: string;
}

export interface LineCounts extends DecodedPath {
  /** Null for binary files. */
  readonly added: number | null;
  readonly removed: number | null;
}

export interface TreeEntry extends DecodedPath {
  readonly mode: string;
  readonly type: string;
  readonly id: string;
  /** Bytes; null unless the entry was listed with its size. */
  readonly size: number | null;
}

export interface FileStat extends DecodedPath {
  /** `st_mode`: file type and permissions. */
  readonly mode: number;
  readonly size: number;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function decodePath(bytes: Uint8Array): DecodedPath {
  try {
    return { path: strict.decode(bytes), exact: true };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const path = Array.from(bytes, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`,
    ).join("");
    return { path, exact: false };
  }
}

/** The fields between NUL bytes; a last field without its NUL is dropped, since it may be cut off. */
export function splitNul(bytes: Uint8Array): Uint8Array[] {
  const fields: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
    fields.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return fields;
}

export function parsePaths(bytes: Uint8Array): DecodedPath[] {
  return splitNul(bytes).map(decodePath);
}

function ascii(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** `git diff-* --raw -z --no-renames`: pairs of `:mode mode id id status` and path. Throws on anything else. */
export function parseRaw(bytes: Uint8Array): RawChange[] {
  const fields = splitNul(bytes);
  const changes: RawChange[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const head = ascii(fields[at] as Uint8Array);
    const match = /^:([0-7]{6}) ([0-7]{6}) ([0-9a-f]{40}) ([0-9a-f]{40}) ([AMDTU])$/.exec(head);
    if (match === null) throw new Error(`git printed an unknown change: ${JSON.stringify(head)}`);
    const [, oldMode = "", newMode = "", oldId = "", newId = "", status = ""] = match;
    changes.push({ oldMode, newMode, oldId, newId, status, ...decodePath(fields[at + 1] as Uint8Array) });
  }
  return changes;
}

/** `git diff-* --numstat -z --no-renames`: `added TAB removed TAB path`, with `-` for binary files. */
export function parseNumstat(bytes: Uint8Array): LineCounts[] {
  return splitNul(bytes).map((field) => {
    const first = field.indexOf(9);
    const second = field.indexOf(9, first + 1);
    const count = (from: number, to: number) => {
      const text = ascii(field.subarray(from, to));
      return text === "-" ? null : Number(text);
    };
    return {
      added: count(0, first),
      removed: count(first + 1, second),
      ...decodePath(field.subarray(second + 1)),
    };
  });
}

/** `git ls-tree -z`, with or without `-l`: `mode SP type SP id [SP+ size] TAB path`. */
export function parseTree(bytes: Uint8Array): TreeEntry[] {
  return splitNul(bytes).map((field) => {
    const tab = field.indexOf(9);
    const [mode = "", type = "", id = "", size] = ascii(field.subarray(0, tab)).split(/ +/);
    return {
      mode,
      type,
      id,
      size: size === undefined || size === "-" ? null : Number(size),
      ...decodePath(field.subarray(tab + 1)),
    };
  });
}

/** `stat --printf '%f %s %n\0'`: mode in hex, size, path. */
export function parseStats(bytes: Uint8Array): FileStat[] {
  return splitNul(bytes).map((field) => {
    const first = field.indexOf(32);
    const second = field.indexOf(32, first + 1);
    return {
      mode: Number.parseInt(ascii(field.subarray(0, first)), 16),
      size: Number(ascii(field.subarray(first + 1, second))),
      ...decodePath(field.subarray(second + 1)),
    };
  });
}

/** `git diff-* --name-status -z -M --diff-filter=R`: the new names of moved files. */
export function parseMoved(bytes: Uint8Array): DecodedPath[] {
  const fields = splitNul(bytes);
  const moved: DecodedPath[] = [];
  for (let at = 0; at + 2 < fields.length; at += 3) moved.push(decodePath(fields[at + 2] as Uint8Array));
  return moved;
}

/** `git cat-file --batch`: contents by object id, in the order asked for; a missing object ends in an Error. */
export function parseBatch(bytes: Uint8Array): Map<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>();
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf(10, at);
    const [id = "", type = "", size] = ascii(bytes.subarray(at, lineEnd)).split(" ");
    if (lineEnd === -1 || size === undefined || type === "missing")
      throw new Error(`git has no object ${id}`);
    const start = lineEnd + 1;
    contents.set(id, bytes.subarray(start, start + Number(size)));
    at = start + Number(size) + 1;
  }
  return contents;
}
