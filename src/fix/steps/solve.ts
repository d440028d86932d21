/** Step `solve`: the agent loop in its sandbox, on a clean copy each round, with nothing of GitHub or of keys in reach. */

import { ok, type Result } from "#src/base/result.ts";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { AgentEnd, AgentLimits, Spent, StopStatus } from "#src/harness/agent.ts";
import { delegateTool } from "#src/harness/delegate.ts";
import { cleanIssueText } from "#src/harness/issue-text.ts";
import { runAgent } from "#src/harness/loop.ts";
import { promptHash, SYSTEM_PROMPT, taskPrompt } from "#src/harness/prompt.ts";
import { resume } from "#src/harness/resume.ts";
import type { Tokenizer } from "#src/harness/tokenizer.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { createAgentObserver } from "../agent-observer.ts";
import { type Checkpoints, openCheckpoints } from "../checkpoints.ts";
import { createInstructions, roundsSentBack } from "../rounds.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { runSuiteIn } from "./baseline.ts";
import { COLLECT_STEP, type Collected } from "./collect.ts";
import { gitFailed, type Prepared } from "./prepare.ts";
import type { SetUp } from "./setup.ts";

export interface Solved {
  readonly round: number;
  /** Host directory the agent worked in. */
  readonly directory: string;
  /** Paths edited through a tool, over all rounds. */
  readonly edited: readonly string[];
  readonly status: StopStatus;
  readonly message: string;
  readonly finalText: string;
  readonly spent: Spent;
  readonly toolCalls: AgentEnd["toolCalls"];
  readonly retries: number;
  /** What was removed from the issue text as invisible, for the plan. */
  readonly removed: readonly string[];
  /** How many instructions of `/revise` the agent has been given so far. */
  readonly heard: number;
}

export const SOLVE_STEP = "solve";

export async function solve(context: RunContext, step: StepContext): Promise<Outcome> {
  await context.enter("solving");
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const setUp = inputOf<SetUp>(step.inputs, "setup");
  const feedback = roundsSentBack(context);
  const checkpoints = await openCheckpoints(context, feedback.length);
  if (!checkpoints.ok) return unreadable(checkpoints.error);
  const workplace = await cleanCopy(context, prepared, setUp, feedback.length);
  if (!workplace.ok) return workplace.outcome;
  const { sandbox, operator } = context.ports;
  const session = await sandbox.open({
    runId: context.runId,
    phase: "agent",
    workspace: workplace.directory,
    mounts: [],
    network: { kind: "none" },
    limits: operator.limits,
    env: {},
  });
  if (!session.ok)
    return { kind: "failed", code: "sandbox_unavailable", message: session.error.message, retry: false };
  try {
    const prior = feedback.length === 0 ? null : await lastSolved(context);
    const edited = new Set(prior?.edited ?? []);
    const directory = workplace.directory;
    const instructions = createInstructions(context, prior?.heard ?? 0);
    const place = {
      prepared,
      session: session.value,
      directory,
      prior,
      checkpoints: checkpoints.value,
      edited,
      instructions: instructions.take,
    };
    const end = await work(context, step, place);
    if (!end.ok) return unreadable(end.error);
    if (step.signal.aborted)
      return { kind: "failed", code: "cancelled", message: end.value.message, retry: true };
    const solved = summarise(end.value, prior, {
      round: feedback.length,
      directory,
      edited: [...edited],
      removed: cleanIssueText(issueText(context)).removed,
      heard: instructions.heard(),
    });
    return { kind: "done", output: asJson(solved) };
  } finally {
    await session.value.close();
  }
}

function unreadable(reason: string): Outcome {
  const message = `what is stored of the agent's work cannot be read (${reason}); start a new run with /retry`;
  return { kind: "failed", code: "internal", message, retry: false };
}

type Workplace = { ok: true; directory: string } | { ok: false; outcome: Outcome };

/** Always a clean copy: of the set-up base, or of it with the last round's tree; never half of an interrupted round (FAULTS I05). */
async function cleanCopy(
  context: RunContext,
  prepared: Prepared,
  setUp: SetUp,
  round: number,
): Promise<Workplace> {
  const { workspaces } = context.ports;
  const copy = await workspaces.copy(context.runId, setUp.directory, `work-${round}`);
  if (!copy.ok) return { ok: false, outcome: gitFailed(copy.error) };
  const last = round === 0 ? null : await lastCollected(context);
  if (last !== null) {
    const { id } = context.request.repository;
    const applied = await workspaces.applyTree({
      runId: context.runId,
      repositoryId: id,
      directory: copy.value,
      baseSha: prepared.baseSha,
      treeId: last.treeId,
      except: [],
    });
    if (!applied.ok) return { ok: false, outcome: gitFailed(applied.error) };
  }
  return { ok: true, directory: copy.value };
}

function lastOutput<T>(context: RunContext, name: string): T | null {
  const record = context.stepLog
    .records()
    .findLast((candidate) => candidate.kind === "done" && candidate.step === name);
  return record?.kind === "done" ? (record.output as unknown as T) : null;
}

async function lastSolved(context: RunContext): Promise<Solved | null> {
  return lastOutput<Solved>(context, SOLVE_STEP);
}

async function lastCollected(context: RunContext): Promise<Collected | null> {
  return lastOutput<Collected>(context, COLLECT_STEP);
}

interface Work {
  readonly prepared: Prepared;
  readonly session: Session;
  readonly directory: string;
  readonly prior: Solved | null;
  readonly checkpoints: Checkpoints;
  readonly edited: Set<string>;
  readonly instructions: () => readonly string[];
}

/** The round's transcript goes on from the end of the round before; what an interrupted try of this round used stays spent. */
async function work(context: RunContext, step: StepContext, place: Work): Promise<Result<AgentEnd, string>> {
  const { ports } = context;
  const { before, newest, save } = place.checkpoints;
  const resumed = resume(before);
  if (!resumed.ok) return resumed;
  const limits = limitsOf(context, place);
  const observer = createAgentObserver(context, {
    spent: newest.spent,
    toolCalls: place.prior?.toolCalls ?? {},
    retries: place.prior?.retries ?? 0,
  });
  const model = ports.model(place.prepared.settings.model);
  const price = ports.operator.price(place.prepared.settings.model);
  const shared = { model, price, limits, clock: ports.clock, ids: ports.ids, ...tokenizerOf(context) };
  const makeTools = () =>
    ports.makeTools({
      session: place.session,
      directory: place.directory,
      owner: ports.sandbox.owner,
      runTests: (filter, signal) => testsForAgent(context, place, filter, signal),
      onEdit: (path) => place.edited.add(path),
    });
  // A sub-agent has tools of its own: what it has read, the agent has not.
  const delegate = delegateTool({ ...shared, tools: makeTools(), observe: observer });
  const tools = [...makeTools(), delegate];
  const task = taskFor(context, place);
  context.trace.emit(
    "prompt",
    { hash: promptHash(SYSTEM_PROMPT, tools.map(toolSpec)), chars: SYSTEM_PROMPT.length, task },
    { step: "solve" },
  );
  const end = await runAgent({
    ...shared,
    tools,
    system: SYSTEM_PROMPT,
    task,
    prior: resumed.value.prior,
    spent: newest.spent,
    signal: step.signal,
    observe: observer,
    checkpoint: save,
    instructions: place.instructions,
  });
  const { messages, spent, dirty } = end;
  if (!step.signal.aborted) await save({ messages, spent, dirty });
  return ok(end);
}

function limitsOf(context: RunContext, { prepared }: Work): AgentLimits {
  const { budget } = prepared.settings;
  const { operator } = context.ports;
  return {
    turns: budget.turns,
    totalTokens: operator.maxTotalTokens,
    costUsd: context.request.budgetUsd ?? budget.usd,
    wallClockMs: budget.minutes * 60_000,
    maxOutputTokens: operator.maxOutputTokens,
    contextTokens: operator.contextTokens,
  };
}

function tokenizerOf({ ports }: RunContext): { readonly tokenizer?: Tokenizer } {
  return ports.tokenizer === undefined ? {} : { tokenizer: ports.tokenizer };
}

function issueText(context: RunContext): string {
  const { issue } = context.request;
  return `${issue.title}\n${issue.body}`;
}

function taskFor(context: RunContext, place: Work): string {
  const { issue, parent } = context.request;
  const sentBack = roundsSentBack(context).at(-1);
  const added = place.instructions().map((text) => `A maintainer adds:\n${text}`);
  if (sentBack !== undefined && place.prior !== null)
    return [sentBack, ...added].filter(notEmpty).join("\n\n");
  const instructions = [
    parent?.instruction ?? "",
    place.prepared.settings.instructions ?? "",
    sentBack ?? "",
    ...added,
  ].filter(notEmpty);
  return taskPrompt({
    title: issue.title,
    body: issue.body,
    author: issue.author,
    delimiter: context.ports.ids.hex(8),
    repositoryAdvice: adviceText(place.prepared),
    testCommand: place.prepared.detected.test?.command ?? null,
    ...(instructions.length === 0 ? {} : { instruction: instructions.join("\n\n") }),
  });
}

function notEmpty(text: string): boolean {
  return text !== "";
}

function adviceText(prepared: Prepared): string | null {
  if (prepared.advice.length === 0) return null;
  return prepared.advice.map(({ path, text }) => `${path}:\n${text}`).join("\n\n");
}

/** The suite as the agent sees it: in a copy, so that it can't leave processes or noise in its work. */
async function testsForAgent(
  context: RunContext,
  place: Work,
  filter: string | null,
  signal: AbortSignal,
): Promise<string> {
  const suite = place.prepared.detected.test;
  if (suite === null)
    return "No test command was found in this repository. Use run_command, and add a test where the project would expect one.";
  const copy = await context.ports.workspaces.copy(context.runId, place.directory, "agent-tests");
  if (!copy.ok) return `The tests could not be started: ${copy.error.message}`;
  const ran = await runSuiteIn(context, {
    directory: copy.value,
    suite,
    label: "patched",
    phase: "verify",
    filter,
    signal,
  });
  if (ran.ok) return context.ports.describeSuite(ran.value);
  return ran.outcome.kind === "failed" ? `The tests could not be started: ${ran.outcome.message}` : "";
}

function summarise(
  end: AgentEnd,
  prior: Solved | null,
  place: Pick<Solved, "round" | "directory" | "edited" | "removed" | "heard">,
): Solved {
  const toolCalls = { ...(prior?.toolCalls ?? {}) };
  for (const [name, tally] of Object.entries(end.toolCalls)) {
    const before = toolCalls[name] ?? { ok: 0, errors: 0 };
    toolCalls[name] = { ok: before.ok + tally.ok, errors: before.errors + tally.errors };
  }
  return {
    ...place,
    status: end.status,
    message: end.message,
    finalText: end.finalText,
    spent: end.spent,
    toolCalls,
    retries: (prior?.retries ?? 0) + end.retries,
  };
}
