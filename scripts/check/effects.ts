/** The rules on effects: which folders may touch the environment, processes, databases, GitHub's client, time, chance and the terminal. */

import type { Problem } from "./problem.ts";
import { type AstNode, isNode, type Source, walk } from "./source.ts";

interface Effect {
  readonly rule: string;
  /** Path prefixes that may have it. */
  readonly allowed: readonly string[];
  readonly remedy: string;
  /** Modules whose import (types count) is the effect; a `/` or `-` at the end makes it a prefix. */
  readonly modules?: readonly string[];
  /** `object.property`, read in any spelling. */
  readonly members?: readonly string[];
  /** Global names. */
  readonly globals?: readonly string[];
  /** Names imported from a module that is otherwise free: `[module, name]`. */
  readonly imported?: readonly (readonly [string, string])[];
}

export const EFFECTS: readonly Effect[] = [
  {
    rule: "environment",
    allowed: ["src/config/"],
    remedy: "take the value from the loaded configuration (config/environment.ts)",
    members: ["process.env"],
    imported: [["node:process", "env"]],
  },
  {
    rule: "child-process",
    allowed: ["src/sandbox/", "src/workspace/git-child.ts", "src/github/sim/"],
    remedy: "run commands of a repository in a sandbox session, and git through workspace/git.ts",
    modules: ["node:child_process", "child_process"],
  },
  {
    rule: "database",
    allowed: ["src/store/", "src/queue/"],
    remedy: "use the store or queue port",
    modules: ["node:sqlite", "pg", "pg-boss"],
  },
  {
    rule: "octokit",
    allowed: ["src/app/", "src/github/"],
    remedy: "use the GitHub port (github/github.ts)",
    modules: ["@octokit/", "octokit", "universal-github-app-jwt"],
  },
  {
    rule: "time",
    allowed: ["src/base/"],
    remedy: "take a Clock (base/clock.ts) as a parameter",
    modules: ["node:timers", "node:timers/", "timers"],
    members: ["Date.now", "performance.now", "process.hrtime", "AbortSignal.timeout"],
    globals: ["setTimeout", "setInterval", "setImmediate"],
    imported: [["node:perf_hooks", "performance"]],
  },
  {
    rule: "chance",
    allowed: ["src/base/"],
    remedy: "take Ids (base/ids.ts) as a parameter",
    members: [
      "Math.random",
      ...["randomUUID", "randomBytes", "randomInt", "getRandomValues"].map((name) => `crypto.${name}`),
    ],
    imported: ["randomUUID", "randomBytes", "randomInt", "getRandomValues", "webcrypto"].map(
      (name) => ["node:crypto", name] as const,
    ),
  },
  {
    rule: "terminal",
    allowed: ["src/cli/", "src/demo/"],
    remedy: "take a Log (base/log.ts) as a parameter, or return the text",
    globals: ["console"],
    modules: ["node:console", "node:readline", "node:readline/"],
    members: ["process.stdout", "process.stderr", "process.stdin", "process.exit"],
  },
  {
    rule: "probot",
    allowed: ["src/app/", "src/cli/"],
    remedy: "events come in through app, everything else goes through the GitHub port",
    modules: ["probot"],
  },
  {
    // Only where Probot may be: in github/ the name stands for a client of one repository and one phase.
    rule: "context-octokit",
    allowed: ["src/github/"],
    remedy:
      "in a Probot handler it carries a token for all repositories; ask the GitHub port for one repository and one phase",
    members: ["context.octokit", "ctx.octokit"],
  },
];

/** In tests only these are banned: they replace modules and methods, and a test of replaced code tests nothing. */
export const TEST_EFFECTS: readonly Effect[] = [
  {
    rule: "module-mock",
    allowed: [],
    remedy: "hand a scripted adapter in through the port, and use the real thing elsewhere",
    members: ["mock.module", "mock.method", "mock.getter", "mock.setter", "mock.timers"],
  },
];

export function checkEffects(source: Source, effects: readonly Effect[]): readonly Problem[] {
  const banned = effects.filter((effect) => !effect.allowed.some((prefix) => source.path.startsWith(prefix)));
  const problems: Problem[] = [];
  const report = (effect: Effect, what: string, line: number) =>
    problems.push({
      file: source.path,
      line,
      rule: effect.rule,
      message: `${what} is ${where(effect)}; ${effect.remedy}`,
    });
  for (const one of source.imports) {
    for (const effect of banned) {
      if (effect.modules?.some((name) => matches(name, one.specifier)) === true)
        report(effect, one.specifier, one.line);
    }
  }
  walk(source.program, (node, parent) => {
    for (const effect of banned) {
      for (const what of effectsAt(node, parent, effect)) report(effect, what, source.lineOf(node.start));
    }
  });
  return problems;
}

function where(effect: Effect): string {
  return effect.allowed.length === 0 ? "banned" : `confined to ${effect.allowed.join(", ")}`;
}

function matches(module: string, specifier: string): boolean {
  return module.endsWith("/") ? specifier.startsWith(module) : specifier === module;
}

function effectsAt(node: AstNode, parent: AstNode | null, effect: Effect): readonly string[] {
  if (node.type === "MemberExpression") return memberEffects(node, effect);
  if (node.type === "VariableDeclarator") return destructured(node.id, node.init, effect);
  if (node.type === "ImportDeclaration") return importedNames(node, effect);
  if (effect.rule === "time" && isBareDate(node)) return ["new Date() without an argument"];
  if (
    node.type === "Identifier" &&
    isReference(node, parent) &&
    effect.globals?.includes(String(node.name))
  ) {
    return [String(node.name)];
  }
  return [];
}

/** `process.env`, `process["env"]`, `globalThis.process.env`; `globalThis.setTimeout` counts as the global. */
function memberEffects(node: AstNode, effect: Effect): readonly string[] {
  const property = propertyName(node);
  const object = lastName(node.object);
  if (property === null || object === null) return [];
  if (object === "globalThis" && effect.globals?.includes(property) === true)
    return [`globalThis.${property}`];
  const path = `${object}.${property}`;
  return effect.members?.includes(path) === true ? [path] : [];
}

/** `const { env } = process`, and a context's octokit taken out of it by a pattern. */
function destructured(pattern: unknown, init: unknown, effect: Effect): readonly string[] {
  const object = lastName(init);
  if (object === null || !isNode(pattern) || pattern.type !== "ObjectPattern") return [];
  const keys = (pattern.properties as readonly AstNode[]).map((property) => lastName(property.key));
  return keys.map((key) => `${object}.${key}`).filter((path) => effect.members?.includes(path) === true);
}

function importedNames(node: AstNode, effect: Effect): readonly string[] {
  const module = isNode(node.source) ? String(node.source.value) : "";
  const specifiers = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : [];
  return (effect.imported ?? []).flatMap(([from, name]) =>
    from === (module.startsWith("node:") ? module : `node:${module}`) &&
    specifiers.some((one) => lastName(one.imported) === name)
      ? [`${name} of ${module}`]
      : [],
  );
}

function isBareDate(node: AstNode): boolean {
  const isDate = isNode(node.callee) && node.callee.type === "Identifier" && node.callee.name === "Date";
  if (node.type === "CallExpression") return isDate;
  return node.type === "NewExpression" && isDate && (node.arguments as readonly unknown[]).length === 0;
}

/** True when the identifier stands for a value, not for the name of a member or a key. */
function isReference(node: AstNode, parent: AstNode | null): boolean {
  if (parent === null || parent.type === "TSTypeQuery") return false;
  if (parent.type === "MemberExpression") return parent.object === node || parent.computed === true;
  return parent.key !== node || parent.shorthand === true;
}

function propertyName(member: AstNode): string | null {
  const property = member.property;
  if (!isNode(property)) return null;
  if (member.computed !== true) return lastName(property);
  return typeof property.value === "string" ? property.value : null;
}

/** `a` → a; `x.a` → a; null for anything else. */
function lastName(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === "Identifier") return String(node.name);
  return node.type === "MemberExpression" ? propertyName(node) : null;
}
