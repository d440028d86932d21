/** Detection in every ecosystem, from tiny layouts: command, runner, directory, set-up, reason, and the versions that are asked for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { detect } from "#src/verify/detect.ts";
import type { Detected, DetectOverrides } from "#src/verify/verify.ts";
import { NODE, PYTHON } from "./detect-layouts.ts";
import { COMPILED } from "./detect-layouts-compiled.ts";
import { MONOREPOS, SCRIPTED } from "./detect-layouts-more.ts";

const LAYOUTS = [...NODE, ...PYTHON, ...COMPILED, ...SCRIPTED, ...MONOREPOS];

const NONE: DetectOverrides = { setup: null, test: null, workingDirectory: null };

function detected(
  files: Readonly<Record<string, string>>,
  overrides: Partial<DetectOverrides> = {},
): Promise<Detected> {
  return detect(
    {
      read: async (path) => (files[path] === undefined ? null : Buffer.from(files[path])),
      list: async () => Object.keys(files).map((path) => ({ path, mode: "100644" })),
    },
    { ...NONE, ...overrides },
  );
}

for (const { name, files, near, test: command, runner, directory, setup, because, needs, note } of LAYOUTS)
  test(`detects: ${name}`, async () => {
    const found = await detected(files, near === undefined ? {} : { near });
    assert.equal(found.test?.command ?? null, command);
    if (runner !== undefined) assert.equal(found.test?.runner, runner);
    assert.equal(found.test?.directory ?? ".", directory ?? ".");
    if (setup === null) assert.equal(found.setup, null);
    else if (setup !== undefined) assert.match(found.setup?.command ?? "nothing", setup);
    if (because !== undefined) assert.match(found.test?.because ?? "", because);
    if (needs !== undefined)
      assert.deepEqual(
        found.test?.needs?.map((need) => `${need.tool} ${need.version} (${need.from})`),
        needs,
      );
    if (note !== undefined) assert.match(found.notes.join("\n"), note);
    if (command === null)
      assert.match(found.notes.join(), /No test command was found/, "unknown is said, with what to do");
  });

test("there are at least sixty layouts over all ecosystems", () => {
  assert.ok(LAYOUTS.length >= 60, String(LAYOUTS.length));
  assert.ok(new Set(LAYOUTS.map((one) => one.runner)).size >= 24);
});

test("the repository file wins in every ecosystem, and set-up is still found", async () => {
  const found = await detected(
    { "go.mod": "module x\n\ngo 1.22\n\nrequire a.b/c v1.0.0\n", "x_test.go": "" },
    { test: "go test -race ./..." },
  );
  assert.equal(found.test?.command, "go test -race ./...");
  assert.equal(found.test?.runner, "go");
  assert.match(found.test?.because ?? "", /agent-fix\.yml/);
  assert.match(found.setup?.command ?? "", /go mod download/);
});

test("G05: a configured command that would never end is said to", async () => {
  for (const command of ["nodemon test.js", "ptw", "cargo watch -x test", "ng test", "npx cypress open"])
    assert.match((await detected({}, { test: command })).notes.join(), /will not end by itself/, command);
});

test("a manifest that is not what its name says stops nothing", async () => {
  for (const name of [
    "package.json",
    "composer.json",
    "deno.json",
    "go.mod",
    "Cargo.toml",
    "pyproject.toml",
    "pom.xml",
  ])
    for (const text of ["", "{", "[", "null", "\u0000\uFFFD", "[[[[", `${"[".repeat(5000)}`])
      assert.ok((await detected({ [name]: text })) !== null);
});
