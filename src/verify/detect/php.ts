/** Detection for PHP: the composer script `test`, else phpunit or pest by configuration. */

import { recognise } from "../runners.ts";
import type { Detected, DetectedCommand, DetectedSuite, RunnerKind } from "../verify.ts";
import { below } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

interface Composer {
  readonly scripts: Readonly<Record<string, string>>;
  readonly packages: readonly string[];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function parseComposer(text: string): Composer | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  const members = record(raw);
  const scripts = Object.entries(record(members.scripts)).map(
    ([name, value]) => [name, Array.isArray(value) ? value.join(" && ") : String(value)] as const,
  );
  const packages = [members.require, members["require-dev"]].flatMap((one) => Object.keys(record(one)));
  return { scripts: Object.fromEntries(scripts), packages };
}

async function composerAt(tree: Tree, directory: string): Promise<Composer | null> {
  const text = await tree.text(inside(directory, "composer.json"));
  return text === null ? null : parseComposer(text);
}

export async function phpSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  for (const here of upwards(directory)) {
    const composer = await composerAt(tree, here);
    if (composer === null) continue;
    if (composer.packages.every((name) => name === "php" || name.startsWith("ext-"))) return null;
    const locked = tree.has(inside(here, "composer.lock"));
    return {
      command: "composer install --no-interaction --no-progress --prefer-dist",
      directory: here,
      because: inside(here, locked ? "composer.lock" : "composer.json"),
    };
  }
  return null;
}

/** The runner behind a composer script: its own text, else that of the scripts it names by `@`. */
function runnerOfScript(composer: Composer, text: string): RunnerKind {
  const own = recognise(text);
  if (own !== "unknown") return own;
  const next = /@([\w:-]+)/.exec(text)?.[1];
  const named = next === undefined ? undefined : composer.scripts[next];
  return named === undefined || named === text ? "unknown" : recognise(named);
}

async function suiteOf(tree: Tree, directory: string): Promise<DetectedSuite | null> {
  const composer = await composerAt(tree, directory);
  const script = composer?.scripts.test;
  if (composer !== null && script !== undefined)
    return {
      command: "composer test",
      directory,
      runner: runnerOfScript(composer, script),
      because: `scripts.test in ${inside(directory, "composer.json")}`,
    };
  const configured = ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"].find((name) =>
    tree.has(inside(directory, name)),
  );
  const [first] = below(tree, directory, /Test\.php$/);
  if (configured === undefined && (first === undefined || composer === null)) return null;
  const program = ["pest", "phpunit"].find((name) =>
    composer?.packages.some((one) => one === `${name === "pest" ? "pestphp" : "phpunit"}/${name}`),
  );
  const folder =
    configured === undefined && first !== undefined ? ` ${first.includes("tests/") ? "tests" : "."}` : "";
  return {
    command: `${program === undefined ? "phpunit" : `vendor/bin/${program}`}${folder}`,
    directory,
    runner: "phpunit",
    because: configured === undefined ? (first ?? "composer.json") : inside(directory, configured),
  };
}

export async function detectPhp(tree: Tree, directory: string): Promise<Detected | null> {
  const test = await suiteOf(tree, directory);
  return test === null ? null : { setup: await phpSetup(tree, directory), test, notes: [] };
}
