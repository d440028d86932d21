/** `app.env` gives back what was written, whatever it holds, and is readable by its owner only. */

import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { formatEnvFile, parseEnvFile, saveAppEnv } from "#src/config/env-file.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { FULL } from "#test/support/tier.ts";

const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,10}$/);

describe("app.env", () => {
  test("gives back any values", () => {
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ unit: "binary" }), { noNullPrototype: true }), (values) => {
        assert.deepEqual(parseEnvFile(formatEnvFile(values)), { ok: true, value: values });
      }),
      { numRuns: FULL ? 10_000 : 1_000 },
    );
  });

  test("never throws on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."AB=\"'\\ #\n\t") }), (text) => {
        parseEnvFile(text);
      }),
      { numRuns: FULL ? 10_000 : 1_000 },
    );
  });

  test("is read as people write it", () => {
    const text =
      '\uFEFF# comment\r\n\r\nexport A = one two # why\nB=\'it is # $HOME\'\nC="a\\nb\nc\\"d" # end\nD=\nE=x#y\nA=last\n  F=1';
    assert.deepEqual(parseEnvFile(text), {
      ok: true,
      value: { A: "last", B: "it is # $HOME", C: 'a\nb\nc"d', D: "", E: "x#y", F: "1" },
    });
  });

  test("names the line it cannot read", () => {
    assert.deepEqual(parseEnvFile('A="1\n2"\n\nnonsense\n'), {
      ok: false,
      error: "line 4 is not NAME=value, or its quote is not closed",
    });
  });

  test("is written with mode 0600, replaces the old one, and leaves no part behind", async () => {
    await using dir = await tempDir();
    const data = join(dir.path, "new/data");
    await saveAppEnv(data, { APP_ID: "1", SECRET: "a\nb" });
    await saveAppEnv(data, { APP_ID: "2" });
    assert.equal(await readFile(join(data, "app.env"), "utf8"), 'APP_ID="2"\n');
    assert.equal((await stat(join(data, "app.env"))).mode & 0o777, 0o600);
    await assert.rejects(stat(join(data, "app.env.part")), { code: "ENOENT" });
  });

  test("refuses a name that would break the file", () => {
    assert.throws(() => formatEnvFile({ "A\nB": "1" }), TypeError);
  });
});
