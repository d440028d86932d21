/** Compares a text with a file kept beside the tests; `UPDATE_GOLDEN=1` writes the files anew, to be read in the diff. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

const UPDATE = process.env.UPDATE_GOLDEN === "1";

/** `file` is a URL such as `new URL("golden/plan.md", import.meta.url)`; the file ends with one line feed that the text has not. */
export function assertGolden(file: URL, text: string): void {
  if (UPDATE) {
    mkdirSync(dirname(file.pathname), { recursive: true });
    writeFileSync(file, `${text}\n`);
    return;
  }
  const wanted = readFileSync(file, "utf8").replace(/\n$/, "");
  assert.equal(text, wanted, `differs from ${file.pathname}; if that is wanted, run with UPDATE_GOLDEN=1`);
}
