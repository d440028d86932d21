/** Recognises commands that would wait for ever: watch modes, and prompts that ask a person. */

const WATCH_FLAG = /\s(?:--watch(?:-?all)?|--watchAll|-w(?=\s|$))(?:=(?!false)\S+)?(?=\s|$)/gi;
const WATCH_COMMAND = /\bvitest\s+(?:watch|dev)\b/g;
/** Runners for which `-w` means watching. */
const SHORT_WATCH = /\b(?:mocha|ava|vitest|tap|nodemon|jest)\b/;
/** Programs that only watch: what they start is named by their last argument. */
const WATCHER =
  /(?:^|[\s;&|])(?:nodemon|chokidar|watchexec|entr|ptw|pytest-watch|cargo-watch|guard|cargo\s+watch|tsx\s+watch|ng\s+test(?!.*--watch=false)|karma\s+start(?!.*--single-run))(?=\s|$)/;
/** Programs that wait for a key or an answer. */
const INTERACTIVE =
  /(?:^|[\s;&|])(?:read\s+-p|select\s+\w+\s+in|cypress\s+open|playwright\s+test\s+.*--ui|vitest\s+.*--ui|inquirer|gum\s+(?:choose|confirm|input))(?=\s|$)/;

function flagged(command: string): boolean {
  const text = SHORT_WATCH.test(command) ? command : command.replace(/\s-w(?=\s|$)/g, "");
  return text.search(WATCH_FLAG) >= 0;
}

/** True when shell text asks for watch mode in so many words; `CI=true` does not overrule that. */
export function asksToWatch(command: string): boolean {
  return flagged(command) || command.search(WATCH_COMMAND) >= 0;
}

/** The same command run once: watch flags and sub-commands removed. */
export function withoutWatch(command: string): string {
  const once = command.replace(WATCH_COMMAND, "vitest run");
  return flagged(once) ? once.replace(WATCH_FLAG, "") : once;
}

/** True for `vitest` without `run`: it watches wherever it believes that a person sits there. */
export function mayWatch(command: string): boolean {
  const call = /(?:^|[\s;&|])vitest(\s+[^;&|]*)?$/.exec(command);
  return call !== null && !/(?:^|\s)(?:run|--run|related|bench|list)(?:\s|$)/.test(call[1] ?? "");
}

/** Why a command would never end by itself, one clause; null: nothing in it says so. */
export function neverEnds(command: string): string | null {
  const watcher = WATCHER.exec(command)?.[0]
    .trim()
    .replace(/^[;&|]+\s*/, "");
  if (watcher !== undefined) return `\`${watcher}\` watches files and never ends`;
  return INTERACTIVE.test(command) ? "it waits for a person at the keyboard" : null;
}
