/** The grammar of commands: what is one, what merely looks like one, and that nothing else ever is. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseCommand } from "#src/gate/commands.ts";
import type { Command } from "#src/run/run.ts";
import { FULL } from "#test/support/tier.ts";

const DIGEST = "0123456789ab";
const APPROVE: Command = { verb: "approve", digest: null, unverified: false };

const COMMANDS: readonly (readonly [string, Command])[] = [
  ["/approve", APPROVE],
  ["/approve\n", APPROVE],
  ["/approve\r\n", APPROVE],
  ["/approve  \t ", APPROVE],
  ["\n\n  \n/approve", APPROVE],
  ["\r\n/approve\r\nThank you!", APPROVE],
  ["/approve\rold Mac line ends", APPROVE],
  [`/approve ${DIGEST}`, { ...APPROVE, digest: DIGEST }],
  [`/approve   ${"f".repeat(64)}`, { ...APPROVE, digest: "f".repeat(64) }],
  ["/approve unverified", { ...APPROVE, unverified: true }],
  [`/approve ${DIGEST} unverified`, { ...APPROVE, digest: DIGEST, unverified: true }],
  [`/approve unverified ${DIGEST}`, { ...APPROVE, digest: DIGEST, unverified: true }],
  ["/revise", { verb: "revise", text: "" }],
  ["/revise \n \n", { verb: "revise", text: "" }],
  ["/revise use padStart", { verb: "revise", text: "use padStart" }],
  ["/revise\nuse padStart\n\nand test it", { verb: "revise", text: "use padStart\n\nand test it" }],
  ["/revise use\r\nboth\r\n", { verb: "revise", text: "use\nboth" }],
  ["/revise\n```js\nconst a = 1;\n```", { verb: "revise", text: "```js\nconst a = 1;\n```" }],
  [
    "/revise answer to\n```\n/status\n```\nas before",
    { verb: "revise", text: "answer to\n```\n/status\n```\nas before" },
  ],
  ["/revise\n~~~~ sh\n~~~\n/cancel\n~~~~", { verb: "revise", text: "~~~~ sh\n~~~\n/cancel\n~~~~" }],
  ["/retry", { verb: "retry", budgetUsd: null }],
  ["/retry budget=5", { verb: "retry", budgetUsd: 5 }],
  ["/retry budget=0.5", { verb: "retry", budgetUsd: 0.5 }],
  ["/retry budget=12.25", { verb: "retry", budgetUsd: 12.25 }],
  ["/cancel", { verb: "cancel" }],
  ["/cancel\nThis is not what I meant.", { verb: "cancel" }],
  ["/status", { verb: "status" }],
  ["/help", { verb: "help" }],
];

for (const [body, command] of COMMANDS)
  test(`a command: ${JSON.stringify(body).slice(0, 60)}`, () =>
    assert.deepEqual(parseCommand(body), command));

const NONE: readonly (readonly [string, string])[] = [
  ["a quote", "> /approve"],
  ["a nested quote", ">> /approve"],
  ["a quote with an answer under it", "> /approve\n\nI agree"],
  ["a fenced block", "```\n/approve\n```"],
  ["a fenced block with tildes", "~~~\n/approve\n~~~"],
  ["inline code", "`/approve`"],
  ["inline code with double ticks", "``/approve``"],
  ["an indented code block", "    /approve"],
  ["one blank before it", " /approve"],
  ["a tab before it", "\t/approve"],
  ["an HTML comment", "<!-- /approve -->"],
  ["an HTML comment over lines", "<!--\n/approve\n-->"],
  ["an HTML comment before it", "<!-- hm --> /approve"],
  ["HTML around it", "<p>/approve</p>"],
  ["a sentence", "please do not /approve yet"],
  ["a sentence that begins with the word", "approve"],
  ["a later line", "Looks good.\n/approve"],
  ["a list", "- /approve"],
  ["a task list", "- [x] /approve"],
  ["a heading", "# /approve"],
  ["bold", "**/approve**"],
  ["a link", "[/approve](https://example.org)"],
  ["a mention before it", "@agent-fix /approve"],
  ["a path", "/approve/me"],
  ["a file", "/approve.txt"],
  ["a dash after it", "/approve-not"],
  ["a double slash", "//approve"],
  ["a backslash", "\\/approve"],
  ["a full-width solidus", "\uff0fapprove"],
  ["a division slash", "\u2215approve"],
  ["a Cyrillic a", "/\u0430pprove"],
  ["a full-width letter", "/\uff41pprove"],
  ["a zero-width space within", "/app\u200brove"],
  ["a zero-width space before it", "\u200b/approve"],
  ["a byte order mark before it", "\ufeff\u200b/approve"],
  ["a direction mark before it", "\u202e/approve"],
  ["a combining mark at its end", "/approve\u0301"],
  ["another bot's word", "/lgtm"],
  ["another bot's word with our word after it", "/assign approve"],
  ["nothing", ""],
  ["blanks", " \n\t\r\n "],
  ["a lone slash", "/"],
];

for (const [what, body] of NONE)
  test(`F03: no command: ${what}`, () => {
    assert.equal(parseCommand(body), null);
  });

const UNCLEAR: readonly (readonly [string, string])[] = [
  ["/approved", "`/approve`"],
  ["/Approve", "`/approve`"],
  ["/APPROVE", "`/approve`"],
  ["/approve!", "`/approve`"],
  ["/approve.", "`/approve`"],
  ["/aprove", "`/approve`"],
  ["/approves", "`/approve`"],
  ["/approve please", "`/approve`"],
  ["/approve 0123", "`/approve`"],
  [`/approve ${DIGEST.toUpperCase()}`, "`/approve`"],
  [`/approve ${DIGEST} ${DIGEST}`, "`/approve`"],
  ["/approve unverified unverified", "`/approve`"],
  [`/approve ${"a".repeat(65)}`, "`/approve`"],
  ["/approve Unverified", "`/approve`"],
  ["/approve --unverified", "`/approve`"],
  [`/approve \`${DIGEST}\``, "`/approve`"],
  ["/cancel it", "`/cancel`"],
  ["/cancelled", "`/cancel`"],
  ["/canceld", "`/cancel`"],
  ["/retry 5", "`/retry`"],
  ["/retry budget=", "`/retry`"],
  ["/retry budget=0", "`/retry`"],
  ["/retry budget=-1", "`/retry`"],
  ["/retry budget=1e9", "`/retry`"],
  ["/retry budget=5 now", "`/retry`"],
  ["/retry budget=99999999", "`/retry`"],
  ["/retry budget=5,50", "`/retry`"],
  ["/status now", "`/status`"],
  ["/help me", "`/help`"],
  ["/approve\n/cancel", "One command"],
  ["/approve\n/approve", "One command"],
  ["/revise do this\n/approve", "One command"],
  ["/status\n\nthen\n/approve", "One command"],
  ["/approve\n```\ncode\n```\n/cancel", "One command"],
  ["/approve\n``` not `a fence\n/cancel", "One command"],
  ["/approve\n`` `\n/cancel", "One command"],
];

for (const [body, hint] of UNCLEAR)
  test(`unclear, with a hint and no effect: ${JSON.stringify(body).slice(0, 50)}`, () => {
    const command = parseCommand(body);
    assert.ok(command?.verb === "unclear", JSON.stringify(command));
    assert.ok(command.hint.includes(hint), command.hint);
  });

test("an instruction is cut at 10,000 characters, never inside one", () => {
  const command = parseCommand(`/revise ${"x".repeat(9_999)}😀 and more`);
  assert.ok(command?.verb === "revise");
  assert.ok(command.text === "x".repeat(9_999), `${command.text.length} characters`);
});

/** The whole effective grammar once more, as one expression over a whole comment. */
const EFFECTIVE = new RegExp(
  [
    /approve[^\S\n]*/,
    /approve[^\S\n]+(?:[0-9a-f]{12,64}(?:[^\S\n]+unverified)?|unverified(?:[^\S\n]+[0-9a-f]{12,64})?)[^\S\n]*/,
    /revise(?:\s[\s\S]*)?/,
    /retry(?:[^\S\n]+budget=\d{1,6}(?:\.\d{1,2})?)?[^\S\n]*/,
    /cancel[^\S\n]*/,
  ]
    .map((form) => `(?:${form.source})`)
    .join("|"),
);
const WHOLE = new RegExp(`^\\s*?(?:^|\\n)/(?:${EFFECTIVE.source})(?:\\n[\\s\\S]*)?$`);
const HARMLESS = new Set(["unclear", "status", "help"]);

function isEffective(command: Command | null): boolean {
  return command !== null && !HARMLESS.has(command.verb);
}

function check(body: string): void {
  if (!isEffective(parseCommand(body))) return;
  const plain = body.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  assert.match(plain, WHOLE);
  const first = plain.split("\n").find((line) => line.trim() !== "") ?? "";
  assert.ok(/^\/(?:approve|revise|retry|cancel)(?:\s|$)/.test(first), JSON.stringify(body));
}

const RUNS = { numRuns: FULL ? 10_000 : 3_000 };

test("F03: no text that is not one of the forms is ever an effective command", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), check), RUNS);
  const pieces = fc.constantFrom(
    ...["/", "approve", "cancel", "retry", "revise", " ", "\n", "\r\n", "\t", ">", "`", "```", "<!--", "-->"],
    ...["unverified", DIGEST, "budget=5", "d", "!", "\u200b", "\u00a0", "\u2028", "x", "- ", "#", "@bot "],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => check(parts.join(""))),
    RUNS,
  );
});

test("a valid command with one character put in, taken out or changed is never another effective command", () => {
  const valid = fc.constantFrom(
    ...COMMANDS.filter(([, command]) => isEffective(command)).map(([body]) => body),
  );
  fc.assert(
    fc.property(
      valid,
      fc.nat(),
      fc.string({ unit: "grapheme", maxLength: 1 }),
      fc.nat(1),
      (body, pick, char, cut) => {
        const at = pick % (body.length + 1);
        const mutated = body.slice(0, at) + char + body.slice(at + cut);
        check(mutated);
        const [before, after] = [parseCommand(body), parseCommand(mutated)];
        if (isEffective(before) && isEffective(after)) assert.equal(after?.verb, before?.verb);
      },
    ),
    RUNS,
  );
});

test("line ends and trailing blanks never change what a comment says", () => {
  const bodies = fc.constantFrom(...[...COMMANDS, ...NONE, ...UNCLEAR].map((row) => row[0] as string));
  fc.assert(
    fc.property(bodies, fc.constantFrom("", " ", "\t", "\n", "\r\n", "  \n \n"), (body, tail) => {
      const expected = parseCommand(body);
      assert.deepEqual(parseCommand(body.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") + tail), expected);
    }),
    RUNS,
  );
});

test("a comment of many megabytes and one of many lines are read at once", () => {
  const started = performance.now();
  assert.equal(parseCommand("x".repeat(2_000_000)), null);
  assert.equal(parseCommand(`x\n${"/approve\n".repeat(200_000)}`), null);
  assert.equal(parseCommand(`/${"approve".repeat(100_000)}`), null);
  assert.equal(parseCommand(`${" ".repeat(500_000)}\n/approve`)?.verb, "approve");
  assert.ok(performance.now() - started < 3_000);
});
