/** The file `app.env` in DATA_DIR, which the set-up page writes: KEY=VALUE lines, quoted where needed, readable by its owner only. */

import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "#src/base/result.ts";

export const APP_ENV = "app.env";

const NAME = /^[A-Z_][A-Z0-9_]*$/i;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Blank lines and lines starting with # are skipped, `export ` is allowed; the error is a sentence with the line. The last of two equal names wins. */
export function parseEnvFile(text: string): Result<Readonly<Record<string, string>>, string> {
  const values = new Map<string, string>();
  let rest = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  for (let line = 1; rest !== ""; ) {
    const match = /^[^\S\n]*(?:#[^\n]*)?(?:\n|$)/.exec(rest) ?? assignment(rest);
    if (match === null) return err(`line ${line} is not NAME=value, or its quote is not closed`);
    const { name, raw } = match.groups ?? {};
    if (name !== undefined && raw !== undefined) values.set(name, unquote(raw));
    line += match[0].split("\n").length - 1;
    rest = rest.slice(match[0].length);
  }
  return ok(Object.fromEntries(values));
}

/** A value in double quotes may span lines and has escapes; in single quotes it is taken as it is; a bare one ends at ` #` or the line. */
function assignment(text: string): RegExpExecArray | null {
  return /^[^\S\n]*(?:export[^\S\n]+)?(?<name>[A-Za-z_][A-Za-z0-9_]*)[^\S\n]*=[^\S\n]*(?<raw>"(?:\\[\s\S]|[^"\\])*"|'[^']*'|[^\n"'][^\n]*|)[^\S\n]*(?:#[^\n]*)?(?:\n|$)/.exec(
    text,
  );
}

function unquote(raw: string): string {
  if (raw.startsWith("'")) return raw.slice(1, -1);
  if (!raw.startsWith('"')) return raw.replace(/\s+#.*$/, "").trim();
  return raw.slice(1, -1).replace(/\\([\s\S])/g, (_, escaped: string) => ESCAPES[escaped] ?? escaped);
}

/** Throws a TypeError on a name no shell would take; every value comes back from `parseEnvFile` as it was. */
export function formatEnvFile(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => {
      if (!NAME.test(name)) throw new TypeError(`not a variable name: ${JSON.stringify(name)}`);
      const quoted = value
        .replaceAll("\\", "\\\\")
        .replaceAll('"', '\\"')
        .replaceAll("\n", "\\n")
        .replaceAll("\r", "\\r");
      return `${name}="${quoted}"\n`;
    })
    .join("");
}

/** Writes `app.env` whole or not at all, with mode 0600 from its first byte on. Rejects when the directory cannot be written. */
export async function saveAppEnv(dataDir: string, values: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const part = join(dataDir, `${APP_ENV}.part`);
  await rm(part, { force: true });
  await writeFile(part, formatEnvFile(values), { mode: 0o600, flag: "wx", flush: true });
  await rename(part, join(dataDir, APP_ENV));
}
