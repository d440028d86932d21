/** Step `solve`: the agent loop in its sandbox, on a clean copy each round, with nothing of GitHub or of keys in reach. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import { type AgentEnd, NOTHING_SPENT, type Spent, type StopStatus } from "#src/harness/agent.ts";
import { cleanIssueText } from "#src/harness/issue-text.ts";
import { runAgent } from "#src/harness/loop.ts";
import { promptHash, SYSTEM_PROMPT, taskPrompt } from "#src/harness/prompt.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import type { Message } from "#src/model/model.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { createAgentObserver } from "../agent-observer.ts";
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

/** The rounds sent back so far, from the log: what makes the step's input new. */
export function roundsSentBack(context: RunContext): readonly string[] {
  return context
    .events()
    .flatMap((stored) => (stored.event.type === "sent_back" ? [stored.event.feedback] : []));
}

export async function solve(context: RunContext, step: StepContext): Promise<Outcome> {
  await context.enter("solving");
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const setUp = inputOf<SetUp>(step.inputs, "setup");
  const feedback = roundsSentBack(context);
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
      edited,
      instructions: instructions.take,
    };
    const end = await work(context, step, place);
    if (step.signal.aborted) return { kind: "failed", code: "cancelled", message: end.message, retry: true };
    const solved = summarise(end, prior, {
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
  readonly edited: Set<string>;
  readonly instructions: () => readonly string[];
}

async function work(context: RunContext, step: StepContext, place: Work): Promise<AgentEnd> {
  const { ports } = context;
  const { budget } = place.prepared.settings;
  const observer = createAgentObserver(context, place.prior);
  const tools = ports.makeTools({
    session: place.session,
    directory: place.directory,
    owner: ports.sandbox.owner,
    runTests: (filter, signal) => testsForAgent(context, place, filter, signal),
    onEdit: (path) => place.edited.add(path),
  });
  const task = taskFor(context, place);
  context.trace.emit(
    "prompt",
    { hash: promptHash(SYSTEM_PROMPT, tools.map(toolSpec)), chars: SYSTEM_PROMPT.length, task },
    { step: "solve" },
  );
  return runAgent({
    model: ports.model(place.prepared.settings.model),
    tools,
    system: SYSTEM_PROMPT,
    task,
    prior: await priorMessages(context, place.prior),
    limits: {
      turns: budget.turns,
      totalTokens: ports.operator.maxTotalTokens,
      costUsd: context.request.budgetUsd ?? budget.usd,
      wallClockMs: budget.minutes * 60_000,
      maxOutputTokens: ports.operator.maxOutputTokens,
      contextTokens: ports.operator.contextTokens,
    },
    spent: place.prior?.spent ?? NOTHING_SPENT,
    price: ports.operator.price(place.prepared.settings.model),
    clock: ports.clock,
    ids: ports.ids,
    signal: step.signal,
    observe: observer,
    checkpoint: async (state) => context.putBlob("transcript", JSON.stringify(state.messages)),
    instructions: place.instructions,
  });
}

/** `/revise` texts accepted while the run works, from the log, so that a restarted round hears them again. */
function instructionsSoFar(context: RunContext): readonly string[] {
  const accepted = new Set(
    context
      .events()
      .flatMap(({ event }) =>
        event.type === "fact_handled" && event.decision === "instruct" ? [event.seq] : [],
      ),
  );
  return context.events().flatMap(({ seq, event }) => {
    if (event.type !== "command_received" || !accepted.has(seq)) return [];
    const { command } = event.fact;
    return command.verb === "revise" ? [`A maintainer adds: ${command.text}`] : [];
  });
}

/** Hands over each instruction once, beginning after the first `heard`. */
function createInstructions(
  context: RunContext,
  heard: number,
): { take(): readonly string[]; heard(): number } {
  let given = heard;
  return {
    heard: () => given,
    take: () => {
      const fresh = instructionsSoFar(context).slice(given);
      given += fresh.length;
      return fresh;
    },
  };
}

async function priorMessages(context: RunContext, prior: Solved | null): Promise<readonly Message[]> {
  if (prior === null) return [];
  const stored = await context.blob("transcript");
  return stored === null ? [] : (JSON.parse(stored) as readonly Message[]);
}

function issueText(context: RunContext): string {
  const { issue } = context.request;
  return `${issue.title}\n${issue.body}`;
}

function taskFor(context: RunContext, place: Work): string {
  const { issue, parent } = context.request;
  const sentBack = roundsSentBack(context).at(-1);
  if (sentBack !== undefined && place.prior !== null) return sentBack;
  const instructions = [
    parent?.instruction ?? "",
    place.prepared.settings.instructions ?? "",
    sentBack ?? "",
  ].filter((text) => text !== "");
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
