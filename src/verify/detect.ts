/** Chooses set-up and test commands from the files of the base commit: the repository file first, then one ecosystem after another. */

import type { Ecosystem } from "./detect/ecosystem.ts";
import { detectGo, goSetup } from "./detect/go.ts";
import { detectJvm, jvmSetup } from "./detect/jvm.ts";
import { detectMake } from "./detect/make.ts";
import type { Tree } from "./detect/manifests.ts";
import { directoryOf, normalDirectory, packageAt, readTree, upwards } from "./detect/manifests.ts";
import { detectNative } from "./detect/native.ts";
import { needsOf } from "./detect/needs.ts";
import { detectNode, nodeSetup, runnerOfScript } from "./detect/node.ts";
import {
  denoSetup,
  detectBats,
  detectDeno,
  detectDotnet,
  detectElixir,
  detectPerl,
  detectScript,
  detectTaskFile,
  dotnetSetup,
  elixirSetup,
  perlSetup,
} from "./detect/others.ts";
import { detectPhp, phpSetup } from "./detect/php.ts";
import { detectPython } from "./detect/python.ts";
import { pythonSetup } from "./detect/python-setup.ts";
import { detectRuby, rubySetup } from "./detect/ruby.ts";
import { detectRust, rustSetup } from "./detect/rust.ts";
import { STACK_OF } from "./runner-kind.ts";
import { recognise } from "./runners.ts";
import type { Detect, Detected, DetectedCommand, DetectedSuite, DetectOverrides } from "./verify.ts";
import { neverEnds } from "./watch.ts";

/** In order of precedence; a further ecosystem is a further row. Wrappers that start any of the others come last. */
const ECOSYSTEMS: readonly Ecosystem[] = [
  { name: "Deno", detect: detectDeno, setup: denoSetup },
  { name: "JavaScript", detect: detectNode, setup: nodeSetup },
  { name: "Python", detect: detectPython, setup: pythonSetup },
  { name: "Rust", detect: detectRust, setup: rustSetup },
  { name: "Go", detect: detectGo, setup: goSetup },
  { name: "JVM", detect: detectJvm, setup: jvmSetup },
  { name: "Ruby", detect: detectRuby, setup: rubySetup },
  { name: "PHP", detect: detectPhp, setup: phpSetup },
  { name: ".NET", detect: detectDotnet, setup: dotnetSetup },
  { name: "Elixir", detect: detectElixir, setup: elixirSetup },
  { name: "C and C++", detect: detectNative, setup: null },
  { name: "Perl", detect: detectPerl, setup: perlSetup },
  { name: "bats", detect: detectBats, setup: null },
  { name: "make", detect: detectMake, setup: null },
  { name: "task file", detect: detectTaskFile, setup: null },
  { name: "script", detect: detectScript, setup: null },
];

const FILE = ".github/agent-fix.yml";

async function configuredSuite(tree: Tree, command: string, directory: string): Promise<DetectedSuite> {
  const own = recognise(command);
  const manifest = own === "unknown" ? await packageAt(tree, directory) : null;
  const script = /^\s*(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?([\w:.-]+)/.exec(command)?.[1];
  const text = script === undefined ? undefined : manifest?.scripts[script === "t" ? "test" : script];
  const runner = manifest === null || text === undefined ? own : runnerOfScript(manifest, text);
  return { command, directory, runner, because: `test in ${FILE}` };
}

async function setupOf(
  tree: Tree,
  overrides: DetectOverrides,
  directory: string,
): Promise<DetectedCommand | null> {
  if (overrides.setup !== null)
    return overrides.setup.trim() === ""
      ? null
      : { command: overrides.setup, directory, because: `setup in ${FILE}` };
  for (const ecosystem of ECOSYSTEMS) {
    const setup = (await ecosystem.setup?.(tree, directory)) ?? null;
    if (setup !== null) return setup;
  }
  return null;
}

/** Files that make a directory a project of its own. */
const MANIFESTS =
  /(?:^|\/)(?:package\.json|deno\.jsonc?|pyproject\.toml|setup\.(?:py|cfg)|tox\.ini|manage\.py|requirements\.txt|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|Gemfile|Rakefile|composer\.json|mix\.exs|CMakeLists\.txt|meson\.build|GNUmakefile|[Mm]akefile|[^/]+\.(?:sln|slnx|csproj|fsproj))$/;
const MAX_PROJECTS = 24;
const MAX_DEPTH = 3;

/** Directories below the root that are projects, outermost first. */
function projectsBelow(tree: Tree): readonly string[] {
  const directories = tree.paths
    .filter(
      (path) =>
        MANIFESTS.test(path) &&
        !/(?:^|\/)(?:node_modules|vendor|third_party|fixtures?|examples?|testdata)\//.test(path),
    )
    .map(directoryOf)
    .filter((directory) => directory !== "." && directory.split("/").length <= MAX_DEPTH);
  const depth = (directory: string) => directory.split("/").length;
  return [...new Set(directories)]
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
    .slice(0, MAX_PROJECTS);
}

interface Offer {
  readonly ecosystem: Ecosystem;
  readonly detected: Detected;
}

async function offersIn(tree: Tree, directory: string): Promise<readonly Offer[]> {
  const found: Offer[] = [];
  for (const ecosystem of ECOSYSTEMS) {
    const detected = await ecosystem.detect(tree, directory);
    if (detected !== null) found.push({ ecosystem, detected });
  }
  return found;
}

/** The project that all of these paths lie in, by the nearest directory that offers tests; null: the root, or several. */
async function placeOf(tree: Tree, near: readonly string[]): Promise<string | null> {
  const projects = new Set(tree.paths.filter((path) => MANIFESTS.test(path)).map(directoryOf));
  const places = new Set<string>();
  for (const path of near) {
    let place = ".";
    for (const here of upwards(directoryOf(path))) {
      if (here === "." || !projects.has(here) || (await offersIn(tree, here)).length === 0) continue;
      place = here;
      break;
    }
    places.add(place);
    if (places.size > 1) return null;
  }
  const [only] = places;
  return only === undefined || only === "." ? null : only;
}

/** A root without tests: the only project below it that has some; several are no ground for a guess, and are named. */
async function placeBelow(
  tree: Tree,
): Promise<{ readonly directory: string | null; readonly notes: readonly string[] }> {
  const places: string[] = [];
  for (const directory of projectsBelow(tree)) {
    if (places.some((place) => directory.startsWith(`${place}/`))) continue;
    if ((await offersIn(tree, directory)).length > 0) places.push(directory);
  }
  const [first, ...others] = places;
  if (first === undefined) return { directory: null, notes: [] };
  if (others.length === 0) return { directory: first, notes: [`${first} is the only directory with tests.`] };
  return {
    directory: null,
    notes: [`Tests were found in ${places.join(", ")}: name one as \`working_directory\` in ${FILE}.`],
  };
}

/** What the runner and the manifests beside it say about the machine. */
async function withNeeds(tree: Tree, suite: DetectedSuite | null): Promise<DetectedSuite | null> {
  if (suite === null) return null;
  const needs = await needsOf(tree, suite.directory, suite.runner);
  const stack = STACK_OF[suite.runner];
  return { ...suite, ...(stack === null ? {} : { stack }), ...(needs.length === 0 ? {} : { needs }) };
}

async function detectIn(tree: Tree, directory: string, overrides: DetectOverrides): Promise<Detected | null> {
  const [first, ...others] = await offersIn(tree, directory);
  if (first === undefined) return null;
  const unused = others.flatMap(({ detected }) => (detected.test === null ? [] : [detected.test]));
  return {
    setup:
      overrides.setup === null && first.ecosystem.setup !== null
        ? first.detected.setup
        : await setupOf(tree, overrides, directory),
    test: await withNeeds(tree, first.detected.test),
    notes: [
      ...first.detected.notes,
      ...unused.map(
        (suite) =>
          `Not run: \`${suite.command}\` (${suite.because}); \`test\` in ${FILE} overrules the choice.`,
      ),
    ],
  };
}

async function detectAnywhere(tree: Tree, directory: string, overrides: DetectOverrides): Promise<Detected> {
  const near = overrides.near ?? [];
  const place = directory === "." && overrides.workingDirectory === null ? await placeOf(tree, near) : null;
  if (place !== null) {
    const found = await detectIn(tree, place, overrides);
    if (found !== null)
      return { ...found, notes: [`The changed files lie in ${place}, whose tests are run.`, ...found.notes] };
  }
  const here = await detectIn(tree, directory, overrides);
  if (here !== null) return here;
  const below = directory === "." ? await placeBelow(tree) : { directory: null, notes: [] };
  const found = below.directory === null ? null : await detectIn(tree, below.directory, overrides);
  if (found !== null) return { ...found, notes: [...below.notes, ...found.notes] };
  return {
    setup: await setupOf(tree, overrides, directory),
    test: null,
    notes: [
      ...below.notes,
      `No test command was found${directory === "." ? "" : ` in ${directory}`}: name one as \`test\` in ${FILE}.`,
    ],
  };
}

/** Reads the commit only, never a work tree, so that what an agent writes chooses nothing (FAULTS H10). */
export const detect: Detect = async (files, overrides) => {
  const tree = await readTree(files);
  const wanted = overrides.workingDirectory ?? ".";
  const directory = normalDirectory(wanted);
  if (
    directory === null ||
    (directory !== "." && !tree.paths.some((path) => path.startsWith(`${directory}/`)))
  )
    return {
      setup: null,
      test: null,
      notes: [
        `working_directory in ${FILE} is \`${wanted}\`, which is no directory of the base commit: correct it there.`,
      ],
    };
  if (overrides.test === null || overrides.test.trim() === "")
    return detectAnywhere(tree, directory, overrides);
  const never = neverEnds(overrides.test);
  return {
    setup: await setupOf(tree, overrides, directory),
    test: await withNeeds(tree, await configuredSuite(tree, overrides.test, directory)),
    notes: never === null ? [] : [`\`test\` in ${FILE} will not end by itself: ${never}.`],
  };
};
