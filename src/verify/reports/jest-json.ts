/** Reads jest's JSON report, which vitest writes in the same shape. */

import { stripVTControlCharacters } from "node:util";
import { z } from "zod";
import type { ParsedReport, RawCase } from "./raw-case.ts";

const assertion = z.object({
  ancestorTitles: z.array(z.string()),
  title: z.string(),
  status: z.string(),
  failureMessages: z.array(z.string()).nullish(),
});

const report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().nullish(),
      assertionResults: z.array(assertion),
    }),
  ),
});

function outcomeOf(status: string): RawCase["outcome"] {
  if (status === "passed") return "pass";
  return status === "failed" ? "fail" : "skip";
}

/** Text that is no such report (a killed run leaves none or half of one) is an incomplete report without cases. */
export function parseJestJson(text: string): ParsedReport {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { cases: [], complete: false };
  }
  const parsed = report.safeParse(value);
  if (!parsed.success) return { cases: [], complete: false };
  const cases = parsed.data.testResults.flatMap((file): readonly RawCase[] => {
    const own = file.assertionResults.map((one) => ({
      file: file.name,
      names: [...one.ancestorTitles, one.title],
      outcome: outcomeOf(one.status),
      message: stripVTControlCharacters((one.failureMessages ?? []).join("\n")),
    }));
    // A file that could not be loaded failed without a single failing test.
    if (file.status !== "failed" || own.some((one) => one.outcome === "fail")) return own;
    return [
      ...own,
      { file: file.name, names: [], outcome: "fail", message: stripVTControlCharacters(file.message ?? "") },
    ];
  });
  return { cases, complete: true };
}
