/** Reads the TRX files of `dotnet test --logger trx`. */

import type { ParsedReport, RawCase } from "./raw-case.ts";
import { attribute, lists, parseXml, record, textOf } from "./xml.ts";

const OUTCOMES: Readonly<Record<string, RawCase["outcome"]>> = { Passed: "pass", Failed: "fail" };

/** Class of a test by the id of its definition. */
function classes(run: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(
    lists(record(run.TestDefinitions).UnitTest).map((one) => [
      attribute(one, "id"),
      attribute(record(record(one).TestMethod), "className").split(",")[0] ?? "",
    ]),
  );
}

function resultCase(value: unknown, owners: ReadonlyMap<string, string>): RawCase {
  const one = record(value);
  const owner = owners.get(attribute(one, "testId")) ?? "";
  const name = attribute(one, "testName");
  const error = record(record(one.Output).ErrorInfo);
  const said = [textOf(error.Message), textOf(error.StackTrace)].filter((part) => part !== "");
  return {
    file: "",
    names: [owner, name.startsWith(`${owner}.`) ? name.slice(owner.length + 1) : name],
    outcome: OUTCOMES[attribute(one, "outcome")] ?? "skip",
    message: said.join("\n"),
    hint: { kind: "class", name: owner },
  };
}

/** A torn file is incomplete and without cases; one of an aborted run is incomplete with the cases it got to. */
export function parseTrx(text: string): ParsedReport {
  const parsed = parseXml(text, new Set(["UnitTest", "UnitTestResult"]));
  if (parsed === null) return { cases: [], complete: false };
  const run = record(parsed.TestRun);
  const owners = classes(run);
  const cases = lists(record(run.Results).UnitTestResult).map((one) => resultCase(one, owners));
  const ended = attribute(record(run.ResultSummary), "outcome");
  return { cases, complete: ended === "Completed" || ended === "Failed" || ended === "Passed" };
}
