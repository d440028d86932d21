/** A suite's command for some of its test files, where the runner can be told so. */

import type { DetectedSuite, RunnerKind } from "./verify.ts";

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function listed(files: readonly string[]): string {
  return files.map(quoted).join(" ");
}

/** Command and files (from the suite's directory) as one command; null: this command or these files cannot be told. */
type Narrow = (command: string, files: readonly string[]) => string | null;

const PROGRAM = String.raw`(?:CI=\S+ )?(?:npx (?:--no-install )?|pnpm (?:exec )?|yarn (?:run )?|bunx |bundle exec |(?:\./)?(?:node_modules/\.bin|vendor/bin|bin)/)?`;
const OPTIONS = String.raw`(?: --?[\w.=:/,-]+)*`;

/** Files behind a command that ends with the runner's call; a runner that is given folders as well runs more, which does no harm. */
function appended(call: string): Narrow {
  const direct = new RegExp(`^${PROGRAM}${call}${OPTIONS}$`);
  return (command, files) => (direct.test(command) ? `${command} ${listed(files)}` : null);
}

/** Scripts of package managers, which hand arguments on behind `--`. */
const SCRIPT = /^(?:npm|pnpm|yarn)(?: run)? test$|^npm t$|^(?:npm|pnpm) run [\w:.-]+$/;
function alsoScripted(direct: Narrow): Narrow {
  return (command, files) =>
    SCRIPT.test(command)
      ? `${command}${command.startsWith("yarn") ? "" : " --"} ${listed(files)}`
      : direct(command, files);
}

/** A runner that would run a file twice when its folder is given as well: the files take the folders' place. */
function replaced(call: string): Narrow {
  const direct = new RegExp(`^(${PROGRAM}${call}(?: -[\\w-]+)*)(?: [\\w./-]+)*$`);
  return (command, files) => {
    const start = direct.exec(command)?.[1];
    return start === undefined ? null : `${start} ${listed(files)}`;
  };
}

/** `core/src/test/java/shop/AreaTest.java` is the class `shop.AreaTest`; null for a file of no source folder. */
function classOf(file: string): string | null {
  const found =
    /(?:^|\/)src\/(?:test|\w+Test)\/(?:java|kotlin|groovy|scala)\/(.+)\.(?:java|kt|groovy|scala)$/.exec(file);
  return found?.[1]?.replaceAll("/", ".") ?? null;
}

function byClass(direct: RegExp, argument: (classes: readonly string[]) => string): Narrow {
  return (command, files) => {
    const classes = files.map(classOf);
    const all = classes.filter((one) => one !== null);
    return direct.test(command) && all.length === files.length ? `${command} ${argument(all)}` : null;
  };
}

const go: Narrow = (command, files) => {
  if (!/^go test(?: -[\w.=-]+)* \.\/\.\.\.$/.test(command)) return null;
  const packages = [
    ...new Set(files.map((file) => `./${file.slice(0, Math.max(0, file.lastIndexOf("/")))}`)),
  ];
  return `${command.slice(0, -"./...".length)}${listed(packages)}`;
};

/** Only integration tests are files to cargo. */
const cargo: Narrow = (command, files) => {
  const targets = files.map((file) => /^tests\/([\w-]+)\.rs$/.exec(file)?.[1]);
  if (!/^cargo test(?: --[\w=-]+)*$/.test(command) || targets.includes(undefined)) return null;
  return `${command} ${targets.map((target) => `--test ${target}`).join(" ")}`;
};

const unittest: Narrow = (command, files) => {
  const start = /^(python[\d.]* -m unittest) discover(?: -p '[^']*')?$/.exec(command)?.[1];
  return start === undefined || !files.every((file) => file.endsWith(".py"))
    ? null
    : `${start} ${listed(files)}`;
};

const phpunit: Narrow = (command, files) => (files.length === 1 ? appended("phpunit")(command, files) : null);

const NARROW: Partial<Record<RunnerKind, Narrow>> = {
  "node-test": alsoScripted(appended(String.raw`node(?: --[\w=-]+)* --test`)),
  vitest: alsoScripted(appended("vitest(?: run)?")),
  jest: alsoScripted(appended("jest")),
  mocha: alsoScripted(appended("mocha")),
  ava: alsoScripted(appended("ava")),
  tap: alsoScripted(appended("tap(?: run)?")),
  jasmine: alsoScripted(appended("jasmine")),
  deno: appended("deno test"),
  bun: appended("bun test"),
  pytest: appended(String.raw`(?:python[\d.]* -m )?(?:pytest|py\.test)`),
  unittest,
  cargo,
  go,
  maven: byClass(/^(?:\.\/)?mvnw?\b.* test$/, (classes) =>
    [
      `-Dtest=${quoted(classes.join(","))}`,
      "-DfailIfNoTests=false",
      "-Dsurefire.failIfNoSpecifiedTests=false",
    ].join(" "),
  ),
  gradle: byClass(/^(?:\.\/)?gradlew?\b.* test\b/, (classes) =>
    classes.map((one) => `--tests ${quoted(one)}`).join(" "),
  ),
  rspec: appended("rspec"),
  minitest: appended("rails test"),
  phpunit,
  mix: appended("mix test"),
  prove: replaced("prove"),
  bats: replaced("bats"),
};

const MAX_FILES = 50;

/** The command for these files, paths from the repository root; null: the runner cannot be told, or a file lies outside the suite's directory. */
export function narrowTo(suite: DetectedSuite, files: readonly string[]): string | null {
  if (files.length === 0 || files.length > MAX_FILES) return null;
  const inside = suite.directory === "." ? "" : `${suite.directory}/`;
  if (!files.every((file) => file.startsWith(inside) && !file.startsWith("-"))) return null;
  const own = files.map((file) => file.slice(inside.length));
  if (own.some((file) => file.startsWith("-"))) return null;
  return NARROW[suite.runner]?.(suite.command.trim(), own) ?? null;
}
