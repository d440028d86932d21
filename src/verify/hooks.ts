/** The report hooks: files placed beside the workspace and the environment that makes each runner load them. */

import { readFile } from "node:fs/promises";
import { usingCaches } from "./package-caches.ts";
import type { HookFamily } from "./runners.ts";

/** Where reports and hooks are seen inside the sandbox. */
export const REPORTS = "/reports";
const HOOKS = `${REPORTS}/hooks`;

/** Files of `hooks/`, and the name each gets inside. */
const HOOK_FILES: readonly (readonly [name: string, inside: string])[] = [
  ["node-reporter.mjs", "node-reporter.mjs"],
  ["preload.cjs", "preload.cjs"],
  ["mocha-reporter.cjs", "mocha-reporter.cjs"],
  ["jasmine-reporter.mjs", "jasmine-reporter.mjs"],
  ["suite_report.py", "suite_report.py"],
  ["unittest_report.py", "unittest_report.py"],
  ["sitecustomize.py", "sitecustomize.py"],
  ["SuiteReport.pm", "SuiteReport.pm"],
  ["rspec_report.rb", "rspec_report.rb"],
  ["suite_report_plugin.rb", "minitest/suite_report_plugin.rb"],
  ["cargo-runner.sh", "cargo-runner.sh"],
  ["programs.sh", "programs.sh"],
];

/** Programs that `programs.sh` stands before, where the machine has them. */
const PROGRAMS = [
  "node",
  "bats",
  "ctest",
  "cargo",
  "go",
  "java",
  "php",
  "phpunit",
  "pest",
  "deno",
  "bun",
  "mix",
  "dotnet",
];

/** Cargo starts test binaries through a runner that is named per target. */
const RUST_TARGETS = ["X86_64", "AARCH64"].flatMap((cpu) =>
  ["GNU", "MUSL"].map((libc) => `${cpu}_UNKNOWN_LINUX_${libc}`),
);

/**
 * How the hooks are attached. Two of them can collide with what a script already does, which shows in the output:
 * Node wants as many destinations as reporters, and a script that sets PYTHONPATH hides our pytest plugin.
 */
export interface HookVariant {
  /** `beside`: the script names one reporter itself, without a destination. */
  readonly nodeReporter: "own" | "beside";
  readonly pytest: "plugin" | "junit";
}

export const FIRST_VARIANT: HookVariant = { nodeReporter: "own", pytest: "plugin" };

/** The variant to try when the output shows that this one kept the runner from starting; null: the output shows no such thing. */
export function nextVariant(variant: HookVariant, output: string): HookVariant | null {
  if (variant.nodeReporter === "own" && /'--test-reporter' must match the number of specified/.test(output))
    return { ...variant, nodeReporter: "beside" };
  if (variant.pytest === "plugin" && /Error importing plugin "suite_report"/.test(output))
    return { ...variant, pytest: "junit" };
  return null;
}

/** Environment for a run; everything it names lies under `/reports`. */
export function hookEnvironment(
  families: readonly HookFamily[],
  variant: HookVariant,
): Readonly<Record<string, string>> {
  const ours = `--test-reporter=${HOOKS}/node-reporter.mjs --test-reporter-destination=stderr`;
  const theirs =
    variant.nodeReporter === "own"
      ? "--test-reporter=spec --test-reporter-destination=stdout"
      : "--test-reporter-destination=stdout";
  const options = `--require=${HOOKS}/preload.cjs ${ours} ${theirs}`;
  const all: Readonly<Record<HookFamily, Readonly<Record<string, string>>>> = {
    node: { NODE_OPTIONS: options, SUITE_REPORT_NODE_OPTIONS: options },
    python: {
      PYTHONPATH: HOOKS,
      PYTHONDONTWRITEBYTECODE: "1",
      PYTEST_ADDOPTS:
        variant.pytest === "plugin"
          ? "-p suite_report"
          : `--junitxml=${REPORTS}/junit-pytest.xml -o junit_family=xunit1`,
      TOX_OVERRIDE: "testenv.pass_env=PYTHONPATH,PYTEST_ADDOPTS,PYTHONDONTWRITEBYTECODE,CI",
    },
    ruby: {
      RUBYLIB: HOOKS,
      SPEC_OPTS: `--require ${HOOKS}/rspec_report.rb --format SuiteReport --format progress`,
    },
    perl: { PERL5LIB: HOOKS, HARNESS_SUBCLASS: "SuiteReport" },
    programs: Object.fromEntries(
      RUST_TARGETS.map((target) => [`CARGO_TARGET_${target}_RUNNER`, `${HOOKS}/cargo-runner.sh`]),
    ),
  };
  return Object.assign({}, ...families.map((family) => all[family]));
}

/** The command with our stand-ins first on the path, then the virtual environment that set-up may have made. */
export function shellText(command: string): string {
  return [
    `PATH="${HOOKS}/bin:$PATH"`,
    'for made in /workspace "$PWD"; do if [ -d "$made/.venv/bin" ]; then PATH="$made/.venv/bin:$PATH"; fi; done',
    usingCaches(),
    command,
  ].join("\n");
}

/**
 * Shell text that empties `/reports`, writes the hooks there and prints the workspace's real path. It runs inside the sandbox,
 * so that a link planted there by an earlier command leads nowhere on the host.
 */
export async function prepareScript(): Promise<string> {
  const parts = await Promise.all(
    HOOK_FILES.map(async ([name, inside]) => {
      const text = await readFile(new URL(`./hooks/${name}`, import.meta.url), "utf8");
      return `cat > ${HOOKS}/${inside} <<'END_OF_HOOK'\n${text}\nEND_OF_HOOK`;
    }),
  );
  return [
    "set -e",
    `find ${REPORTS} -mindepth 1 -delete`,
    `mkdir ${HOOKS} ${HOOKS}/minitest ${HOOKS}/bin`,
    ...parts,
    `chmod 755 ${HOOKS}/*.sh`,
    `for name in ${PROGRAMS.join(" ")}; do if command -v "$name" >/dev/null; then ln -s ../programs.sh "${HOOKS}/bin/$name"; fi; done`,
    `touch ${HOOKS}/started`,
    "cd /workspace && pwd -P",
  ].join("\n");
}

/** Where runners write JUnit files by themselves. */
const FOUND = [
  "*/surefire-reports/*.xml",
  "*/failsafe-reports/*.xml",
  "*/test-results/*.xml",
  "*/meson-logs/testlog.junit.xml",
  "*/TEST-*.xml",
  "*/junit*.xml",
];
const SOURCES = ["java", "kt", "groovy", "scala", "cs", "fs", "vb", "rs", "bats"];
const MAX_FOUND = 400;
const MAX_SOURCES = 40_000;

/** Shell text for after the run: copies JUnit files that were written since its start, and lists files that tests may be in. */
export function collectScript(): string {
  const names = (list: readonly string[], test: string) => list.map((one) => `${test} '${one}'`).join(" -o ");
  const skip =
    "-name node_modules -prune -o -name .git -prune -o -name target -path '*/target/debug' -prune -o";
  return `cd /workspace || exit 1
number=0
find /workspace /tmp ${skip} -type f -newer ${HOOKS}/started \\( ${names(FOUND, "-path")} \\) -print 2>/dev/null | sort | head -n ${MAX_FOUND} |
  while IFS= read -r file; do number=$((number + 1)); cp -- "$file" "${REPORTS}/found-$(printf %04d $number).xml"; done
{
  find . ${skip} -type f \\( ${names(
    SOURCES.map((one) => `*.${one}`),
    "-name",
  )} \\) -print 2>/dev/null
  grep -rHoE --include='*_test.go' '^func (Test|Fuzz|Example)[A-Za-z0-9_]*' . 2>/dev/null
} | head -n ${MAX_SOURCES} >${REPORTS}/places.txt
`;
}
