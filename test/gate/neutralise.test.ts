/** Nothing that others wrote is live in what the app posts; a Markdown renderer is the judge (FAULTS H12, F07). */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  cellCode,
  code,
  contained,
  cut,
  fenced,
  hasInvisible,
  neutralise,
  oneLine,
  quoted,
  visible,
} from "#src/gate/neutralise.ts";
import { FULL, sample } from "#test/support/tier.ts";
import { BODIES } from "./bodies.ts";
import { HOSTILE } from "./hostile.ts";
import { judge, liveParts } from "./judge.ts";

const LIMIT = 65_536;
const OURS = { references: ["#12"] };
const HEADINGS =
  /^(?:✅|🟡|⚠️|❌|📝) |^(?:What will change|Evidence|How it went|Your answer|What and why|Files|Proof|Cost)$|^No pull request: /u;

function title(text: string): string {
  return JSON.stringify(text.slice(0, 50));
}

test("the judge sees what is live, so that its silence counts", () => {
  for (const [body, found] of [
    ["@octocat", "mention @octocat"],
    ["see #1 and a/b#2", "reference #1"],
    ["fixes #1", "closing fixes #1"],
    ["[x](http://y)", 'element <a href="http://y">'],
    ["![x](http://y)", 'element <img src="http://y" alt="x" />'],
    ["http://evil.example", 'element <a href="http://evil.example">'],
    ["www.evil.example", 'element <a href="http://www.evil.example">'],
    ["<http://y>", 'element <a href="http://y">'],
    ["[x]\n\n[x]: http://y", 'element <a href="http://y">'],
    ["<b onclick=x>", "element <b onclick=x>"],
    ["</details>", "unbalanced </details>"],
    ["&#64;octocat", "mention @octocat"],
  ] as const)
    assert.ok(liveParts(body).includes(found), `${body}: ${liveParts(body).join(", ")}`);
  assert.deepEqual(judge("`@octocat` ```#1```").text.match(/[@#]/g), null);
});

/** The text of FAULTS H12 in every body; of the others the quick tier takes a sample. */
const CASES = [
  ...BODIES.map((body) => ({ text: HOSTILE[0] ?? "", body })),
  ...sample(
    HOSTILE.slice(1).flatMap((text) => BODIES.map((body) => ({ text, body }))),
    70,
  ),
];

for (const { text, body } of CASES)
  test(`F07, H12: a ${body.name} is short enough and has nothing live of ${title(text)}`, () => {
    const made = body.make(text);
    assert.ok(made.length < LIMIT, `${made.length} characters`);
    if (body.name.includes("short") || body.name.includes("pull request"))
      assert.ok(Buffer.byteLength(made) < LIMIT, `${Buffer.byteLength(made)} bytes`);
    assert.deepEqual(liveParts(made, OURS).slice(0, 5), [], made.slice(0, 3_000));
    const { headings, comments } = judge(made);
    for (const heading of headings) assert.match(heading, HEADINGS);
    assert.equal(comments.length, body.name.includes("pull request") ? 0 : 1);
  });

test("F07, H12: each place by itself is safe for each hostile text", () => {
  for (const text of HOSTILE.filter((one) => one.length < 1_000)) {
    const places = {
      neutralise: neutralise(text),
      quoted: quoted(text, 500),
      oneLine: oneLine(text, 300),
      code: `before ${code(text)} after`,
      cell: `| a | b |\n| --- | --- |\n| ${cellCode(text, 200)} | ${cellCode(text, 200)} |`,
      fenced: `before\n\n${fenced(text, "diff", 2_000).block}\n\nafter`,
    };
    for (const [place, body] of Object.entries(places)) {
      assert.deepEqual(liveParts(body), [], `${place} of ${title(text)}\n${body}`);
      assert.deepEqual(judge(body).headings, [], `${place} of ${title(text)}\n${body}`);
    }
    assert.equal(judge(places.cell).elements.filter((one) => one === "<td>").length, 2, places.cell);
    assert.match(judge(places.fenced).text, /after\s*$/);
    assert.match(judge(places.code).text, /^before.*after\s*$/s);
    assert.ok(!places.oneLine.includes("\n"));
  }
});

test("the wording stays readable: without the breaks and escapes it is the text", () => {
  const text = "Pad cents (#12 in `src/a.js`), see @maya's note: a < b && c > d, 100% of 3*4";
  assert.equal(neutralise(text).replaceAll("\u200b", ""), text);
  assert.equal(oneLine("  two\n words\t here ", 50), "two words here");
  for (const plain of [
    "I fix the parser",
    "a - b = c",
    "C# and F#",
    "1 < 2",
    "AT&T",
    "x[0] = (y)",
    "a: b",
    "-1",
  ])
    assert.equal(neutralise(plain).replaceAll("\\", ""), plain);
});

test("invisible and bidirectional characters are shown by name, and found", () => {
  assert.equal(visible("a\u202eb\u{e0041}"), "a<U+202E>b<U+E0041>");
  for (const char of [
    "\u00ad",
    "\u061c",
    "\u200b",
    "\u200d",
    "\u2028",
    "\u2066",
    "\ufeff",
    "\u3164",
    "\u{e0100}",
    "\ufe01",
    "\u2800",
    "\u{1bca0}",
  ])
    assert.ok(hasInvisible(`x${char}y`), char.codePointAt(0)?.toString(16));
  assert.ok(!hasInvisible("naïve 日本語 😀 ❤\ufe0f → \t\n"));
});

test("control characters, escape sequences and halves of characters are gone; line ends are one kind", () => {
  assert.equal(visible("a\u001b[31mb\u001b[0m\u0000\u0007c\r\nd\re\tf"), "abc\nd\ne\tf");
  assert.equal(visible("\ud83dx\ude00"), "\ufffdx\ufffd");
});

test("cutting says how much is missing and never leaves half a character", () => {
  assert.equal(cut("abc", 3), "abc");
  assert.equal(cut("abcdef", 3), "abc\n… (3 more characters)");
  assert.equal(cut("ab😀cd", 3), "ab\n… (4 more characters)");
  assert.equal(oneLine("😀".repeat(10), 4), `${"😀".repeat(3)}…`);
  assert.equal(code("x".repeat(20), 5), "`xxxx…`");
});

test("H03: nothing of a diff is hidden from who approves it: escape sequences, lone carriage returns and backspaces are named, and a plan warns", () => {
  const diff =
    "+++ b/a.js\n+ok(); /*\u001b]*/ evil(); /*\u0007*/\n+// x\r evil()\n+a\bb\n+\u001b[8mhidden()\u001b[0m\n";
  assert.equal(
    fenced(diff, "diff", 2_000).block,
    "```diff\n+++ b/a.js\n+ok(); /*<U+001B>]*/ evil(); /*<U+0007>*/\n+// x<U+000D> evil()\n+a<U+0008>b\n+<U+001B>[8mhidden()<U+001B>[0m\n```",
  );
  for (const line of diff.split("\n").slice(1, -1)) assert.ok(hasInvisible(line), line);
  assert.ok(!hasInvisible("+a\r\n+\tb\r\n"));
});

test("H12: words that keep checks from running do nothing in a title or a text, however they are written", () => {
  for (const word of ["[skip ci]", "[ci skip]", "[no ci]", "[Skip Actions]", "[actions skip]", "***NO_CI***"])
    for (const made of [oneLine(`Mend ${word} it`, 200), neutralise(`a\n${word}`), contained(word)])
      assert.ok(!made.toLowerCase().includes(word.toLowerCase()), made);
  assert.equal(neutralise("an [index] of [skip]"), "an [index] of [skip]");
});

test("a fenced block keeps its content byte for byte, says when it does not, and never outgrows its room", () => {
  const diff = "--- a\n+++ b\n@@ -1 +1 @@\n-``` old\n+```` new\n  ~~~~\n";
  const whole = fenced(diff, "diff", 10_000);
  assert.ok(whole.whole && whole.block.startsWith("`````diff\n") && whole.block.includes(diff));
  for (const text of ["x".repeat(5_000), "`".repeat(5_000), "\u202e".repeat(5_000), "😀".repeat(5_000)]) {
    const part = fenced(text, "diff", 1_000);
    assert.ok(!part.whole && part.block.length <= 1_000, `${part.block.length}`);
    assert.match(part.block, /more characters\)\n`+$/);
  }
});

test("a template keeps its headings and links, loses its comments, and cannot end the fold it stands in", () => {
  const template = [
    "<!-- Thanks! Describe -->",
    "## Checklist",
    "- [ ] read [the guide](https://example.org/guide)",
    "</details> <pre> @octocat fixes #1",
    "```",
    "~~~",
    "<!-- never closed",
    "## gone",
  ].join("\n");
  const seen = judge(`<details><summary>x</summary>\n\n${contained(template)}\n\n</details>\n\nafter`);
  assert.deepEqual(seen.headings, ["Checklist"]);
  assert.deepEqual(seen.unbalanced, []);
  assert.deepEqual(seen.comments, []);
  assert.ok(seen.elements.includes('<a href="https://example.org/guide">'));
  assert.ok(!seen.elements.includes("<pre>"));
  assert.match(seen.text, /after\s*$/);
  assert.deepEqual(
    liveParts(contained(template)).filter((one) => !one.includes("example.org")),
    [],
  );
});

const FRAGMENT = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE.filter((text) => text.length < 200)) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...[
        "@",
        "#",
        "1",
        "[",
        "]",
        "(",
        ")",
        "!",
        "<",
        ">",
        "&",
        ";",
        ":",
        "/",
        "\\",
        "`",
        "```",
        "~~~",
        "*",
        "_",
      ],
      ...[
        "-",
        "=",
        "|",
        "\n",
        "\n\n",
        " ",
        "    ",
        "\t",
        "a",
        "b",
        "http://e",
        "www.",
        "fixes ",
        "GH-",
        "octocat",
      ],
      ...[
        "<!--",
        "-->",
        "</details>",
        "<pre>",
        "[x]:",
        "[^1]",
        "&#64;",
        "---",
        "===",
        "> ",
        "- ",
        "1. ",
        "\u200b",
      ],
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }) },
);
const TEXT = fc.array(FRAGMENT, { maxLength: 25 }).map((parts) => parts.join(""));

test("H12: whatever fragments are put together, nothing in any place is live", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      for (const body of [
        `${neutralise(text)}\n\nafter`,
        `${quoted(text, 2_000)}\n\nafter`,
        `before ${oneLine(text, 300)} and ${code(text)} after`,
        `| a | b |\n| --- | --- |\n| ${cellCode(text, 100)} | x |\n\nafter`,
        `<details><summary>x</summary>\n\n${fenced(text, "diff", 3_000).block}\n\n</details>\n\nafter`,
      ]) {
        assert.deepEqual(liveParts(body), [], body);
        assert.deepEqual(judge(body).headings, [], body);
        assert.match(judge(body).text, /after\s*$/, body);
      }
    }),
    { numRuns: FULL ? 10_000 : 300 },
  );
});

test("H12: a template of whatever fragments cannot get out of its fold", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      const seen = judge(`<details><summary>x</summary>\n\n${contained(text).trim()}\n\n</details>\n\nafter`);
      assert.deepEqual(seen.unbalanced, []);
      assert.deepEqual(seen.comments, []);
      assert.match(seen.text, /after\s*$/);
      const reaching = liveParts(contained(text)).filter((one) =>
        /^(?:mention|closing|entity|reference)/.test(one),
      );
      assert.deepEqual(reaching, []);
    }),
    { numRuns: FULL ? 10_000 : 300 },
  );
});

test("neutralised text is at most a few times as long as what it shows", () => {
  fc.assert(
    fc.property(TEXT, (text) => {
      assert.ok(neutralise(text).length <= 3 * visible(text).length + 1);
    }),
    { numRuns: FULL ? 10_000 : 300 },
  );
});
