/** Reads what cargo's test binaries say: the log file our stand-in asks of each, and the printed text where there is no such file. */

import type { ParsedReport, RawCase } from "./raw-case.ts";

const LOG_LINE = /^(ok|failed|ignored) (.+?)(?:: .*)?$/;
const TEXT_LINE = /^test (.+?)(?: - should panic| - compile(?: fail)?)? \.\.\. (ok|FAILED|failed|ignored)\b/;
const OUTCOMES: Readonly<Record<string, RawCase["outcome"]>> = {
  ok: "pass",
  failed: "fail",
  FAILED: "fail",
  ignored: "skip",
};

/** `src/lib.rs - area::square (line 3)`: a documentation test; its line moves with every edit and is no part of the name. */
const DOCTEST = /^(\S+\.(?:rs|md)) - (.*?) ?\(line \d+\)$/;

/** What each failed test printed, from the `---- name stdout ----` sections. */
function messages(output: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const sections = output.split(/^---- (.+) stdout ----$/m);
  for (let at = 1; at + 1 < sections.length; at += 2) {
    const text = (sections[at + 1] ?? "").split(/^(?:failures:|test result:)/m)[0] ?? "";
    found.set(
      sections[at] ?? "",
      text
        .split("\n")
        .filter((line) => line !== "" && !/^(?:note: run with `RUST_BACKTRACE|stack backtrace:)/.test(line))
        .join("\n"),
    );
  }
  return found;
}

function header(text: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1] ?? "";
}

/** `target/debug/deps/shop-0a1b2c` is crate `shop`. */
function crateOf(binary: string): string {
  return binary.slice(binary.lastIndexOf("/") + 1).replace(/-[0-9a-f]{8,}$/, "");
}

/** One test binary: headers, the log that libtest wrote, and what was printed; the count at the start must be met by the log. */
export function parseLibtest(text: string): ParsedReport {
  const [head = "", log = "", output = ""] = text.split(/^=== (?:log|output)$/m);
  const directory = header(head, "directory").replace(/^\/workspace\/?/, "");
  const crate = crateOf(header(head, "binary"));
  const said = messages(output);
  const cases = log.split("\n").flatMap((line): readonly RawCase[] => {
    const [, outcome = "", name = ""] = LOG_LINE.exec(line) ?? [];
    if (name === "") return [];
    const names = name.split("::");
    return [
      {
        file: "",
        names: [crate, name],
        outcome: OUTCOMES[outcome] ?? "fail",
        message: said.get(name) ?? "",
        hint: { kind: "rust", directory, crate, names },
      },
    ];
  });
  const announced = /^running (\d+) tests?$/m.exec(output)?.[1];
  return { cases, complete: /^test result:/m.test(output) && announced === String(cases.length) };
}

/** All `test … ... ok` lines of printed text; the binary of a line is not in it. */
export function parseLibtestText(output: string): readonly RawCase[] {
  const said = messages(output);
  return output.split("\n").flatMap((line): readonly RawCase[] => {
    const [, name = "", outcome = ""] = TEXT_LINE.exec(line) ?? [];
    if (name === "") return [];
    const [, file, item = ""] = DOCTEST.exec(name) ?? [];
    return [
      {
        file: file ?? "",
        names: file === undefined ? [name] : [`${item === "" ? "" : `${item} `}(doctest)`],
        outcome: OUTCOMES[outcome] ?? "fail",
        message: said.get(name) ?? "",
      },
    ];
  });
}

/** Documentation tests alone: they run in rustdoc, which no log file reaches. */
export function doctestsOf(output: string): readonly RawCase[] {
  return parseLibtestText(output)
    .filter((one) => one.file !== "")
    .map((one) => ({ ...one, fromText: true as const }));
}
