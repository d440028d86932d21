/** Reads the lines that ctest prints per test; used where its report could not be asked for (`make test` of a CMake build). */

import type { RawCase } from "./raw-case.ts";

const LINE =
  /^\s*\d+\/\d+ Test\s+#\d+: (.+?) \.*\s*(?:\.*\*\*\*)?\s*(Passed|Failed|Skipped|Timeout|Exception|Not Run|Subprocess \w+|Disabled|Not Found)\b/;

/** Empty when the text holds no such line. */
export function parseCtestText(output: string): readonly RawCase[] {
  return output.split("\n").flatMap((line): readonly RawCase[] => {
    const [, name = "", word = ""] = LINE.exec(line.replace(/\*\*\*/, " ***")) ?? [];
    if (name === "") return [];
    const skipped = /^(?:Skipped|Disabled)/.test(word);
    return [
      {
        file: "",
        names: [name.replace(/[ .]+$/, "")],
        outcome: word === "Passed" ? "pass" : skipped ? "skip" : "fail",
        message: word === "Passed" || skipped ? "" : `${word} (ctest)`,
      },
    ];
  });
}
