/** What a plan says of a diff that shows less, or other things, than it holds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { diffWarnings } from "#src/gate/diff-warnings.ts";

const diff = (line: string) => `--- a/x\n+++ b/x\n@@ -1 +1 @@\n${line}\n`;
const warned = (line: string) => diffWarnings(diff(line), []).join("\n");

test("a diff that shows what it holds warns of nothing", () => {
  for (const line of [
    "+const \u0394x = \u03bb + caf\u00e9;",
    "+\u041f\u0440\u0438\u0432\u0435\u0442, world",
    "-p\u0430ypal",
    " p\u0430ypal",
    `+${" ".repeat(40)}a`,
    ` a;${" ".repeat(90)}b`,
    `+a${" ".repeat(90)}\n+b`,
    "+a\r",
  ])
    assert.equal(warned(line), "", line);
});

test("letters that look like Latin ones are named where a diff adds them to a Latin word", () => {
  assert.match(
    warned("+if (is\u0410dmin) return p\u0430ypal;"),
    /look like them: is<U\+0410>dmin, p<U\+0430>ypal\./,
  );
});

test("code far to the right, control characters and bidi marks are warned of", () => {
  assert.match(warned(`+a;${" ".repeat(90)}evil()`), /far to the right/);
  for (const line of ["+a\rb", "+/*\u001b]*/x/*\u0007*/", "+\u202eb", "+a\ufe01"])
    assert.match(warned(line), /control, bidirectional or invisible/, JSON.stringify(line));
});

test("files that git takes for binary are named, since the diff does not show them; deleted ones are not", () => {
  const file = (path: string, added: number | null, status: "added" | "deleted" = "added") => ({
    ...{ path, added, status },
  });
  const files = [file("evil.js", null), file("a.js", 1), file("old.png", null, "deleted")];
  assert.match(diffWarnings("", files).join(), /^The diff does not show .*enough\): evil\.js\.$/);
  const many = Array.from({ length: 12 }, (_, at) => file(`${at}.bin`, null));
  assert.match(diffWarnings("", many).join(), /9\.bin and 2 more\.$/);
});
