/** Real runners of every ecosystem that this machine has, in the real sandbox: results per test without a change to the repository. */

import assert from "node:assert/strict";
import { accessSync, chmodSync, constants } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sample, skipUnless } from "#test/support/tier.ts";
import { copyPackages, JAVASCRIPT } from "./ecosystems/javascript.ts";
import { FURTHER } from "./ecosystems/jvm-and-others.ts";
import { ROWS, type Row } from "./ecosystems/rows.ts";
import { HOST_PATH, openProject, outcomes, suiteOf } from "./project.ts";

const QUICK = 4;

function installed(program: string): boolean {
  return HOST_PATH.split(":").some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function sorted(record: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

const ALL: readonly (Row & { readonly packages?: readonly string[] })[] = [
  ...ROWS,
  ...FURTHER,
  ...JAVASCRIPT,
];

for (const row of sample(ALL, QUICK)) {
  const absent = row.needs.filter((program) => !installed(program));
  const skip = skipUnless(absent.length === 0, `this machine has no ${absent.join(", ")}`);
  test(`results per test: ${row.name}`, { skip }, async () => {
    await using project = await openProject(row.files);
    copyPackages(row.packages ?? [], project.directory);
    for (const path of Object.keys(row.files))
      if (path.startsWith("vendor/")) chmodSync(join(project.directory, path), 0o755);
    const result = await project.run(suiteOf(row.command, row.runner));
    assert.deepEqual(sorted(outcomes(result)), sorted(row.expected), result.output);
    assert.equal(result.strength, row.strength);
    assert.match(result.cases.find((one) => one.outcome === "fail")?.message ?? "", row.message);
    assert.notEqual(result.evidence.exitCode, 0);
    assert.equal(result.mismatch, null);
  });
}
