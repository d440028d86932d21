/** A suite's result as a short text for the model: counts, failing tests with their messages, and output only where no test says more. */

import type { SuiteResult } from "./verify.ts";

const MAX_CHARACTERS = 6000;
const MESSAGE_LINES = 6;
const OUTPUT_TAIL = 2000;

function ending(result: SuiteResult): string {
  const { stopped, exitCode, durationMs } = result.evidence;
  if (stopped === "timeout")
    return `was stopped after ${Math.round(durationMs / 1000)} s because it did not end`;
  if (stopped === "not_started") return "could not be started";
  if (stopped !== null) return `was stopped at its ${stopped} limit`;
  return `exited with ${exitCode}`;
}

function indented(message: string): string {
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  const shown = lines.slice(0, MESSAGE_LINES).map((line) => `    ${line}`);
  if (lines.length > MESSAGE_LINES) shown.push(`    [${lines.length - MESSAGE_LINES} more lines]`);
  return shown.join("\n");
}

/** At most 6,000 characters; says how many failing tests it leaves out. */
export function describeSuite(result: SuiteResult): string {
  const { counts, command, directory } = result.evidence;
  const place = directory === "." ? "" : ` in ${directory}`;
  const head = [`\`${command}\`${place} ${ending(result)}.`];
  if (result.cases.length > 0)
    head.push(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped.`);
  else head.push("No results per test: only the exit code and the output tell how it went.");
  if (result.mismatch !== null) head.push(`Note: ${result.mismatch}.`);
  let text = head.join("\n");
  const failing = result.cases.filter((one) => one.outcome === "fail");
  let shown = 0;
  for (const one of failing) {
    const entry = `\n\nFAIL ${one.id}${one.message === "" ? "" : `\n${indented(one.message)}`}`;
    if (text.length + entry.length > MAX_CHARACTERS - 100) break;
    text += entry;
    shown += 1;
  }
  if (shown < failing.length) text += `\n\n[${failing.length - shown} more failing tests]`;
  const explained = failing.length > 0 || (result.evidence.exitCode === 0 && result.mismatch === null);
  const room = Math.min(OUTPUT_TAIL, MAX_CHARACTERS - text.length - 40);
  if (!explained && result.output.trim() !== "" && room > 0)
    text += `\n\nLast output:\n${result.output.slice(-room).trim()}`;
  return text.slice(0, MAX_CHARACTERS);
}
