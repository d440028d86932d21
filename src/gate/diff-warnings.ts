/** What a reader of a diff could miss in it, as sentences for the plan. Pure. */

import type { ProposedFile } from "#src/run/proposal.ts";
import { hasInvisible, named } from "./neutralise.ts";

const MOST_FILES = 10;

/** Each warns of one thing that the diff does not show, or not as it is; empty: what stands there is what one sees. */
export function diffWarnings(
  diff: string,
  files: readonly Pick<ProposedFile, "path" | "status" | "added">[],
): readonly string[] {
  const alike = lookalikes(diff);
  return [
    ...(hasInvisible(diff)
      ? ["The diff holds control, bidirectional or invisible characters; they are shown as `<U+…>` in it."]
      : []),
    ...unseen(files),
    ...(hasFarText(diff)
      ? ["The diff adds lines that go on far to the right, after a long blank: read them to their end."]
      : []),
    ...(alike.length > 0
      ? [
          `The diff adds words that mix Latin letters with Cyrillic or Greek ones which look like them: ${alike.join(", ")}.`,
        ]
      : []),
  ];
}

/** A file of code passes for binary when it holds one null byte. */
function unseen(files: readonly Pick<ProposedFile, "path" | "status" | "added">[]): readonly string[] {
  const paths = files
    .filter(({ added, status }) => added === null && status !== "deleted")
    .map(({ path }) => path);
  if (paths.length === 0) return [];
  const more = paths.length > MOST_FILES ? ` and ${paths.length - MOST_FILES} more` : "";
  return [
    `The diff does not show what is in files that git takes for binary (one null byte is enough): ${paths.slice(0, MOST_FILES).join(", ")}${more}.`,
  ];
}

/** True when a diff adds a line that goes on after a blank so long that few screens show what follows. */
function hasFarText(diff: string): boolean {
  return diff.split("\n").some((line) => line.startsWith("+") && /\s{80}/.test(line.trimEnd()));
}

/** Cyrillic letters, and the Greek ones that look like Latin ones; Greek names in formulas (`Δx`) are none. */
const FOREIGN =
  /[\u0400-\u052f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03c1]/u;
const MOST_LOOKALIKES = 3;

/** Words in the added lines of a diff that mix Latin letters with some that look like them (`p<U+0430>ypal`), the foreign ones by their number; the first few. */
function lookalikes(diff: string): readonly string[] {
  const added = diff.match(/^\+(?!\+\+ ).*/gm) ?? [];
  const mixed = added
    .filter((line) => FOREIGN.test(line))
    .flatMap((line) => line.match(/[\p{L}\p{N}_]+/gu) ?? [])
    .filter((word) => FOREIGN.test(word) && /[A-Za-z]/.test(word));
  return [...new Set(mixed)].slice(0, MOST_LOOKALIKES).map((word) => word.replace(/[^\w]/gu, named));
}
