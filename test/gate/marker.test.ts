/** The hidden first line: it reads back as it was written, and nothing that merely looks like it is taken for one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatMarker, type Marker, parseMarker, sameMarker } from "#src/gate/marker.ts";
import { neutralise, quoted } from "#src/gate/neutralise.ts";
import { FULL } from "#test/support/tier.ts";

const MARKER: fc.Arbitrary<Marker> = fc.record({
  runId: fc.option(fc.stringMatching(/^[0-9a-hjkmnp-tv-z]{16}$/)),
  kind: fc.constantFrom("status", "plan", "intent", "answer"),
  seq: fc.integer({ min: 1, max: 1_000_000 }),
  forComment: fc.option(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
});
const RUNS = { numRuns: FULL ? 10_000 : 1_000 };
const LINE = "<!-- agent-fix run=01k0000000abcdef kind=plan seq=1 for=- -->";

test("the marker is the line of the contract, and reads back whatever follows it", () => {
  assert.equal(
    formatMarker({ runId: null, kind: "answer", seq: 1, forComment: 9 }),
    "<!-- agent-fix run=none kind=answer seq=1 for=9 -->",
  );
  fc.assert(
    fc.property(MARKER, fc.constantFrom("", "\n", "\r\n"), fc.string(), (marker, end, rest) => {
      const body = formatMarker(marker) + (end === "" ? "" : end + rest);
      assert.deepEqual(parseMarker(body), { ...marker });
    }),
    RUNS,
  );
});

test("two markers are the same exactly when each part is", () => {
  fc.assert(
    fc.property(MARKER, MARKER, (a, b) => {
      assert.equal(sameMarker(a, b), formatMarker(a) === formatMarker(b));
      assert.ok(sameMarker(a, { ...a }));
      assert.ok(!sameMarker(a, { ...a, seq: a.seq + 1 }));
    }),
    RUNS,
  );
});

test("H03: what is not exactly a marker on the first line is none", () => {
  const forged = [
    ` ${LINE}`,
    `\n${LINE}`,
    `text\n${LINE}`,
    `\ufeff${LINE}`,
    `> ${LINE}`,
    `\`${LINE}\``,
    `${LINE} x`,
    `${LINE}${LINE}`,
    LINE.replace("run=", "run= "),
    LINE.replace("01k", "../"),
    LINE.replace("01k", "01K"),
    LINE.replace("01k0000000abcdef", ""),
    LINE.replace("plan", "approval"),
    LINE.replace("seq=1", "seq=-1"),
    LINE.replace("seq=1", "seq=1e3"),
    LINE.replace("for=-", "for="),
    LINE.replace("for=-", "for=-5"),
    LINE.replace(" -->", "-->"),
    LINE.replace("<!--", "&lt;!--"),
    LINE.toUpperCase(),
    LINE.slice(0, -1),
    "",
  ];
  for (const body of forged) assert.equal(parseMarker(body), null, JSON.stringify(body));
});

test("a marker in somebody's text does not survive being quoted or neutralised by us", () => {
  for (const text of [LINE, `\n${LINE}`, `x ${LINE}`]) {
    assert.equal(parseMarker(neutralise(text)), null);
    assert.ok(!neutralise(text).includes("<!--"));
    assert.ok(!quoted(text, 500).includes("<!--"));
  }
});
