/** Which runner a command calls, and whether it would watch. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { recognise } from "#src/verify/runners.ts";
import { mayWatch, withoutWatch } from "#src/verify/watch.ts";

test("runners are recognised as calls, not as words", () => {
  for (const [text, runner] of [
    ["NODE_OPTIONS=--experimental-vm-modules jest", "jest"],
    ["cross-env CI=1 npx vitest run", "vitest"],
    ["node --import tsx --test 'test/**/*.ts'", "node-test"],
    ["node_modules/.bin/jest", "jest"],
    ["eslint jest.config.js", "unknown"],
    ["node scripts/run-tests.js", "unknown"],
    ["python -m unittest discover", "unittest"],
    ["cd x && make test", "make"],
    ["node --test-reporter=dot --test", "node-test"],
  ] as const)
    assert.equal(recognise(text), runner, text);
  assert.equal(withoutWatch("vitest watch --reporter=dot"), "vitest run --reporter=dot");
  assert.equal(withoutWatch("jest --watchAll=false"), "jest --watchAll=false");
  assert.equal(mayWatch("vitest --coverage"), true);
  assert.equal(mayWatch("vitest --run"), false);
});
