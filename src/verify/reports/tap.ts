/** Reads TAP: from a file that a runner wrote, or from a suite's printed output. */

import { Parser } from "tap-parser";
import type { ParsedReport, RawCase } from "./raw-case.ts";

interface TapResult {
  readonly ok: boolean;
  readonly name?: string;
  readonly id?: number;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
  readonly diag?: unknown;
}

function outcomeOf(result: TapResult): RawCase["outcome"] {
  if (result.skip !== undefined && result.skip !== false) return "skip";
  if (result.todo !== undefined && result.todo !== false) return "skip";
  return result.ok ? "pass" : "fail";
}

/** YAML diagnostics as lines; a message or an error comes first. */
function messageOf(diag: unknown): string {
  if (diag === undefined || diag === null) return "";
  if (typeof diag !== "object") return String(diag);
  const { message, error, stack, at, ...rest } = diag as Record<string, unknown>;
  const said = [message, error].filter((one) => typeof one === "string");
  const place = [stack, at].map((one) => (typeof one === "string" ? one : undefined));
  const shown =
    said.length > 0 ? [...said, ...place.filter((one) => one !== undefined)] : [JSON.stringify(diag)];
  const compared = JSON.stringify(rest);
  return [...shown, ...(said.length > 0 && compared !== "{}" ? [compared] : [])].join("\n");
}

/** tap writes no plan for its files, but always these lines at the end. */
const TAP_ENDED = /^# (?:\{ total:|time=)/m;
const ENDING = 400;
/** ava's line for a file that failed outside of its tests. */
const AVA_FILE = /^(\S+\.[cm]?[jt]sx?) (?:exited|exceeded|timed out|failed|made no|did not)/;

interface Heard {
  readonly names: readonly string[];
  readonly result: TapResult;
  /** A result that sums up the tests below it. */
  readonly parent: boolean;
}

function listen(text: string): { readonly heard: readonly Heard[]; readonly ok: boolean } {
  const heard: Heard[] = [];
  const groups = new Set<string>();
  const attach = (parser: Parser, parents: readonly string[]): void => {
    parser.on("assert", (result: TapResult) => {
      const name = result.name === undefined || result.name === "" ? `test ${result.id ?? ""}` : result.name;
      const names = [...parents, name];
      heard.push({ names, result, parent: groups.has(names.join("\n")) });
    });
    parser.on("child", (child: Parser) => {
      const names = [...parents, child.name];
      groups.add(names.join("\n"));
      attach(child, names);
    });
  };
  let bailed = false;
  const parser = new Parser();
  parser.on("bailout", () => {
    bailed = true;
  });
  attach(parser, []);
  parser.end(text);
  const planned = parser.results?.plan.end ?? null;
  return { heard, ok: !bailed && planned !== null };
}

/** Cases of every level; empty when the text is not TAP, which needs a plan line or a version line. */
export function parseTap(output: string): readonly RawCase[] {
  if (!/^(?:TAP version \d+|\d+\.\.\d+)/m.test(output)) return [];
  return listen(output).heard.map(({ names, result }) => ({
    file: "",
    names,
    outcome: outcomeOf(result),
    message: messageOf(result.diag),
  }));
}

/** ava joins the parts of a path without its ending: `lib › total › sums` is a test of `lib/total.js` or `test/lib/total.js`. */
function avaFile(
  name: string,
  files: readonly string[],
): { readonly file: string; readonly rest: string } | null {
  const parts = name.split(" › ");
  const stems = files.map((file) => ({
    file,
    stem: file
      .replace(/\.[^./]+$/, "")
      .replace(/(?:\.test|\.spec|-test)$/, "")
      .split("/"),
  }));
  for (let length = parts.length - 1; length > 0; length--) {
    const wanted = parts.slice(0, length).join("/");
    const found = stems.filter(({ stem }) => `/${stem.join("/")}`.endsWith(`/${wanted}`));
    if (found.length === 1 && found[0] !== undefined)
      return { file: found[0].file, rest: parts.slice(length).join(" › ") };
  }
  const [only] = files;
  return files.length === 1 && only !== undefined ? { file: only, rest: name } : null;
}

/** The report of `tap`, whose outermost tests are files, or ava's, with our lines on its files; leaves alone count where there are some. */
export function parseTapReport(text: string): ParsedReport {
  const files = [...text.matchAll(/^# file (?:file:\/\/)?(.+)$/gm)].map((match) => match[1] ?? "");
  const { heard, ok } = listen(text);
  const cases = heard.flatMap(({ names, result, parent }): readonly RawCase[] => {
    const outcome = outcomeOf(result);
    const message = messageOf(result.diag);
    const [first = "", ...rest] = names;
    if (files.length > 0) {
      const broken = AVA_FILE.exec(first);
      if (broken !== null) return [{ file: broken[1] ?? "", names: [], outcome, message: message || first }];
      const found = avaFile(first, [...new Set(files)]);
      const own = found === null ? [first] : [found.rest];
      return [{ file: found?.file ?? "", names: [...own, ...rest], outcome, message }];
    }
    // A file's own line says only what its tests say, unless it failed with none failing below it.
    const sums = parent && (outcome !== "fail" || heard.some((one) => !one.parent && isBelow(one, names)));
    return sums ? [] : [{ file: first, names: rest, outcome, message }];
  });
  return { cases, complete: ok || TAP_ENDED.test(text.slice(-ENDING)) };
}

function isBelow(one: Heard, names: readonly string[]): boolean {
  return outcomeOf(one.result) === "fail" && names.every((name, at) => one.names[at] === name);
}
