/** Reads the lines that `mix test --trace` prints: a module with its file, then its tests. */

import type { RawCase } from "./raw-case.ts";

const MODULE = /^(\S+) \[(.+\.exs)\]$/;
const TEST =
  /^ {2}\* (?:test |doctest |property )?(.+?) (?:\((?:[\d.]+ms|skipped|excluded|invalid)\)|\(L#\d+\)) ?(?:\[L#\d+\])?$/;
const FAILURE = /^ {2}\d+\) (?:test |doctest |property )?(.+) \((\S+)\)$/;

/** Failures are numbered below the lines of a module; a test named there failed. */
function failures(output: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const lines = output.split("\n");
  lines.forEach((line, at) => {
    const [, name, module] = FAILURE.exec(line) ?? [];
    if (name === undefined || module === undefined) return;
    const end = lines.findIndex((other, index) => index > at && /^(?: {2}\* | {2}\d+\) |\S)/.test(other));
    const text = lines.slice(at + 1, end < 0 ? undefined : end).map((one) => one.trim());
    found.set(`${module} ${name}`, text.filter((one) => one !== "").join("\n"));
  });
  return found;
}

/** Empty when the text is no such output. */
export function parseMixTrace(output: string): readonly RawCase[] {
  const failed = failures(output);
  const seen = new Set<string>();
  const cases: RawCase[] = [];
  let module: { readonly name: string; readonly file: string } | null = null;
  for (const line of output.split("\n")) {
    const [, name, file] = MODULE.exec(line) ?? [];
    if (name !== undefined && file !== undefined) module = { name, file };
    const test = TEST.exec(line)?.[1];
    if (test === undefined || module === null) continue;
    const key = `${module.name} ${test}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const message = failed.get(key);
    const skipped = /\((?:skipped|excluded)\)/.test(line);
    const outcome = message !== undefined ? "fail" : skipped ? "skip" : "pass";
    cases.push({ file: module.file, names: [module.name, test], outcome, message: message ?? "" });
  }
  return cases;
}
