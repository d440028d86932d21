/** The tool run_command: shell text in the sandbox, its exit code, and head and tail of what it printed. */

import { z } from "zod";
import type { Tool, ToolResult } from "#src/harness/tool.ts";
import type { ExecResult, Session } from "#src/sandbox/sandbox.ts";
import { joined, stoppedBecause } from "./in-session.ts";
import { done, refused } from "./setup.ts";

const DEFAULT_SECONDS = 120;
const MOST_SECONDS = 600;
/** Fits into one result together with the exit code and a hint. */
const OUTPUT_BYTES = 7_000;
/** Linux takes at most 128 KiB in one argument. */
const MOST_COMMAND_CHARS = 30_000;
/** Both streams in the order they were written; a failing part of a pipe fails the whole (FAULTS G06). */
const WRAPPER = 'exec bash -o pipefail -c "$1" 2>&1';
const NETWORK_WORDS =
  /ENOTFOUND|EAI_AGAIN|ENETUNREACH|getaddrinfo|Could not resolve host|Temporary failure in name resolution|Network is unreachable|Name or service not known/;

const schema = z.object({
  command: z
    .string()
    .min(1)
    .max(MOST_COMMAND_CHARS, "is too long; write a script with edit_file and run that")
    .refine((text) => !text.includes("\0"), "contains a NUL character")
    .describe("Shell text for bash, started in the repository root"),
  timeout: z.coerce.number().positive().optional().describe("Seconds; default 120, at most 600"),
});

type Args = z.infer<typeof schema>;

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function hints(result: ExecResult, output: string): string[] {
  const { end } = result;
  if (end.kind === "killed" && end.reason === "timeout")
    return [
      "There is no terminal and no input: nothing that asks, watches or serves ever ends here. Run it once and not in watch mode, narrow it, or give a larger timeout (at most 600).",
    ];
  if (NETWORK_WORDS.test(output)) return ["There is no network here: use what is installed already."];
  if (end.kind === "exited" && end.code === 127) return ["A program it names is not installed here."];
  if (end.kind === "exited" && end.code === 137)
    return ["It was killed, most likely for using too much memory."];
  return [];
}

function describe(result: ExecResult, limitSeconds: number): ToolResult {
  const output = joined(result.stdout) + joined(result.stderr);
  const { end } = result;
  const stopped = stoppedBecause(result);
  const first =
    end.kind === "exited"
      ? `exit code ${end.code} after ${seconds(result.durationMs)}`
      : `${stopped}${end.kind === "killed" && end.reason === "timeout" ? ` (limit ${limitSeconds} s)` : ""}`;
  const body = output === "" ? "(no output)" : output.replace(/\n$/, "");
  const text = [first, body, ...hints(result, output).map((hint) => `[${hint}]`)].join("\n");
  return end.kind === "exited" ? done(text) : refused(text);
}

export function runCommandTool(session: Session): Tool<Args> {
  return {
    name: "run_command",
    description:
      "Runs a shell command in the repository and answers with its exit code and the first and last 3,500 bytes of its output (both streams together). No network, terminal or input; each command starts afresh (cd and variables do not last) and what it leaves running is ended with it. For the test suite use run_tests, to read and change files read_file and edit_file.",
    schema,
    readOnly: false,
    run: async (args, { signal }) => {
      const limit = Math.min(args.timeout ?? DEFAULT_SECONDS, MOST_SECONDS);
      const result = await session.exec({
        argv: ["bash", "-c", WRAPPER, "run_command", args.command],
        timeoutMs: Math.max(1, Math.round(limit * 1000)),
        outputBytes: OUTPUT_BYTES,
        signal,
      });
      return describe(result, limit);
    },
  };
}
