/** Step `solve`: the agent loop in its sandbox, on a clean copy each round, with nothing of GitHub or of keys in reach. */

import { ok, type Result } from "#src/base/result.ts";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { AgentEnd, AgentLimits, Spent, StopStatus } from "#src/harness/agent.ts";
import { delegateTool } from "#src/harness/delegate.ts";
import type { HarnessEvent } from "#src/harness/events.ts";
import { cleanIssueText } from "#src/harness/issue-text.ts";
import { runAgent } from "#src/harness/loop.ts";
import { instructionNotice } from "#src/harness/notices.ts";
import { promptHash, SYSTEM_PROMPT } from "#src/harness/prompt.ts";
import { resume } from "#src/harness/resume.ts";
import type { Tokenizer } from "#src/harness/tokenizer.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { createAgentObserver } from "../agent-observer.ts";
import { type Checkpoints, openCheckpoints } from "../checkpoints.ts";
import { approvedIntent } from "../intents.ts";
import { type Beginning, type BeginningTold, beginning } from "../kept-work.ts";
import { fetchedPackages } from "../package-managers.ts";
import { findRestingPlace, markStopped, type RestingPlace, startOfRound } from "../resting-place.ts";
import { createInstructions, type Instructions, roundsSentBack } from "../rounds.ts";
import { asJson, inputOf, lastOutput, type RunContext } from "../run-context.ts";
import { issueTask } from "../task.ts";
import { addTallies, createWorkKeeper, goesOn, talliesIn, type WorkKeeper } from "../work-keeper.ts";
import { runSuiteIn } from "./baseline.ts";
import { COLLECT_STEP, type Collected } from "./collect.ts";
import { spentBefore } from "./intent.ts";
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
  /** Number of the checkpoint that the round ended with; absent in older runs. */
  readonly checkpoint?: number;
  /** What the work began with, where that was not, or not meant to be, the base alone. */
  readonly began?: BeginningTold;
}

export const SOLVE_STEP = "solve";

export async function solve(context: RunContext, step: StepContext): Promise<Outcome> {
  await context.enter("solving");
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const setUp = inputOf<SetUp>(step.inputs, "setup");
  const round = roundsSentBack(context).length;
  const checkpoints = await openCheckpoints(context, round);
  if (!checkpoints.ok) return unreadable(checkpoints.error);
  const rest =
    context.ports.keepWork === true
      ? await findRestingPlace(context, checkpoints.value, round)
      : startOfRound(checkpoints.value);
  const began = round === 0 && !rest.midRound ? await beginning(context, prepared, checkpoints.value) : null;
  const from = began?.from ?? rest;
  const workplace = await workplaceOf(context, { prepared, setUp, round, from });
  if (!workplace.ok) return workplace.outcome;
  const { directory } = workplace;
  const session = await openSession(context, directory, { prepared, setUp });
  if (!session.ok)
    return { kind: "failed", code: "sandbox_unavailable", message: session.error.message, retry: false };
  context.trace.emit("sandbox", { enforcement: session.value.enforcement }, { step: "solve" });
  try {
    const prior = round === 0 ? null : lastOutput<Solved>(context, SOLVE_STEP);
    const edited = new Set([
      ...(prior?.edited ?? []),
      ...(from.midRound ? from.stored.dirty : []),
      ...(began?.paths ?? []),
    ]);
    const instructions = createInstructions(context, from.heard ?? prior?.heard ?? 0);
    const keeper = createWorkKeeper(context, {
      checkpoints: checkpoints.value,
      from,
      directory,
      baseSha: prepared.baseSha,
      noise: setUp.noise,
      edited,
      heard: instructions.heard,
    });
    const place: Work = {
      spent: checkpoints.value.count() === 0 ? await spentBefore(context) : checkpoints.value.newest.spent,
      ...{
        prepared,
        cache: setUp.cache,
        session: session.value,
        directory,
        prior,
        from,
        began,
        keeper,
        edited,
        instructions,
      },
      checkpoints: checkpoints.value,
      tallies: addTallies(prior?.toolCalls ?? {}, talliesSince(from, checkpoints.value)),
    };
    const end = await work(context, step, place);
    if (!end.ok) return unreadable(end.error);
    if (step.signal.aborted) {
      await session.value.close();
      if (context.ports.keepWork === true) await keeper.stopped(end.value);
      return { kind: "failed", code: "cancelled", message: end.value.message, retry: true };
    }
    const solved = summarise(end.value, place, {
      round,
      directory,
      edited: [...edited],
      removed: cleanIssueText(issueText(context)).removed,
      heard: instructions.heard(),
      checkpoint: checkpoints.value.count(),
    });
    return { kind: "done", output: asJson(solved) };
  } finally {
    await session.value.close();
  }
}

function openSession(
  { runId, ports }: RunContext,
  workspace: string,
  { prepared, setUp }: Pick<Place, "prepared" | "setUp">,
) {
  return ports.sandbox.open({
    runId,
    phase: "agent",
    workspace,
    network: { kind: "none" },
    limits: ports.operator.limits,
    image: prepared.image,
    ...fetchedPackages(setUp.cache),
  });
}

/** Calls answered in the part of this round that was done before. */
function talliesSince({ midRound, stored, takenOver }: RestingPlace, { before }: Checkpoints) {
  return midRound && takenOver === undefined ? talliesIn(stored.messages.slice(before.messages.length)) : {};
}

function unreadable(reason: string): Outcome {
  const message = `what is stored of the agent's work cannot be read (${reason}); start a new run with /retry`;
  return { kind: "failed", code: "internal", message, retry: false };
}

type Workplace = { ok: true; directory: string } | { ok: false; outcome: Outcome };

interface Place {
  readonly prepared: Prepared;
  readonly setUp: SetUp;
  readonly round: number;
  readonly from: RestingPlace;
}

/** The directory of a sitting that was stopped in order, else a clean copy with the tree that belongs to the transcript; never half of an interrupted turn (FAULTS I05). */
async function workplaceOf(context: RunContext, place: Place): Promise<Workplace> {
  const { from, round } = place;
  if (from.directory === null) return cleanCopy(context, place);
  // Whoever finds this directory after a crash must not take it for one that was left in order, nor copy it into itself.
  await markStopped(context, null);
  context.ports.log.debug({ run: context.runId, round }, "the agent goes on where it was stopped");
  return { ok: true, directory: from.directory };
}

/** A copy of the set-up base, of it with the last round's tree, or with the tree of a turn of this round. */
async function cleanCopy(context: RunContext, { prepared, setUp, round, from }: Place): Promise<Workplace> {
  const { workspaces } = context.ports;
  const copy = await workspaces.copy(context.runId, setUp.directory, `work-${round}`);
  if (!copy.ok) return { ok: false, outcome: gitFailed(copy.error) };
  const last = round === 0 || from.treeId !== null ? null : lastOutput<Collected>(context, COLLECT_STEP);
  const treeId = from.treeId ?? last?.treeId ?? null;
  if (treeId !== null) {
    const applied = await workspaces.applyTree({
      runId: context.runId,
      repositoryId: context.request.repository.id,
      directory: copy.value,
      baseSha: prepared.baseSha,
      treeId,
      except: [],
    });
    if (!applied.ok) return { ok: false, outcome: gitFailed(applied.error) };
  }
  return { ok: true, directory: copy.value };
}

interface Work {
  /** What the run has used before this sitting, the reading for an intent included. */
  readonly spent: Spent;
  readonly prepared: Prepared;
  readonly cache: SetUp["cache"];
  readonly session: Session;
  readonly directory: string;
  readonly prior: Solved | null;
  readonly from: RestingPlace;
  /** Null: the round does not begin here. */
  readonly began: Beginning | null;
  readonly checkpoints: Checkpoints;
  readonly keeper: WorkKeeper;
  readonly edited: Set<string>;
  readonly instructions: Instructions;
  /** Calls answered before this sitting, over all rounds. */
  readonly tallies: AgentEnd["toolCalls"];
}

/** The transcript goes on from where the work rests; what an interrupted try of this round used stays spent. */
async function work(context: RunContext, step: StepContext, place: Work): Promise<Result<AgentEnd, string>> {
  const { ports } = context;
  const { spent } = place;
  const resumed = resume(place.from.stored);
  if (!resumed.ok) return resumed;
  const limits = limitsOf(context, place);
  const observer = observerOf(context, place);
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
  const tools = [...makeTools().map(place.keeper.noticing), delegate];
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
    spent,
    signal: step.signal,
    observe: observer,
    checkpoint: place.keeper.save,
    instructions: place.instructions.take,
  });
  if (!step.signal.aborted) await place.keeper.save(end);
  return ok(end);
}

/** Tells trace and status, and whoever watches. */
function observerOf(context: RunContext, { spent, tallies, prior }: Work) {
  const observe = createAgentObserver(context, { spent, toolCalls: tallies, retries: prior?.retries ?? 0 });
  const watch = context.ports.watchAgent?.(spent);
  return (event: HarnessEvent) => {
    observe(event);
    watch?.(event);
  };
}

function limitsOf(context: RunContext, { prepared }: Work): AgentLimits {
  const { budget } = prepared.settings;
  const { operator } = context.ports;
  const granted = approvedIntent(context)?.intent.budget;
  const usd = context.request.budgetUsd ?? budget.usd;
  return {
    turns: budget.turns,
    totalTokens: Math.min(operator.maxTotalTokens, granted?.tokens ?? operator.maxTotalTokens),
    costUsd: Math.min(usd, granted?.usd ?? usd),
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
  const { parent } = context.request;
  const sentBack = roundsSentBack(context).at(-1);
  const fresh = place.instructions.take();
  if (place.from.midRound)
    return [place.from.takenOver ?? goesOn(place.from), ...fresh.map(instructionNotice)].join("\n\n");
  const added = fresh.map((text) => `A maintainer adds:\n${text}`);
  if (sentBack !== undefined && place.prior !== null)
    return [sentBack, ...added].filter(notEmpty).join("\n\n");
  const instructions = [
    ...(place.began?.asked ?? []),
    parent?.instruction ?? "",
    place.prepared.settings.instructions ?? "",
    intentText(context),
    sentBack ?? "",
    ...added,
  ];
  return issueTask(context, place.prepared, instructions, { earlier: place.began?.earlier ?? null });
}

/** What the agent said it would do, once a maintainer has approved it. */
function intentText(context: RunContext): string {
  const approved = approvedIntent(context);
  if (approved === null) return "";
  const { text, files, proof } = approved.intent;
  const named = `Files: ${files.length === 0 ? "none named" : files.join(", ")}\nProof: ${proof === "" ? "none named" : proof}`;
  return `You have looked at the issue before and said what you would do; that was approved. Keep to it where it holds, and say in your last answer where you had to go beyond it:\n${text}\n${named}`;
}

function notEmpty(text: string): boolean {
  return text !== "";
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
    cache: place.cache,
    filter,
    image: place.prepared.image,
    signal,
  });
  if (ran.ok) return context.ports.describeSuite(ran.value);
  return ran.outcome.kind === "failed" ? `The tests could not be started: ${ran.outcome.message}` : "";
}

function summarise(
  end: AgentEnd,
  { prior, tallies, began }: Work,
  place: Pick<Solved, "round" | "directory" | "edited" | "removed" | "heard" | "checkpoint">,
): Solved {
  const told = began?.told ?? prior?.began;
  return {
    ...place,
    ...(told === undefined ? {} : { began: told }),
    status: end.status,
    message: end.message,
    finalText: end.finalText,
    spent: end.spent,
    toolCalls: addTallies(tallies, end.toolCalls),
    retries: (prior?.retries ?? 0) + end.retries,
  };
}
