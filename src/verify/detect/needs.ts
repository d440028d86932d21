/** Reads which versions of which programs the manifests ask for, so that a missing or old one can be named with its number. */

import { type RunnerKind, STACK_OF, type Stack } from "../runner-kind.ts";
import type { ToolNeed } from "../verify.ts";
import { below } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

interface Rule {
  readonly tool: string;
  /** A file name, or a pattern for files below the directory. */
  readonly file: string | RegExp;
  /** Its first group is the version as the manifest writes it. */
  readonly version: RegExp;
  /** True: the number is a lower bound although the file gives it bare. */
  readonly atLeast?: true;
}

const VERSIONS = ".tool-versions";
const bare = /^\s*v?([\w.*-]+)\s*$/m;

/** Nearest first within a stack: the first rule that finds a version of its tool counts. */
const RULES: Readonly<Record<Stack, readonly Rule[]>> = {
  javascript: [
    { tool: "node", file: "package.json", version: /"engines"\s*:\s*\{[^}]*"node"\s*:\s*"([^"]+)"/ },
    { tool: "node", file: ".nvmrc", version: bare },
    { tool: "node", file: ".node-version", version: bare },
    { tool: "node", file: "package.json", version: /"volta"\s*:\s*\{[^}]*"node"\s*:\s*"([^"]+)"/ },
    { tool: "node", file: VERSIONS, version: /^nodejs?\s+(\S+)/m },
    { tool: "pnpm", file: "package.json", version: /"packageManager"\s*:\s*"pnpm@([^"+]+)/ },
    { tool: "yarn", file: "package.json", version: /"packageManager"\s*:\s*"yarn@([^"+]+)/ },
    { tool: "bun", file: "package.json", version: /"packageManager"\s*:\s*"bun@([^"+]+)/ },
    { tool: "deno", file: ".dvmrc", version: bare },
  ],
  python: [
    { tool: "python", file: "pyproject.toml", version: /^\s*requires-python\s*=\s*["']([^"']+)/m },
    { tool: "python", file: "pyproject.toml", version: /^\s*python\s*=\s*["']([^"']+)/m },
    { tool: "python", file: "setup.cfg", version: /^\s*python_requires\s*=\s*(.+)$/m },
    { tool: "python", file: "setup.py", version: /python_requires\s*=\s*["']([^"']+)/ },
    { tool: "python", file: ".python-version", version: bare },
    { tool: "python", file: "Pipfile", version: /^\s*python_(?:full_)?version\s*=\s*["']([^"']+)/m },
    { tool: "python", file: VERSIONS, version: /^python\s+(\S+)/m },
  ],
  go: [
    { tool: "go", file: "go.mod", version: /^go\s+([\d.]+\S*)/m, atLeast: true },
    { tool: "go", file: "go.work", version: /^go\s+([\d.]+\S*)/m, atLeast: true },
    { tool: "go", file: VERSIONS, version: /^golang\s+(\S+)/m },
  ],
  rust: [
    { tool: "rust", file: "rust-toolchain.toml", version: /^\s*channel\s*=\s*["']([^"']+)/m },
    { tool: "rust", file: "rust-toolchain", version: /(?:channel\s*=\s*["'])?([\w.-]+)/ },
    { tool: "rust", file: "Cargo.toml", version: /^\s*rust-version\s*=\s*["']([^"']+)/m, atLeast: true },
    { tool: "rust", file: VERSIONS, version: /^rust\s+(\S+)/m },
  ],
  java: [
    {
      tool: "java",
      file: "pom.xml",
      version: /<(?:maven\.compiler\.(?:release|source|target)|java\.version|release)>\s*([\d.]+)/,
      atLeast: true,
    },
    {
      tool: "java",
      file: "build.gradle.kts",
      version: /JavaLanguageVersion\.of\((\d+)\)|jvmToolchain\((\d+)\)/,
    },
    { tool: "java", file: "build.gradle", version: /JavaLanguageVersion\.of\((\d+)\)/ },
    {
      tool: "java",
      file: "build.gradle",
      version: /sourceCompatibility\s*=\s*(?:JavaVersion\.VERSION_)?["']?([\d._]+)/,
      atLeast: true,
    },
    { tool: "java", file: ".java-version", version: bare },
    { tool: "java", file: ".sdkmanrc", version: /^java=(\S+)/m },
    { tool: "java", file: VERSIONS, version: /^java\s+(\S+)/m },
  ],
  ruby: [
    { tool: "ruby", file: ".ruby-version", version: /^(?:ruby-)?([\w.-]+)/ },
    { tool: "ruby", file: "Gemfile", version: /^\s*ruby\s+["']([^"']+)/m },
    { tool: "ruby", file: VERSIONS, version: /^ruby\s+(\S+)/m },
  ],
  php: [
    { tool: "php", file: "composer.json", version: /"require"\s*:\s*\{[^}]*"php"\s*:\s*"([^"]+)"/ },
    { tool: "php", file: VERSIONS, version: /^php\s+(\S+)/m },
  ],
  dotnet: [
    { tool: "dotnet", file: "global.json", version: /"version"\s*:\s*"([^"]+)"/ },
    {
      tool: "dotnet",
      file: /\.(?:cs|fs|vb)proj$/,
      version: /<TargetFrameworks?>[^<]*?net(\d+\.\d+)/,
      atLeast: true,
    },
  ],
  elixir: [
    { tool: "elixir", file: "mix.exs", version: /\belixir:\s*"([^"]+)"/ },
    { tool: "elixir", file: VERSIONS, version: /^elixir\s+(\S+)/m },
  ],
  c: [
    {
      tool: "cmake",
      file: "CMakeLists.txt",
      version: /cmake_minimum_required\s*\(\s*VERSION\s+([\d.]+)/i,
      atLeast: true,
    },
    { tool: "meson", file: "meson.build", version: /meson_version\s*:\s*'([^']+)'/ },
  ],
  perl: [
    {
      tool: "perl",
      file: /^(?:Makefile|Build)\.PL$/,
      version: /(?:MIN_PERL_VERSION\s*=>\s*|requires\s*=>[^}]*perl\s*=>\s*)["']?v?([\d.]+)/,
      atLeast: true,
    },
    {
      tool: "perl",
      file: "cpanfile",
      version: /requires\s+["']perl["']\s*,\s*["']?v?([\d.]+)/,
      atLeast: true,
    },
    { tool: "perl", file: ".perl-version", version: bare },
  ],
};

/** `>=1.2` as people write it; a bare number of a file that names a minimum gets its sign. */
function shown(version: string, atLeast: boolean): string {
  const text = version.trim().replaceAll(">=", "≥ ").replaceAll("<=", "≤ ").replace(/\s+/g, " ").slice(0, 60);
  return atLeast && /^\d/.test(text) ? `≥ ${text}` : text;
}

async function matchingFiles(
  tree: Tree,
  directory: string,
  file: string | RegExp,
): Promise<readonly string[]> {
  if (typeof file !== "string") return below(tree, directory, file).slice(0, 20);
  const path = inside(directory, file);
  return tree.has(path) ? [path] : [];
}

/** Every tool at most once, from the nearest directory that says something about it. */
export async function needsOf(
  tree: Tree,
  directory: string,
  runner: RunnerKind,
): Promise<readonly ToolNeed[]> {
  const stack = STACK_OF[runner];
  if (stack === null) return [];
  const found = new Map<string, ToolNeed>();
  for (const here of upwards(directory))
    for (const rule of RULES[stack]) {
      if (found.has(rule.tool)) continue;
      for (const path of await matchingFiles(tree, here, rule.file)) {
        const match = rule.version.exec((await tree.text(path)) ?? "");
        const version = match?.[1] ?? match?.[2];
        if (version === undefined) continue;
        found.set(rule.tool, { tool: rule.tool, version: shown(version, rule.atLeast === true), from: path });
        break;
      }
    }
  return [...found.values()];
}
