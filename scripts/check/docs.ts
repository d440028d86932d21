/** The documentation check: links, paths and commands named in the Markdown pages exist, and generated pages are fresh. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { type Page, readPage } from "./markdown.ts";
import type { Problem } from "./problem.ts";

/** A page that a script writes: its path, and what it must hold. */
export interface GeneratedPage {
  readonly path: string;
  readonly text: string;
  readonly command: string;
}

/** Paths in code that claim to be files of this repository start with one of these. */
const REPOSITORY_PATH =
  /^(?:src|test|scripts|bench|docs|bin|docker|fixtures|\.ci)\/[\w./-]*[\w/]$|^(?:README|LICENSE|SECURITY|CONTRIBUTING|CHANGELOG)\.md$/;

export function checkDocs(root: string, generated: readonly GeneratedPage[]): readonly Problem[] {
  const pages = listPages(root);
  const scripts = npmScripts(root);
  return [
    ...pages.flatMap((path) => {
      const page = readPage(readFileSync(join(root, path), "utf8"));
      return [...checkLinks(root, path, page), ...checkCode({ root, path, page, scripts })];
    }),
    ...generated.flatMap((page) => checkGenerated(root, page)),
  ];
}

function listPages(root: string): readonly string[] {
  const top = readdirSync(root).filter((name) => name.endsWith(".md"));
  const docs = existsSync(join(root, "docs"))
    ? readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".md"))
        .map((name) => posix.join("docs", name))
    : [];
  return [...top, ...docs].sort();
}

function npmScripts(root: string): ReadonlySet<string> {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts?: Record<string, string>;
  };
  return new Set(Object.keys(manifest.scripts ?? {}));
}

function checkLinks(root: string, path: string, page: Page): readonly Problem[] {
  return page.links.flatMap(({ target, line }) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const linked = file === "" ? path : posix.join(posix.dirname(path), file);
    const report = (message: string): Problem[] => [{ file: path, line, rule: "dead-link", message }];
    if (linked.startsWith("..") || !existsSync(join(root, linked))) {
      return report(`${target} names no file; correct the path`);
    }
    if (anchor === undefined || !linked.endsWith(".md")) return [];
    const there = linked === path ? page : readPage(readFileSync(join(root, linked), "utf8"));
    return there.anchors.has(anchor) ? [] : report(`${linked} has no heading with the anchor #${anchor}`);
  });
}

interface CodeQuestion {
  readonly root: string;
  readonly path: string;
  readonly page: Page;
  readonly scripts: ReadonlySet<string>;
}

function checkCode({ root, path, page, scripts }: CodeQuestion): readonly Problem[] {
  return page.code.flatMap(({ text, line }) => {
    const problems: Problem[] = [];
    const report = (rule: string, message: string) => problems.push({ file: path, line, rule, message });
    if (REPOSITORY_PATH.test(text) && !existsSync(join(root, text))) {
      report("missing-path", `${text} does not exist; correct or remove it`);
    }
    for (const match of text.matchAll(/\bnpm (?:run |run-script )([\w:-]+)|\bnpm (test|start)\b/g)) {
      const name = match[1] ?? match[2] ?? "";
      if (!scripts.has(name)) report("missing-script", `package.json has no script "${name}"`);
    }
    for (const match of text.matchAll(/(?:^|[\s/])agent-fix ([a-z]+)(?=\s|$)/g)) {
      const name = match[1] ?? "";
      if (!existsSync(join(root, "src/cli", `${name}.ts`))) {
        report("missing-subcommand", `there is no src/cli/${name}.ts; correct or remove the command`);
      }
    }
    return problems;
  });
}

function checkGenerated(root: string, page: GeneratedPage): readonly Problem[] {
  const file = join(root, page.path);
  if (existsSync(file) && readFileSync(file, "utf8") === page.text) return [];
  const message = `not what the source says; run \`${page.command}\` and commit the result`;
  return [{ file: page.path, line: 1, rule: "stale-page", message }];
}
