/** Which paths are tests: the globs of each ecosystem, and everything in the folders that tests live in. */

import picomatch from "picomatch";

const SCRIPT = "{js,mjs,cjs,jsx,ts,mts,cts,tsx}";

/** File names that are tests wherever they lie. */
const TEST_NAMES: readonly string[] = [
  `**/*.{test,tests,spec}.${SCRIPT}`,
  `**/*{-,_}{test,spec}.${SCRIPT}`,
  `**/{test,tests,spec}.${SCRIPT}`,
  `**/test-*.${SCRIPT}`,
  "**/test_*.py",
  "**/*_test.py",
  "**/{test,tests}.py",
  "**/conftest.py",
  "**/*_test.go",
  "**/*{Test,Tests,TestCase,IT,Spec}.{java,kt,groovy,scala}",
  "**/Test[A-Z]*.{java,kt,groovy,scala}",
  "**/*_{spec,test}.rb",
  "**/test_*.rb",
  "**/*{Test,TestCase}.php",
  "**/*{Test,Tests}.{cs,fs,vb}",
  "**/*_test.{exs,ex}",
  "**/{test_*,*_test,*_tests,*-test,*-tests,*_unittest,tests}.{c,cc,cpp,cxx,m,h,hpp}",
  "**/*_test.rs",
  "**/*.bats",
  "**/*.t",
  "**/*{-,_,.}test.{sh,bash}",
  "**/test{-,_}*.{sh,bash}",
  "**/*_test.{dart,lua,erl,clj,jl,nim}",
  "**/*.snap",
];

/** Folders whose whole content supports tests: fixtures, snapshots, helpers. `src/test` is Maven's and Gradle's, `t` is Perl's. */
const TEST_FOLDERS: readonly string[] = [
  "**/{test,tests,__tests__,spec,specs,__snapshots__,__mocks__,testdata,androidTest,integrationTest,testFixtures,testthat}/**",
  "t/**",
  "xt/**",
  "**/*.{Test,Tests,UnitTests,IntegrationTests}/**",
];

const SNAPSHOTS: readonly string[] = ["**/__snapshots__/**", "**/*.snap", "**/*.ambr"];
const CODE = [
  SCRIPT.slice(1, -1),
  "py,go,rs,java,kt,groovy,scala,rb,php,cs,fs,vb,ex,exs,c,cc,cpp,cxx,m,bats,t,sh,bash,pl,pm,dart,lua,erl,clj,jl",
].join(",");

const isNamedTest = picomatch([...TEST_NAMES], { dot: true });
const isInTestFolder = picomatch([...TEST_FOLDERS], { dot: true });
const isSnapshotPath = picomatch([...SNAPSHOTS], { dot: true });
const isCode = picomatch([`**/*.{${CODE}}`], { dot: true });

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
