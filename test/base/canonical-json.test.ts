import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { canonicalJson, type Json, sha256 } from "#src/base/canonical-json.ts";
import { FULL } from "#test/support/tier.ts";

const RUNS = { numRuns: FULL ? 10_000 : 500 };
const JSON_VALUE = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }) as fc.Arbitrary<Json>;

test("members are sorted by code unit at every depth, without white space", () => {
  const value = { b: [1, { z: null, a: true }], a: "x", B: 1, é: 2, "10": 3, "9": 4 };
  assert.equal(canonicalJson(value), '{"10":3,"9":4,"B":1,"a":"x","b":[1,{"a":true,"z":null}],"é":2}');
});

test("what is undefined is left out, also when it is all there is", () => {
  assert.equal(canonicalJson({ a: undefined, b: 1 }), '{"b":1}');
  assert.equal(canonicalJson({ a: undefined }), "{}");
});

test("a number that JSON cannot write is refused, not written as null", () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    assert.throws(() => canonicalJson({ deep: [value] }), TypeError);
  assert.equal(canonicalJson(-0), "0");
  assert.equal(canonicalJson([1e21, 0.1, 1.0]), "[1e+21,0.1,1]");
});

test("odd keys are members like any other", () => {
  const odd = JSON.parse('{"__proto__":1,"constructor":2,"":3,"\\ud800":4}') as Json;
  assert.equal(canonicalJson(odd), '{"":3,"__proto__":1,"constructor":2,"\\ud800":4}');
});

test("it reads back as the same value", () => {
  fc.assert(
    fc.property(JSON_VALUE, (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)));
    }),
    RUNS,
  );
});

function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as Record<string, Json>).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, turned(member)]));
}

test("equal values have one spelling, whatever the order of their members", () => {
  fc.assert(
    fc.property(JSON_VALUE, (value) => {
      assert.equal(canonicalJson(turned(value)), canonicalJson(value));
    }),
    RUNS,
  );
});

test("the hash is that of the UTF-8 bytes, for text and bytes alike", () => {
  assert.equal(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const bytes = Buffer.from("naïve 🌍", "utf8");
  assert.equal(sha256("naïve 🌍"), createHash("sha256").update(bytes).digest("hex"));
  assert.equal(sha256(bytes), sha256("naïve 🌍"));
});
