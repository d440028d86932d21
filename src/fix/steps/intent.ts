/** Step `intent`: an agent that can only read looks at the issue and says what it would do; a person decides then whether the work begins. */

import type { Outcome, StepContext } from "#src/dag/dag.ts";
import { budgetFor, readIntentWords, renderIntent } from "#src/gate/intent-comment.ts";
import { type AgentEnd, type AgentLimits, NOTHING_SPENT, type Spent } from "#src/harness/agent.ts";
import { INTENT_PROMPT } from "#src/harness/intent-prompt.ts";
import { cleanIssueText } from "#src/harness/issue-text.ts";
import { runAgent } from "#src/harness/loop.ts";
import { promptHash } from "#src/harness/prompt.ts";
import type { Tool } from "#src/harness/tool.ts";
import { toolSpec } from "#src/harness/tool-calls.ts";
import { type Intent, intentDigest } from "#src/run/intent.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { createAgentObserver, factsOf } from "../agent-observer.ts";
import { holdBack } from "../held-back.ts";
import { fetchedPackages } from "../package-managers.ts";
import { createInstructions } from "../rounds.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { issueTask } from "../task.ts";
import { gitFailed, type Prepared } from "./prepare.ts";

export const INTENT_STEP = "intent";
export const INTENT_BLOB = "intent-body";
const SPENT_BLOB = "intent-spent";
const ANSWER_BLOB = "intent-answer";

/** None of them writes, runs a command or asks for the network. */
const READING: readonly string[] = ["read_file", "list_dir", "search", "find_definition"];
/** A look that takes longer is no look. */
const MOST_TURNS = 25;

export interface Intended {
  readonly digest: string;
  /** What the reading has used; the work counts on from it. */
  readonly spent: Spent;
}

export async function intend(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  // A look that was finished before a crash is what stands in the comment, if that was posted.
  const kept = await context.blob(ANSWER_BLOB);
  if (kept !== null) return post(context, prepared, JSON.parse(kept) as Answer);
  const { workspaces, sandbox, operator } = context.ports;
  const { id } = context.request.repository;
  const { runId } = context;
  const checkout = await workspaces.checkout(runId, id, prepared.baseSha, "intent", step.signal);
  if (!checkout.ok) return gitFailed(checkout.error);
  const session = await sandbox.open({
    ...{ runId, phase: "agent", workspace: checkout.value, network: { kind: "none" } },
    ...{ limits: operator.limits, image: prepared.image, ...fetchedPackages(null) },
  });
  if (!session.ok) return failed("sandbox_unavailable", session.error.message);
  try {
    const end = await look(context, step, { prepared, session: session.value, directory: checkout.value });
    if (step.signal.aborted) return { kind: "failed", code: "cancelled", message: end.message, retry: true };
    const nothing = unfinished(end);
    if (nothing !== null) return nothing;
    const { finalText, spent, toolCalls, retries, status } = end;
    const answer: Answer = { finalText, spent, toolCalls, retries, status };
    await context.putBlob(ANSWER_BLOB, JSON.stringify(answer));
    return await post(context, prepared, answer);
  } finally {
    await session.value.close();
  }
}

type Answer = Pick<AgentEnd, "finalText" | "spent" | "toolCalls" | "retries" | "status">;

interface Place {
  readonly prepared: Prepared;
  readonly session: Session;
  readonly directory: string;
}

/** What an interrupted look has used stays spent; the look itself begins again. */
async function look(context: RunContext, step: StepContext, place: Place): Promise<AgentEnd> {
  const { ports, trace } = context;
  const { settings } = place.prepared;
  const spent = await spentBefore(context);
  const tools = readingTools(context, place);
  const instructions = createInstructions(context, 0);
  const asked = [
    context.request.parent?.instruction ?? "",
    settings.instructions ?? "",
    ...instructions.take(),
  ];
  const task = issueTask(context, place.prepared, asked, { readOnly: true });
  const hash = promptHash(INTENT_PROMPT, tools.map(toolSpec));
  trace.emit("prompt", { hash, chars: INTENT_PROMPT.length, task }, { step: INTENT_STEP });
  const end = await runAgent({
    ...{ tools, task, spent, system: INTENT_PROMPT, prior: [], signal: step.signal },
    model: ports.model(settings.model),
    price: ports.operator.price(settings.model),
    limits: limitsOf(context, place.prepared, spent),
    clock: ports.clock,
    ids: ports.ids,
    ...(ports.tokenizer === undefined ? {} : { tokenizer: ports.tokenizer }),
    observe: createAgentObserver(context, { spent, toolCalls: {}, retries: 0 }, INTENT_STEP),
    instructions: instructions.take,
    checkpoint: (state) => context.putBlob(SPENT_BLOB, JSON.stringify(state.spent)),
  });
  if (!step.signal.aborted) await context.putBlob(SPENT_BLOB, JSON.stringify(end.spent));
  return end;
}

function readingTools(context: RunContext, { session, directory }: Place): readonly Tool[] {
  const { makeTools, sandbox } = context.ports;
  const runTests = async () => "Tests cannot be run before the work begins.";
  const all = makeTools({ session, directory, owner: sandbox.owner, runTests });
  return all.filter((tool) => tool.readOnly && READING.includes(tool.name));
}

/** What reading has used before; nothing when it has not begun. */
export async function spentBefore(context: Pick<RunContext, "blob">): Promise<Spent> {
  const text = await context.blob(SPENT_BLOB);
  return text === null ? NOTHING_SPENT : (JSON.parse(text) as Spent);
}

function limitsOf(context: RunContext, { settings }: Prepared, spent: Spent): AgentLimits {
  const { operator } = context.ports;
  return {
    turns: Math.min(spent.turns + MOST_TURNS, settings.budget.turns),
    totalTokens: operator.maxTotalTokens,
    costUsd: context.request.budgetUsd ?? settings.budget.usd,
    wallClockMs: settings.budget.minutes * 60_000,
    maxOutputTokens: operator.maxOutputTokens,
    contextTokens: operator.contextTokens,
  };
}

/** Ends the run when there is nothing that somebody could approve. */
function unfinished(end: AgentEnd): Outcome | null {
  if (end.status === "done" && end.finalText.trim() !== "") return null;
  switch (end.status) {
    case "internal":
      return failed("internal", end.message);
    case "model_failed":
    case "refused":
      return failed("model_failed", end.message);
    case "done":
      return failed("no_changes", "The agent looked and said nothing about what it would do.");
    case "no_progress":
      return failed("no_progress", end.message);
    default:
      return failed("budget", end.message);
  }
}

async function post(context: RunContext, prepared: Prepared, end: Answer): Promise<Outcome> {
  const intent = intentOf(context, prepared, end);
  const digest = intentDigest(intent);
  const { issue } = context.request;
  const { removed } = cleanIssueText(`${issue.title}\n${issue.body}`);
  const facts = {
    ...{ intent, digest, seq: 1 },
    warnings:
      removed.length === 0
        ? prepared.settings.notes
        : [
            ...prepared.settings.notes,
            `Hidden text was removed from the issue before the agent read it: ${removed.join(", ")}.`,
          ],
    trace: factsOf(end.spent, end.toolCalls, end.retries, end.status),
    tracePlace: context.ports.operator.tracePlace(context.runId),
  };
  // Kept first, so that the comment can be edited to say what became of it whenever it stands.
  const { body } = renderIntent(facts, "full");
  await context.putBlob(INTENT_BLOB, body.slice(body.indexOf("\n") + 1).trimStart());
  const posted = await context.conversation.intent(context.journal, (size) => renderIntent(facts, size));
  if (!posted.ok) {
    const { code, message } = posted.error;
    if (code === "rate_limited")
      return holdBack(context, INTENT_STEP, posted.error, "The intent could not be posted");
    const denied = code === "permission_missing" || code === "forbidden";
    return failed(denied ? "permission" : "github_failed", `The intent could not be posted: ${message}`);
  }
  const { commentId, at: commentAt, shown } = posted.value;
  await context.append({ type: "intended", intent, digest, commentId, commentAt, shown });
  return { kind: "done", output: asJson({ digest, spent: end.spent } satisfies Intended) };
}

function intentOf(context: RunContext, prepared: Prepared, { finalText, spent }: Answer): Intent {
  const { request, runId, ports } = context;
  const words = readIntentWords(finalText);
  const used = { turns: spent.turns, usd: spent.costUsd, tokens: spent.inputTokens + spent.outputTokens };
  const most = {
    usd: request.budgetUsd ?? prepared.settings.budget.usd,
    tokens: ports.operator.maxTotalTokens,
  };
  return {
    repositoryId: request.repository.id,
    issue: request.issue.number,
    runId,
    baseSha: prepared.baseSha,
    targetBranch: prepared.targetBranch,
    ...words,
    ...budgetFor(words.turns, used, most),
  };
}

function failed(code: string, message: string): Outcome {
  return { kind: "failed", code, message, retry: false };
}
