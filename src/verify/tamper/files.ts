/** Which files decide how tests are run, by their names, in every ecosystem. */

import picomatch from "picomatch";

const match = (globs: readonly string[]) => picomatch([...globs], { dot: true });

export const isCi = match([
  ".github/**",
  ".gitlab-ci.yml",
  ".gitlab/**",
  ".circleci/**",
  "**/azure-pipelines*.yml",
  "Jenkinsfile",
  ".travis.yml",
  "appveyor.yml",
  ".appveyor.yml",
  ".buildkite/**",
  ".drone.yml",
  ".woodpecker*",
  ".cirrus.yml",
  "bitbucket-pipelines.yml",
  "codecov.y?(a)ml",
  ".codecov.y?(a)ml",
]);

/** Files that do nothing but say how tests are run. */
export const isRunnerFile = match([
  "**/{jest,vitest,playwright,karma,cypress,ava,wdio,jasmine}.{config,conf}.*",
  "**/vitest.{workspace,setup,projects}.*",
  "**/{jest,vitest,mocha,ava}{.,-}{setup,preset,transform,environment}*.*",
  "**/setup{Tests,-tests,Vitest,Jest,-jest,-vitest}.*",
  "**/.{mocharc,nycrc,c8rc,taprc,jestrc,rspec,proverc,testcaferc}*",
  "**/jasmine.json",
  "**/{pytest,.pytest,tox}.ini",
  "**/.coveragerc",
  "**/noxfile.py",
  "**/conftest.py",
  "**/.npmrc",
  "**/{sitecustomize,usercustomize}.py",
  "**/*.pth",
  "**/phpunit.xml*",
  "**/.cargo/config*",
  "**/.config/nextest.toml",
  "**/junit-platform.properties",
  "**/CTestCustom.*",
  "**/CTestTestfile.cmake",
  "**/*.runsettings",
  "**/bunfig.toml",
  "**/.env{,.test,.testing,.local}",
  "**/test_helper.exs",
]);

/** Names that would take the place of a runner or an assertion library when they lie where modules are looked for. */
export const isShadow = match([
  "**/node_modules/**",
  "**/{pytest,unittest,_pytest,pluggy,doctest,hypothesis,nose,mock,sitecustomize}.py",
  "**/{pytest,unittest,_pytest,pluggy,hypothesis,nose,mock}/**",
  "**/Test/{More,Simple,Builder,Most,Deep,Exception,Class}.pm",
  "**/Test2/**",
  "**/org/{junit,hamcrest,testng,assertj}/**",
  "**/{bats-core,bats-assert,bats-support,bats-file}/**",
  "**/vendor/**/{assert,chai,mocha,jest,pytest,unity,googletest,gtest,catch2}/**",
  "**/{unity,gtest,catch,doctest,greatest,minunit,munit,check}.{h,hpp,c,cc,cpp}",
]);

/** Lines of a file that says more than how tests are run, which say how tests are run. */
export interface MixedFile {
  readonly name: RegExp;
  readonly lines: RegExp;
  readonly what: string;
}

export const MIXED: readonly MixedFile[] = [
  {
    name: /^vite\.config\.\w+$/,
    lines: /\b(?:test|include|exclude|setupFiles|passWithNoTests|coverage|threshold|alias|environment)\b/i,
    what: "its settings for tests",
  },
  {
    name: /^Cargo\.toml$/,
    lines:
      /^\[\[?(?:test|lib|bin|bench|profile)|\b(?:autotests|harness|test|doctest|debug-assertions|overflow-checks|panic)\s*=/,
    what: "its test targets or checks",
  },
  {
    name: /^(?:CMakeLists\.txt|.*\.cmake)$/,
    lines:
      /\b(?:add_test|enable_testing|WILL_FAIL|DISABLED|TIMEOUT|PASS_REGULAR_EXPRESSION|SKIP_RE\w+|set_tests_properties|gtest_discover_tests|catch_discover_tests|NDEBUG)\b/i,
    what: "its tests",
  },
  { name: /^meson\.build$/, lines: /\b(?:test|should_fail|timeout|b_ndebug)\b/, what: "its tests" },
  {
    name: /^pom\.xml$/,
    lines:
      /skipTests|maven\.test|testFailureIgnore|surefire|failsafe|<(?:in|ex)clude>|argLine|junit|rerunFailing/i,
    what: "how it runs tests",
  },
  {
    name: /^build\.gradle(?:\.kts)?$/,
    lines: /\btest\b|ignoreFailures|useJUnit|exclude|enabled\s*=|onlyIf|jvmArgs|junit/i,
    what: "how it runs tests",
  },
  { name: /^Rakefile$|\.rake$/, lines: /\btest|spec|exit/i, what: "how it runs tests" },
  {
    name: /^(?:composer|deno)\.jsonc?$/,
    lines: /\btests?\b|phpunit|exclude|imports|autoload/i,
    what: "how it runs tests",
  },
  { name: /^(?:Makefile\.PL|Build\.PL|dist\.ini)$/, lines: /\btests?\b|TESTS/i, what: "how it runs tests" },
  { name: /^mix\.exs$/, lines: /\btest/i, what: "how it runs tests" },
  { name: /\.csproj$/, lines: /IsTestProject|Compile Remove|xunit|nunit|mstest/i, what: "how it runs tests" },
];

/** Scripts that a test command is likely to call. */
export const isTestScript = match([
  "**/{run,run_,run-,}{test,tests,check}{,s}.{sh,bash,mjs,js,py,pl}",
  "script/{test,cibuild,check}",
  "scripts/{test,check,ci}*",
  "bin/{test,rspec,rails}",
  "Justfile",
  "justfile",
  "Taskfile.y?(a)ml",
]);
