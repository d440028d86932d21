/** Which paths are tests: the globs of each ecosystem, and everything in the folders that tests live in. */

import picomatch from "picomatch";

/** File names that are tests wherever they lie. */
const TEST_NAMES: readonly string[] = [
  "**/*.{test,tests,spec}.{js,mjs,cjs,jsx,ts,mts,cts,tsx}",
  "**/*-test.{js,mjs,cjs,ts,mts,cts}",
  "**/*_test.{js,mjs,cjs,ts,mts,cts}",
  "**/{test,tests}.{js,mjs,cjs,ts,mts,cts}",
  "**/test-*.{js,mjs,cjs,ts,mts,cts}",
  "**/test_*.py",
  "**/*_test.py",
  "**/{test,tests}.py",
  "**/conftest.py",
  "**/*.snap",
  "**/*.{t,bats}",
  "**/*_test.{go,rs,c,cc,cpp,exs,rb,sh}",
  "**/test_*.{c,cc,cpp,rs,rb,sh}",
  "**/*_spec.rb",
  "**/*{Test,Tests,IT}.{java,kt,php,cs,groovy}",
];

/** Folders whose whole content supports tests: fixtures, snapshots, helpers. */
const TEST_FOLDERS: readonly string[] = [
  "**/{t,test,tests,__tests__,spec,specs,__snapshots__,__mocks__,testdata}/**",
];

const SNAPSHOTS: readonly string[] = ["**/__snapshots__/**", "**/*.snap", "**/*.ambr"];

const isNamedTest = picomatch([...TEST_NAMES], { dot: true });
const isInTestFolder = picomatch([...TEST_FOLDERS], { dot: true });
const isSnapshotPath = picomatch([...SNAPSHOTS], { dot: true });
const isCode = picomatch(["**/*.{js,mjs,cjs,jsx,ts,mts,cts,tsx,py}"], { dot: true });

/** True for a test or a file that supports tests; `path` is from the repository root, `/`-separated. Everything else is source. */
export function isTestPath(path: string): boolean {
  return isNamedTest(path) || isInTestFolder(path);
}

export function isSnapshot(path: string): boolean {
  return isSnapshotPath(path);
}

/** True for a test path that may hold test cases, as opposed to a fixture or a snapshot. */
export function isTestCode(path: string): boolean {
  return isTestPath(path) && isCode(path);
}
