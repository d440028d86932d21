/** The agent's first task: the issue, what the repository advises, the checks that fail, and what maintainers ask for. */

import { taskPrompt } from "#src/harness/prompt.ts";
import { checksText } from "./checks.ts";
import type { Beginning } from "./kept-work.ts";
import type { RunContext } from "./run-context.ts";
import type { Prepared } from "./steps/prepare.ts";

export interface TaskOptions {
  /** True: the agent is to say what it would do. */
  readonly readOnly?: boolean;
  /** The patch of an earlier run: in the workspace already, or, where it fits no more, to be read. */
  readonly earlier?: Beginning["earlier"];
}

/** `instructions`: maintainers' words, empty ones left out. */
export function issueTask(
  { request, ports }: RunContext,
  { advice, detected }: Prepared,
  instructions: readonly string[],
  { readOnly = false, earlier = null }: TaskOptions = {},
): string {
  const { title, body, author } = request.issue;
  return taskPrompt({
    title,
    body,
    author,
    delimiter: ports.ids.hex(8),
    repositoryAdvice:
      advice.length === 0 ? null : advice.map(({ path, text }) => `${path}:\n${text}`).join("\n\n"),
    checks: checksText(request.checks ?? []),
    testCommand: detected.test?.command ?? null,
    instruction: instructions.filter((text) => text !== "").join("\n\n"),
    ...(readOnly ? { readOnly } : {}),
    ...(earlier === null ? {} : { earlier }),
  });
}
