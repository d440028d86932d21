/** Runners that are dependencies of a JavaScript project: they come from this repository's own node_modules. */

import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Row } from "./rows.ts";

const MODULES = join(import.meta.dirname, "../../../node_modules");

/** Copies packages and what they depend on into a project, flat as npm lays them out here. */
export function copyPackages(names: readonly string[], directory: string): void {
  const done = new Set<string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const from = join(MODULES, name);
    if (done.has(name) || !existsSync(from)) continue;
    done.add(name);
    cpSync(from, join(directory, "node_modules", name), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
    };
    waiting.push(...Object.keys(manifest.dependencies ?? {}));
  }
  mkdirSync(join(directory, "node_modules/.cache"), { recursive: true });
}

const manifest = (test: string) => JSON.stringify({ name: "x", type: "module", scripts: { test } });
const MOCHA = `import assert from "node:assert";
describe("area", () => {
  it("zero", () => {});
  it("2x3", () => assert.equal(5, 10));
  it.skip("later", () => {});
  describe("deep", () => {
    before(() => { throw new Error("no db"); });
    it("never", () => {});
  });
});
`;

/** With the packages that each needs in its workspace. */
export const JAVASCRIPT: readonly (Row & { readonly packages: readonly string[] })[] = [
  {
    name: "mocha behind npm, a script that sets NODE_OPTIONS, and another reporter",
    needs: [],
    packages: ["mocha"],
    runner: "mocha",
    command: "npm test",
    files: {
      "package.json": manifest(
        "NODE_OPTIONS=--no-warnings node node_modules/mocha/bin/mocha.js --reporter dot test",
      ),
      "test/a.test.js": MOCHA,
    },
    expected: {
      "test/a.test.js > area > zero": "pass",
      "test/a.test.js > area > 2x3": "fail",
      "test/a.test.js > area > later": "skip",
      'test/a.test.js > area > deep > "before all" hook for "never"': "fail",
    },
    strength: "report",
    message: /5 == 10/,
  },
  {
    name: "jasmine",
    needs: [],
    packages: ["jasmine"],
    runner: "jasmine",
    command: "npm test",
    files: {
      "package.json": manifest("node node_modules/jasmine/bin/jasmine.js"),
      "spec/support/jasmine.mjs": 'export default { spec_dir: "spec", spec_files: ["**/*.spec.js"] };\n',
      "spec/a.spec.js":
        'describe("area", () => { it("zero", () => { expect(0).toBe(0); }); it("2x3", () => { expect(5).toBe(10); }); xit("later", () => {}); });\n',
    },
    expected: {
      "spec/a.spec.js > area > zero": "pass",
      "spec/a.spec.js > area > 2x3": "fail",
      "spec/a.spec.js > area > later": "skip",
    },
    strength: "report",
    message: /Expected 5 to be 10/,
  },
];
