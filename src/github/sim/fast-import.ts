/** Writes the stream by which `git fast-import` makes one commit out of changed files: pure. */

export interface CommitSource {
  readonly branch: string;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  /** ms since the epoch. */
  readonly at: number;
  /** False for the first commit of a branch. */
  readonly hasParent: boolean;
  /** Path to content; null deletes the path. */
  readonly files: ReadonlyMap<string, FileSource | null>;
}

export interface FileSource {
  readonly mode: "100644" | "100755" | "120000";
  readonly content: Uint8Array;
}

/** The commit can be asked for by `get-mark :1` behind this stream. */
export function fastImportStream(commit: CommitSource): Buffer {
  const seconds = Math.floor(commit.at / 1000);
  const who = `${commit.author.name} <${commit.author.email}> ${seconds} +0000`;
  const ref = `refs/heads/${commit.branch}`;
  const parts: (string | Uint8Array)[] = [
    `commit ${ref}\nmark :1\nauthor ${who}\ncommitter ${who}\n`,
    ...dataCommand(Buffer.from(commit.message, "utf8")),
    ...(commit.hasParent ? [`from ${ref}^0\n`] : []),
  ];
  for (const [path, file] of commit.files) {
    if (file === null) parts.push(`D ${quotedPath(path)}\n`);
    else parts.push(`M ${file.mode} inline ${quotedPath(path)}\n`, ...dataCommand(file.content));
  }
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "utf8") : part)));
}

function dataCommand(content: Uint8Array): readonly (string | Uint8Array)[] {
  return [`data ${content.byteLength}\n`, content, "\n"];
}

/** Always quoted, so that spaces, quotes and line breaks in a name need no case of their own. */
function quotedPath(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
