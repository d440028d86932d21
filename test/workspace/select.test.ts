/** What is covered by a list of paths and directories, and that the answer takes no longer the deeper hostile paths are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { coveredBy, select, untrackedLeftOut } from "#src/workspace/select.ts";
import { FULL } from "#test/support/tier.ts";

/** The meaning, in one line: listed itself, or below a listed `directory/`. */
const plainly = (paths: readonly string[], path: string) =>
  paths.some((one) => path === one || (one.endsWith("/") && path.startsWith(one)));

test("a path is covered when it is listed or lies below a listed directory", () => {
  const path = fc
    .array(fc.constantFrom("a", "b", "ab", ".", "__proto__", "ü"), { minLength: 1, maxLength: 5 })
    .chain((names) => fc.constantFrom(names.join("/"), `${names.join("/")}/`));
  fc.assert(
    fc.property(fc.array(path, { maxLength: 6 }), path, (paths, asked) => {
      assert.equal(coveredBy(paths)(asked), plainly(paths, asked));
    }),
    { numRuns: FULL ? 10_000 : 500 },
  );
});

test("thousands of paths of two thousand levels are sorted out in a moment", () => {
  const deep = "a/".repeat(2_000);
  const paths = Array.from({ length: 4_000 }, (_, n) => ({ path: `${deep}${n}`, exact: true }));
  const scan = { changed: [], untracked: paths, collapsed: [{ path: deep, exact: true }], editedIgnored: [] };
  const started = process.cpuUsage();
  const selection = select(scan, [`${deep}0`], ["a/b/", "dist/"], []);
  assert.deepEqual(selection.wanted, [`${deep}0`]);
  assert.equal(untrackedLeftOut(scan, ["a/b/"], new Set()).length, 1);
  const { user } = process.cpuUsage(started);
  // A look-up for each beginning of a path takes minutes.
  assert.ok(user < 20_000_000, `${user / 1e6} s`);
});
