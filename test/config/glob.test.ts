/** Globs from outside match as people expect, in time bounded by their length. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import picomatch from "picomatch";
import { globProblem, matchesGlob } from "#src/config/glob.ts";
import { FULL } from "#test/support/tier.ts";

describe("a glob", () => {
  for (const [glob, path, expected] of [
    ["a/b", "a/b", true],
    ["a/b", "a/bc", false],
    ["a/b", "a/b/c", true],
    ["a/", "a/b/c", true],
    ["./a", "a", true],
    ["*.lock", "yarn.lock", true],
    ["*.lock", "a/yarn.lock", false],
    ["**/*.lock", "yarn.lock", true],
    ["**/*.lock", "a/b/yarn.lock", true],
    ["a/**/b", "a/b", true],
    ["a/**/b", "a/x/y/b", true],
    ["a/**/b", "a/xb", false],
    ["a/**", "a", false],
    ["a/**", "a/.hidden/x", true],
    ["**", "a/b", true],
    ["a**b", "axxb", true],
    ["a**b", "a/b", false],
    ["?.txt", "a.txt", true],
    ["?.txt", "/.txt", false],
    ["{a,b}.{yml,yaml}", "b.yaml", true],
    ["{a,b}.{yml,yaml}", "c.yaml", false],
    [".GitHub/**", ".github/x", true],
    ["app/(group)/*", "app/(group)/page.tsx", true],
    ["a.b", "axb", false],
    ["💥?", "💥x", true],
  ] as const) {
    test(`${glob} ${expected ? "covers" : "does not cover"} ${path}`, () => {
      assert.equal(globProblem(glob), null);
      assert.equal(matchesGlob(glob, path), expected);
    });
  }

  for (const glob of [
    "",
    "!a",
    "[ab]",
    "a\\b",
    "+(a)",
    "@(a|b)",
    "{a",
    "a}",
    "{a,{b,c}}",
    "{a}",
    "{a,b}".repeat(7),
    "x".repeat(201),
  ]) {
    test(`${JSON.stringify(glob.slice(0, 20))} is refused with a reason`, () => {
      assert.ok((globProblem(glob) ?? "").length > 5);
    });
  }

  test("means what a well-known matcher takes it to mean", () => {
    const piece = fc.constantFrom("a", "b", ".", "*", "?", "/", "**/", "/**", "a/b");
    const glob = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(""));
    const path = fc.array(fc.constantFrom("a", "b", "ab", ".a", "a.b"), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(glob, path, (text, parts) => {
        // Where the two differ on purpose: empty segments, runs of stars, and directories covering what is in them.
        fc.pre(
          !/\/\/|^\.?\/|\*\*\*|[^/]\*\*|\*\*[^/]|\/$|(?:^|\/)\.{1,2}(?:\/|$)/.test(text) &&
            !text.includes("**"),
        );
        const known = picomatch(text, { dot: true, nocase: true });
        const covered = parts.some((_, index) => known(parts.slice(0, index + 1).join("/")));
        assert.equal(matchesGlob(text, parts.join("/")), covered, `${text} on ${parts.join("/")}`);
      }),
      { numRuns: FULL ? 10_000 : 1_000 },
    );
  });

  test("never takes long", () => {
    const before = performance.now();
    for (const glob of [
      `${"*a".repeat(90)}b`,
      `${"**/".repeat(60)}b`,
      "*?".repeat(90),
      `${"**/*a".repeat(30)}b`,
    ]) {
      for (const path of ["a".repeat(500), "a/".repeat(250)]) matchesGlob(glob, path);
    }
    assert.ok(performance.now() - before < 10_000);
  });
});
