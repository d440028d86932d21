/** Chooses set-up and test commands from the files of the base commit: the repository file first, then one ecosystem after another. */

import { detectMake } from "./detect/make.ts";
import type { Tree } from "./detect/manifests.ts";
import { normalDirectory, packageAt, readTree } from "./detect/manifests.ts";
import { detectNode, nodeSetup, runnerOfScript } from "./detect/node.ts";
import { detectPython, pythonSetup } from "./detect/python.ts";
import { recognise } from "./runners.ts";
import type { Detect, Detected, DetectedCommand, DetectedSuite, DetectOverrides } from "./verify.ts";

interface Ecosystem {
  readonly name: string;
  readonly detect: (tree: Tree, directory: string) => Promise<Detected | null>;
  /** Set-up by itself, for a repository whose test command is configured; null where the ecosystem has none. */
  readonly setup: ((tree: Tree, directory: string) => Promise<DetectedCommand | null>) | null;
}

/** In order of precedence; a further ecosystem is a further row. */
const ECOSYSTEMS: readonly Ecosystem[] = [
  { name: "JavaScript", detect: detectNode, setup: nodeSetup },
  { name: "Python", detect: detectPython, setup: pythonSetup },
  { name: "make", detect: detectMake, setup: null },
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
  if (overrides.test !== null && overrides.test.trim() !== "")
    return {
      setup: await setupOf(tree, overrides, directory),
      test: await configuredSuite(tree, overrides.test, directory),
      notes: [],
    };
  const found: { readonly ecosystem: Ecosystem; readonly detected: Detected }[] = [];
  for (const ecosystem of ECOSYSTEMS) {
    const detected = await ecosystem.detect(tree, directory);
    if (detected !== null) found.push({ ecosystem, detected });
  }
  const [first, ...others] = found;
  if (first === undefined)
    return {
      setup: await setupOf(tree, overrides, directory),
      test: null,
      notes: [
        `No test command was found${directory === "." ? "" : ` in ${directory}`}: name one as \`test\` in ${FILE}.`,
      ],
    };
  const unused = others.flatMap(({ detected }) => (detected.test === null ? [] : [detected.test]));
  return {
    setup:
      overrides.setup === null && first.ecosystem.setup !== null
        ? first.detected.setup
        : await setupOf(tree, overrides, directory),
    test: first.detected.test,
    notes: [
      ...first.detected.notes,
      ...unused.map(
        (suite) =>
          `Not run: \`${suite.command}\` (${suite.because}); \`test\` in ${FILE} overrules the choice.`,
      ),
    ],
  };
};
