/** Reads TAP from a suite's printed output: weaker evidence, since the tested code can print there too. */

import { Parser } from "tap-parser";
import type { RawCase } from "./raw-case.ts";

interface TapResult {
  readonly ok: boolean;
  readonly name?: string;
  readonly skip?: boolean | string;
  readonly todo?: boolean | string;
  readonly diag?: unknown;
}

function outcomeOf(result: TapResult): RawCase["outcome"] {
  if (result.skip !== undefined && result.skip !== false) return "skip";
  if (result.todo !== undefined && result.todo !== false) return "skip";
  return result.ok ? "pass" : "fail";
}

/** Cases of every level; empty when the text is not TAP, which needs a plan line or a version line. */
export function parseTap(output: string): readonly RawCase[] {
  if (!/^(?:TAP version \d+|\d+\.\.\d+)/m.test(output)) return [];
  const cases: RawCase[] = [];
  const listen = (parser: Parser, parents: readonly string[]): void => {
    parser.on("assert", (result: TapResult) => {
      cases.push({
        file: "",
        names: [...parents, result.name ?? ""],
        outcome: outcomeOf(result),
        message: result.diag === undefined ? "" : JSON.stringify(result.diag),
      });
    });
    parser.on("child", (child: Parser) => listen(child, [...parents, child.name]));
  };
  const parser = new Parser();
  listen(parser, []);
  parser.end(output);
  return cases.filter((one) => one.names.some((name) => name !== ""));
}
