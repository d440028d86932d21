/** The only caller of host git: always with the whole safe environment, bounded output, and every process dead at the end. */

import type { FileHandle } from "node:fs/promises";
import { simpleGit } from "simple-git";
import { type Clock, systemClock } from "#src/base/clock.ts";
import { createOffload, type Offload } from "#src/base/offload.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { classify, type HostGitFailure } from "./failure.ts";
import { type ChildEnd, type ChildRun, unpooled } from "./git-child.ts";
import { type GitScope, hostEnvironment } from "./git-settings.ts";
import { makeDataPlace } from "./places.ts";

/** A command that only works on objects of ours should never take this long; fetches set their own limit. */
const DEFAULT_TIMEOUT_MS = 10 * 60_000;
const DEFAULT_OUTPUT_BYTES = 64 * 1024 * 1024;
/** The thread that starts programs ends after so long without one. */
const THREAD_IDLE_MS = 60_000;
const THREAD_MEMORY_MB = 256;

/** simple-git refuses these settings unless told; we set each of them to a value that switches the thing off. */
const SWITCHED_OFF_BY_US = {
  allowUnsafeConfigEnvCount: true,
  allowUnsafeConfigPaths: true,
  allowUnsafeHooksPath: true,
  allowUnsafeFsMonitor: true,
  allowUnsafeAskPass: true,
  allowUnsafePager: true,
  allowUnsafeCredentialHelper: true,
  allowUnsafeFilter: true,
  allowUnsafeTemplateDir: true,
  allowUnsafeProtocolOverride: true,
} as const;

export interface GitCall extends GitScope {
  /** Sub-command and arguments; refs and paths after `--` where the command has it. */
  readonly args: readonly string[];
}

export interface StreamCall extends GitCall {
  /** Bytes for standard input, or an open file; without it git reads end-of-file at once. */
  readonly stdin?: Uint8Array | FileHandle;
  /** Further output ends the command with `git_failed`. */
  readonly outputBytes?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Exit codes that are answers, besides 0. */
  readonly answers?: readonly number[];
  /** Told the process (and process group) id as soon as there is one. */
  readonly onStart?: (pid: number) => void;
}

export interface StreamOutput {
  readonly code: number;
  readonly stdout: Buffer;
}

export interface HostGit {
  /** Runs a short local command through simple-git and gives its output as text. Never rejects. */
  text(call: GitCall): Promise<Result<string, HostGitFailure>>;
  /**
   * Runs git without it, for what simple-git has no way to do: binary output, standard input from a file, exit codes that
   * are answers, and killing the whole process group (its abort leaves `git-remote-https` behind). Never rejects.
   */
  stream(call: StreamCall): Promise<Result<StreamOutput, HostGitFailure>>;
  /** Runs a program that walks whole trees faster than this process can, with the same environment and end. Never rejects. */
  tool(call: ToolCall): Promise<Result<null, HostGitFailure>>;
}

/** Only for trees that no command of a repository has ever been able to write to. */
export interface ToolCall {
  /** `cp` and `chown` follow no link with the arguments given here; `bash` runs a constant text. */
  readonly program: "cp" | "chown" | "bash";
  readonly args: readonly string[];
  readonly signal?: AbortSignal;
}

export interface HostGitOptions {
  /** The host's variables; only a fixed list of names is taken from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An empty directory of ours: HOME and working directory of every call. */
  readonly home: string;
  readonly clock: Clock;
  readonly redactor: Redactor;
}

export function createHostGit(options: HostGitOptions): HostGit {
  const { home, clock, redactor } = options;
  const environmentOf = (scope: GitScope) => hostEnvironment(options.environment, home, scope);
  const nameOf = (call: GitCall) => `git ${call.args[0] ?? ""}`;
  const ready = async () => {
    // Passable for the sandbox's user, who makes the files of a checkout.
    await makeDataPlace(home, 0o755);
  };

  return {
    text: async (call) => {
      try {
        await ready();
        const environment = environmentOf(call);
        const client = simpleGit({
          baseDir: home,
          allowEnvironment: Object.keys(environment),
          unsafe: SWITCHED_OFF_BY_US,
          timeout: { block: DEFAULT_TIMEOUT_MS },
          // Without this, a failure that prints nothing to stderr would count as success.
          errors: (error, { exitCode, stdErr }) =>
            exitCode === 0
              ? undefined
              : (error ?? new Error(Buffer.concat(stdErr).toString() || `exit code ${exitCode}`)),
        });
        return ok(await client.env(environment).raw([...call.args]));
      } catch (error) {
        return err(classify(nameOf(call), messageOf(error), redactor));
      }
    },
    stream: async (call) => {
      try {
        await ready();
      } catch (error) {
        return err(classify(nameOf(call), messageOf(error), redactor));
      }
      const run = { program: "git", call, cwd: home, environment: environmentOf(call), clock };
      return resultOf(await runGroup(run), nameOf(call), call.answers ?? [], redactor);
    },
    tool: async (call) => {
      const environment = { ...environmentOf({}), LC_ALL: "C" };
      const end = await runGroup({ program: call.program, call, cwd: "/", environment, clock });
      const result = resultOf(end, call.program, [], redactor);
      return result.ok ? ok(null) : result;
    },
  };
}

function resultOf(
  end: GroupEnd,
  name: string,
  answers: readonly number[],
  redactor: Redactor,
): Result<StreamOutput, HostGitFailure> {
  if (end.kind === "cancelled")
    return err({ code: "cancelled", message: `${name} was cancelled.`, tokenRefused: false });
  if (end.kind === "failed") return err(classify(name, end.text, redactor));
  if (end.code === 0 || answers.includes(end.code)) {
    const { buffer, byteOffset, byteLength } = end.stdout;
    return ok({ code: end.code, stdout: Buffer.from(buffer, byteOffset, byteLength) });
  }
  return err(classify(name, end.stderr || `exit code ${end.code}`, redactor));
}

type GroupEnd = ChildEnd | { readonly kind: "cancelled" };

interface GroupRun {
  readonly program: string;
  readonly call: Omit<StreamCall, "gitDir" | "workTree">;
  readonly cwd: string;
  readonly environment: Record<string, string>;
  readonly clock: Clock;
}

/** One for the whole process, whoever asks; it starts with the first program. Idle time is the machine's own, whatever clock the work goes by. */
const shared: { thread: Offload | null; runs: number } = { thread: null, runs: 0 };

function starterThread(): Offload {
  shared.thread ??= createOffload({
    module: new URL("./git-child.ts", import.meta.url),
    clock: systemClock,
    idleMs: THREAD_IDLE_MS,
    memoryMb: THREAD_MEMORY_MB,
  });
  return shared.thread;
}

/** Runs a program in its own process group, started by the thread; a time-out or an abort reaches every helper it started. */
async function runGroup({ program, call, cwd, environment, clock }: GroupRun): Promise<GroupEnd> {
  if (call.signal?.aborted) return { kind: "cancelled" };
  const thread = starterThread();
  const key = ++shared.runs;
  let stopped: GroupEnd | null = null;
  const stop = (end: GroupEnd) => {
    stopped ??= end;
    // When the thread is gone, so is what it ran for; the run itself tells.
    thread.call("stop", [key]).catch(() => undefined);
  };
  const onAbort = () => stop({ kind: "cancelled" });
  call.signal?.addEventListener("abort", onAbort, { once: true });
  const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const cancelTimer = clock.timer(timeoutMs, () =>
    stop({ kind: "failed", text: `timed out after ${timeoutMs / 1000} s` }),
  );
  const run: ChildRun = {
    program,
    args: call.args,
    cwd,
    environment,
    stdin: stdinOf(call),
    outputBytes: call.outputBytes ?? DEFAULT_OUTPUT_BYTES,
  };
  try {
    const started = thread.call("start", [key, run]) as Promise<number | null>;
    const ended = thread.call("ended", [key]) as Promise<ChildEnd>;
    ended.catch(() => undefined); // Awaited below, after the start.
    const pid = await started;
    if (pid !== null) call.onStart?.(pid);
    // Also when it is stopped: only then are all its processes dead.
    const end = await ended;
    return stopped ?? end;
  } catch (error) {
    return stopped ?? { kind: "failed", text: `${program} could not be run: ${messageOf(error)}` };
  } finally {
    cancelTimer();
    call.signal?.removeEventListener("abort", onAbort);
  }
}

/** Threads of one process share their descriptors. */
function stdinOf({ stdin }: Pick<StreamCall, "stdin">): ChildRun["stdin"] {
  if (stdin === undefined) return null;
  return stdin instanceof Uint8Array ? unpooled(stdin) : stdin.fd;
}
