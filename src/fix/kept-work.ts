/** The patch of a run as its newest whole round left it, kept in the store beyond its workspace, and what a run that goes on from it begins with. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import { instructionNotice } from "#src/harness/notices.ts";
import { NOTHING_STORED, resume, type Stored } from "#src/harness/resume.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import type { Verdict } from "#src/run/verdict.ts";
import { keptBlobs, openCheckpoints } from "./checkpoints.ts";
import { feedbackFor } from "./feedback.ts";
import { parsed, type RestingPlace, startOfRound } from "./resting-place.ts";
import { instructionsIn } from "./rounds.ts";
import type { RunContext } from "./run-context.ts";

const KEPT = z.object({
  v: z.literal(1),
  baseSha: z.string(),
  treeId: z.string(),
  /** Number of the checkpoint that belongs to the tree. */
  checkpoint: z.number().int().nonnegative(),
  /** A git pack, base64. */
  pack: z.string(),
  /** For a reader, should the tree not fit any more; cut. */
  diff: z.string(),
});
type Kept = z.infer<typeof KEPT>;

const KEPT_BLOB = "kept-work";
const DIFF_CHARS = 20_000;
/** Runs that follow one another are a person's doing; more than these no one has read. */
const MOST_PARENTS = 20;

export interface WorkToKeep extends Pick<Kept, "baseSha" | "treeId" | "checkpoint" | "diff"> {}

/** Keeps the tree that was built of a round. What cannot be kept is traced: a run that follows begins afresh then. */
export async function keepWork(context: RunContext, work: WorkToKeep): Promise<void> {
  const { runId, request, ports, trace } = context;
  const { baseSha, treeId } = work;
  const packed = await ports.workspaces.packTree({
    ...{ runId, repositoryId: request.repository.id, baseSha, treeId },
  });
  if (!packed.ok) {
    trace.emit("warning", { text: `the patch is not kept for later runs: ${packed.error.message}` });
    return;
  }
  const pack = Buffer.from(packed.value).toString("base64");
  const kept: Kept = { v: 1, ...work, pack, diff: headOf(work.diff, DIFF_CHARS) };
  await context.putBlob(KEPT_BLOB, JSON.stringify(kept));
}

/** What the agent begins with. */
export interface Beginning {
  readonly from: RestingPlace;
  /** Paths that the tree changes: they belong to the patch, whatever made them. */
  readonly paths: readonly string[];
  /** What earlier runs leave to say to the agent, as data; null: nothing. */
  readonly earlier: { readonly paths: readonly string[] } | { readonly diff: string } | null;
  /** What maintainers asked of the runs before this one, oldest first. */
  readonly asked: readonly string[];
  /** For people; null: on the base, as every run does. */
  readonly told: BeginningTold | null;
}

export interface BeginningTold {
  /** A sentence on where the work began. */
  readonly text: string;
  /** It could not go on from what was asked for. */
  readonly afresh: boolean;
}

/** Where the first round begins: on what the run's parent left, if it was asked to go on from there and that can be had. */
export async function beginning(
  context: RunContext,
  base: { readonly baseSha: string; readonly targetBranch: string },
  start: Parameters<typeof startOfRound>[0],
): Promise<Beginning> {
  const afresh = { from: startOfRound(start), paths: [], earlier: null, asked: [], told: null };
  const wish = context.request.parent?.goesOn;
  if (wish === undefined) return afresh;
  const line = await lineOf(context);
  const asked = line.flatMap(({ asked: texts }) => texts);
  const source = line.findLast(({ kept }) => kept !== null);
  if (source === undefined || source.kept === null) {
    if (wish === "patch") return { ...afresh, asked };
    const told = `Run \`${context.request.parent?.runId}\` left no work to go on from; this one began afresh.`;
    return { ...afresh, asked, told: { text: told, afresh: true } };
  }
  const { kept, runId } = source;
  const { workspaces } = context.ports;
  const adopted = await workspaces.adoptTree({
    ...{ runId: context.runId, repositoryId: context.request.repository.id },
    ...{ baseSha: kept.baseSha, ontoSha: base.baseSha, treeId: kept.treeId },
    pack: Buffer.from(kept.pack, "base64"),
  });
  if (!adopted.ok) {
    const told = `The patch of run \`${runId}\` cannot be put onto the newest \`${base.targetBranch}\` (${adopted.error.message}); this run began afresh.`;
    context.trace.emit("warning", { text: told });
    return { ...afresh, asked, earlier: { diff: kept.diff }, told: { text: told, afresh: true } };
  }
  const { treeId, paths } = adopted.value;
  const place = { directory: null, treeId, heard: 0 };
  const stored = wish === "checkpoint" ? await conversationOf(context, runId, kept.checkpoint) : null;
  if (stored !== null) {
    const unheard = [
      ...(await unheardBy(context, runId, kept.checkpoint)),
      ...line.slice(line.indexOf(source) + 1).flatMap(({ asked: texts }) => texts),
    ];
    const takenOver = goesOnWith(await feedbackOn(context, runId, kept.treeId), unheard);
    const from = { ...place, stored, midRound: true, takenOver };
    return {
      from,
      paths,
      earlier: null,
      asked: [],
      told: goesOnFrom(`the last checkpoint of run \`${runId}\``),
    };
  }
  const from = { ...place, stored: NOTHING_STORED, midRound: false };
  return { from, paths, earlier: { paths }, asked, told: goesOnFrom(`the patch of run \`${runId}\``) };
}

function goesOnFrom(what: string): BeginningTold {
  return { text: `Goes on from ${what}.`, afresh: false };
}

interface Ancestor {
  readonly runId: string;
  readonly kept: Kept | null;
  /** What was asked of it beyond the issue. */
  readonly asked: readonly string[];
}

/** The runs that this one goes on from, oldest first. */
async function lineOf({ request, ports }: RunContext): Promise<readonly Ancestor[]> {
  const line: Ancestor[] = [];
  let parent: RunRequest["parent"] = request.parent;
  while (parent?.goesOn !== undefined && line.length < MOST_PARENTS) {
    const { runId } = parent;
    const before = (await ports.store.run(runId))?.request.parent ?? null;
    const said = instructionsIn(await ports.store.events(runId));
    const asked = [before?.instruction ?? "", ...said].filter((text) => text !== "");
    line.unshift({ runId, kept: await keptBy(ports.store, runId), asked });
    parent = before;
  }
  return line;
}

async function keptBy(store: RunContext["ports"]["store"], runId: string): Promise<Kept | null> {
  // Of another release, or torn: nothing to go on from, which the plan says.
  const kept = KEPT.safeParse(parsed(await keptBlobs(store, runId).blob(KEPT_BLOB)));
  return kept.success ? kept.data : null;
}

/** The transcript at that checkpoint, paid for by the run that had it; null: it cannot be read or sent. */
async function conversationOf(
  context: RunContext,
  runId: string,
  checkpoint: number,
): Promise<Stored | null> {
  const read = await openCheckpoints(keptBlobs(context.ports.store, runId), 0);
  const at = read.ok ? read.value.states[checkpoint - 1] : undefined;
  if (at === undefined || !resume(at).ok) {
    const text = `the conversation of run ${runId} cannot be read; only its patch is taken over`;
    context.trace.emit("warning", { text });
    return null;
  }
  return { ...at, round: 0, spent: NOTHING_STORED.spent };
}

/** What the newest verdict on that tree would have the agent mend. */
async function feedbackOn({ ports }: RunContext, runId: string, treeId: string): Promise<string | null> {
  const events = await ports.store.events(runId);
  const last = events.findLast(({ event }) => isVerdict(event))?.event;
  if (last?.type !== "step" || last.record.kind !== "done") return null;
  const verified = last.record.output as unknown as { readonly verdict: Verdict; readonly treeId: string };
  return verified.treeId === treeId ? feedbackFor(verified.verdict, null) : null;
}

function isVerdict(event: RunEvent): boolean {
  return event.type === "step" && event.record.kind === "done" && event.record.step === "verify";
}

/** What maintainers added that is not in the transcript which the kept patch belongs to: their words came too late for that run. */
async function unheardBy(
  { ports }: RunContext,
  runId: string,
  checkpoint: number,
): Promise<readonly string[]> {
  const events = await ports.store.events(runId);
  const rounds = events.flatMap(({ event }) =>
    event.type === "step" && event.record.kind === "done" && event.record.step === "solve"
      ? [event.record.output as unknown as { readonly heard: number; readonly checkpoint?: number }]
      : [],
  );
  const heard = rounds.findLast((round) => round.checkpoint === checkpoint)?.heard;
  return heard === undefined ? [] : instructionsIn(events).slice(heard);
}

function goesOnWith(feedback: string | null, unheard: readonly string[]): string {
  const told =
    "[harness] Your work ended here. A maintainer has given it more money, and it goes on now, in a fresh copy of the newest base with your edits: files that you read may have changed. Caches, build output and scratch files are gone: make them again if you need them.";
  const parts = [told, ...(feedback === null ? [] : [feedback]), ...unheard.map(instructionNotice)];
  return parts.join("\n\n");
}
