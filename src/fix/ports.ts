/** What fixing an issue needs from outside: every effect comes in through here, chosen by the command line. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { RepositorySettings } from "#src/config/repository-file.ts";
import type { Price, Spent } from "#src/harness/agent.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import type { Tokenizer } from "#src/harness/tokenizer.ts";
import type { Tool } from "#src/harness/tool.ts";
import type { Model } from "#src/model/model.ts";
import type { Publish } from "#src/publish/publish.ts";
import type { RunRequest } from "#src/run/run.ts";
import type { Limits, Sandbox, Session } from "#src/sandbox/sandbox.ts";
import type { Store } from "#src/store/store.ts";
import type { Trace } from "#src/trace/trace.ts";
import type { Detect, RunSuite, SuiteResult, VerifyPatch } from "#src/verify/verify.ts";
import type { GitToken, Workspaces } from "#src/workspace/workspace.ts";
import type { Conversation } from "./conversation.ts";

/** What the operator decided for every run. */
export interface OperatorSettings {
  /** Largest budget of a run in US dollars, and the ceiling of `budget=`; where no price is known, the token cap rules. */
  readonly budgetUsd: number;
  /** The model of a run whose repository names none. */
  readonly modelId: string;
  /** Null: no price is known for that model. */
  readonly price: (modelId: string) => Price | null;
  readonly maxTotalTokens: number;
  readonly maxOutputTokens: number;
  readonly contextTokens: number;
  /** Limits of sandbox sessions. */
  readonly limits: Limits;
  /** For a set-up command, in milliseconds. */
  readonly setupTimeoutMs: number;
  /** For one run of the suite, in milliseconds. */
  readonly suiteTimeoutMs: number;
  /** Suites of one verification at a time. */
  readonly parallelSuites: number;
  /** How many times a refuted result goes back to the agent. */
  readonly maxRounds: number;
  /** Where a person reads the trace of a run. */
  readonly tracePlace: (runId: string) => string;
}

export type MakeTools = (setup: {
  readonly session: Session;
  readonly directory: string;
  readonly owner: Sandbox["owner"];
  readonly runTests: (filter: string | null, signal: AbortSignal) => Promise<string>;
  readonly onEdit?: (path: string) => void;
}) => readonly Tool[];

/** By a key that holds everything a baseline depends on. Neither rejects: what is not there is made again. */
export interface Baselines {
  read(key: string): Promise<string | null>;
  write(key: string, text: string): Promise<void>;
}

export interface FixPorts {
  readonly store: Store;
  readonly workspaces: Workspaces;
  readonly sandbox: Sandbox;
  /** The model of that name; the repository file may choose among those the operator allows. */
  readonly model: (modelId: string) => Model;
  /** Left out: tokens are counted by characters. */
  readonly tokenizer?: Tokenizer;
  readonly makeTools: MakeTools;
  /** Asked when the agent begins or goes on, with what the run has used before, and then told of everything as it happens; left out: nobody watches. */
  readonly watchAgent?: (spent: Spent) => (event: HarnessEvent) => void;
  /** True: each turn's files are kept with its checkpoint, so that a run that was stopped or killed goes on in the middle of a round; else the round begins again in a clean copy. */
  readonly keepWork?: boolean;
  readonly detect: Detect;
  readonly runSuite: RunSuite;
  readonly describeSuite: (result: SuiteResult) => string;
  readonly verifyPatch: VerifyPatch;
  readonly publish: Publish;
  readonly openTrace: (runId: string) => Trace;
  /** Keeps the evidence of a run's newest verdict as a file beside its trace; left out: nobody reads one. Never rejects. */
  readonly keepEvidence?: (runId: string, json: string) => Promise<void>;
  /** Baselines that later runs on the same commit, set-up and command take over; left out: each run makes its own. */
  readonly baselines?: Baselines;
  /** The conversation of a run: its issue on GitHub, or the terminal. The signal stops its calls. */
  readonly converse: (request: RunRequest, signal: AbortSignal) => Conversation;
  readonly gitToken: (request: RunRequest) => GitToken;
  /** Reads `.github/agent-fix.yml` and merges it with what the operator allows. */
  readonly readSettings: (file: string | null) => RepositorySettingsResult;
  readonly operator: OperatorSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly redactor: Redactor;
}

export type RepositorySettingsResult =
  | { readonly ok: true; readonly value: RepositorySettings }
  | { readonly ok: false; readonly error: readonly string[] };
