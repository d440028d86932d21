/** What a patch changes, as a verification sees it: which of it is tests, and which test files have to be run for them. Pure. */

import type { ChangedFile } from "#src/workspace/workspace.ts";
import { isTestCode, isTestPath } from "./test-files.ts";

export interface Parts {
  readonly all: readonly string[];
  readonly tests: readonly string[];
  readonly sources: readonly string[];
  /** The test files that the original tests are run for; null: all of them, since shared support was changed. */
  readonly original: readonly string[] | null;
  /** The test files that the patch brings; null: all of them. */
  readonly brought: readonly string[] | null;
  readonly changesOld: boolean;
  readonly bringsTests: boolean;
}

export function partsOf(changes: readonly ChangedFile[]): Parts {
  const all = changes.map((change) => change.path);
  const tests = changes.filter((change) => isTestPath(change.path));
  const paths = tests.map((change) => change.path);
  const support = tests.some((change) => !isTestCode(change.path) || /conftest\.py$/.test(change.path));
  const old = tests.filter((change) => change.status !== "added");
  const brought = tests.filter((change) => change.status !== "deleted");
  const only = (some: typeof tests) => (support ? null : some.map((change) => change.path));
  return {
    all,
    tests: paths,
    sources: all.filter((path) => !paths.includes(path)),
    original: only(old),
    brought: only(brought),
    changesOld: old.length > 0,
    bringsTests: brought.length > 0,
  };
}
