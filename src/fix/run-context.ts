/** One run in the hands of its lease holder: the reduced state, the only way to append to its log, and its effects' journal. */

import type { Json } from "#src/base/canonical-json.ts";
import { err, type Result } from "#src/base/result.ts";
import type { StepLog, StepRecord } from "#src/dag/dag.ts";
import type { EffectJournal } from "#src/publish/publish.ts";
import { isEnded, type Run, type RunEvent, type RunRequest, type WorkPhase } from "#src/run/run.ts";
import { transition } from "#src/run/transition.ts";
import type { Lease, StoredEvent } from "#src/store/store.ts";
import type { Trace } from "#src/trace/trace.ts";
import type { Conversation } from "./conversation.ts";
import type { FixPorts } from "./ports.ts";
import { createProgress, type Progress } from "./progress.ts";
import { stoppable } from "./stoppable.ts";

/** The lease went to another worker: whoever holds this context must stop without writing anything more. */
export class LeaseLost extends Error {
  readonly code = "lease_lost";
}

export interface RunContext {
  readonly runId: string;
  readonly request: RunRequest;
  readonly ports: FixPorts;
  readonly trace: Trace;
  readonly conversation: Conversation;
  readonly progress: Progress;
  readonly journal: EffectJournal;
  readonly stepLog: StepLog;
  /** Aborted when the process ends or the lease is lost: what was asked of GitHub then has no answer. */
  readonly signal: AbortSignal;
  /** The same run for a part of the work that can be stopped by itself: its calls to GitHub end with `signal` too, and it begins nothing in workspaces and sandbox after that. */
  during(signal: AbortSignal): RunContext;
  run(): Run;
  events(): readonly StoredEvent[];
  /** Appends decisions, in order with everything else this context writes; rejects with `LeaseLost`, or with a defect when an event contradicts the state. */
  append(...events: readonly RunEvent[]): Promise<void>;
  /** Notes that the run has ended and that nothing of what this context has seen of it is left to be done. */
  settle(): Promise<void>;
  /** Takes in facts that others recorded meanwhile. */
  refresh(): Promise<void>;
  /** Enters a phase unless the run is in it already. */
  enter(phase: WorkPhase): Promise<void>;
  /** Told after each append that changed the state. */
  onStateChange(listener: () => void): void;
  putBlob(name: string, text: string): Promise<void>;
  blob(name: string): Promise<string | null>;
}

export interface OpenRun {
  readonly ports: FixPorts;
  readonly lease: Lease;
  readonly request: RunRequest;
  /** Stops calls to GitHub when the process ends or the lease is lost. */
  readonly signal: AbortSignal;
}

/** Loads the run and reduces its log; an error names the contradiction of a corrupt log. */
export async function openRun(opening: OpenRun): Promise<Result<RunContext, string>> {
  const { ports, lease } = opening;
  const state: LogState = { events: [], run: null, listeners: [] };
  const first = await takeIn(ports, lease.runId, state);
  if (first !== null) return err(first);
  if (state.run === null) return err("its event log is empty");
  const trace = ports.openTrace(lease.runId);
  return { ok: true, value: buildContext({ ...opening, state, trace }) };
}

interface LogState {
  readonly events: StoredEvent[];
  run: Run | null;
  readonly listeners: (() => void)[];
}

/** Reads what is new in the log into `state`; the name of a contradiction, or null. */
async function takeIn(ports: FixPorts, runId: string, state: LogState): Promise<string | null> {
  const fresh = await ports.store.events(runId, state.events.at(-1)?.seq ?? 0);
  for (const stored of fresh) {
    if (state.run === null) {
      if (stored.event.type !== "requested") return "not_requested";
      state.run = { state: "queued", request: stored.event.request };
    } else {
      const next = transition(state.run, stored.event);
      if (!next.ok) return next.error;
      state.run = next.value;
    }
    state.events.push(stored);
  }
  return null;
}

interface Parts extends OpenRun {
  readonly state: LogState;
  readonly trace: Trace;
}

function buildContext(parts: Parts): RunContext {
  const { ports, lease, request, state, trace } = parts;
  const current = (): Run => {
    if (state.run === null) throw new Error("the run has no state");
    return state.run;
  };
  const inOrder = createOrder();
  const refresh = () =>
    inOrder(async () => {
      const contradiction = await takeIn(ports, lease.runId, state);
      if (contradiction !== null)
        throw new Error(`the log of run ${lease.runId} is corrupt: ${contradiction}`);
    });
  const append = (...events: readonly RunEvent[]) => inOrder(() => write(parts, events));
  const enter = async (phase: WorkPhase) => {
    if (current().state !== phase) await append({ type: "phase_entered", phase });
  };
  const spokenWith = {
    ...request,
    installationId: newestInstallation(state.events) ?? request.installationId,
  };
  const context: RunContext = {
    runId: lease.runId,
    request,
    ports,
    trace,
    signal: parts.signal,
    conversation: ports.converse(spokenWith, parts.signal),
    during: (signal) => {
      const either = AbortSignal.any([parts.signal, signal]);
      const conversation = ports.converse(spokenWith, either);
      return { ...context, ports: stoppable(ports, either), signal: either, conversation };
    },
    progress: createProgress(),
    journal: journalOf(state, append),
    stepLog: stepLogOf(state, append),
    run: current,
    events: () => state.events,
    onStateChange: (listener) => state.listeners.push(listener),
    append,
    refresh,
    enter,
    settle: () =>
      inOrder(async () => {
        const settled = await ports.store.settle(lease, state.events.at(-1)?.seq ?? 0);
        if (!settled.ok) throw new LeaseLost(`lease of run ${lease.runId} lost: ${settled.error}`);
      }),
    putBlob: async (name, text) => {
      const put = await ports.store.putBlob(lease, name, Buffer.from(text, "utf8"));
      if (!put.ok) throw new LeaseLost(`lease of run ${lease.runId} lost: ${put.error}`);
    },
    blob: async (name) => {
      const value = await ports.store.blob(lease.runId, name);
      return value === null ? null : Buffer.from(value).toString("utf8");
    },
  };
  return context;
}

/** Who took the app away and installed it again speaks through another installation to the runs from before; null: nobody has spoken. */
function newestInstallation(events: readonly StoredEvent[]): number | null {
  const said = events.findLast(
    ({ event }) => event.type === "command_received" && event.fact.from !== undefined,
  );
  return said?.event.type === "command_received" ? (said.event.fact.from?.installationId ?? null) : null;
}

/** Runs tasks one after another, also when one of them fails. */
function createOrder(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task, task);
    last = next;
    return next;
  };
}

/** Checks the events against the state, appends them in one transaction, and takes in the log as it then stands. */
async function write(parts: Parts, events: readonly RunEvent[]): Promise<void> {
  const { ports, lease, state, trace } = parts;
  const before = state.run?.state;
  let after = state.run;
  for (const event of events) {
    if (after === null) throw new Error("the run has no state");
    const next = transition(after, event);
    if (!next.ok) throw new Error(`event ${event.type} contradicts state ${after.state}: ${next.error}`);
    if (next.value.state !== after.state) trace.emit("state", { from: after.state, to: next.value.state });
    after = next.value;
  }
  if (after === null) return;
  const appended = await ports.store.append(lease, events, { state: after.state, ended: isEnded(after) });
  if (!appended.ok) throw new LeaseLost(`lease of run ${lease.runId} lost: ${appended.error}`);
  const contradiction = await takeIn(ports, lease.runId, state);
  if (contradiction !== null) throw new Error(`the log of run ${lease.runId} is corrupt: ${contradiction}`);
  if (after.state !== before) for (const listener of state.listeners) listener();
}

function journalOf(state: LogState, append: RunContext["append"]): EffectJournal {
  const last = <T extends RunEvent["type"]>(type: T, effect: string) =>
    state.events.findLast((stored) => {
      const { event } = stored;
      return event.type === type && "effect" in event && event.effect === effect;
    })?.event;
  return {
    done: (effect) => {
      const event = last("effect_done", effect);
      return event?.type === "effect_done" ? event.result : null;
    },
    intended: (effect) => last("effect_intended", effect) !== undefined,
    intend: (effect) => append({ type: "effect_intended", effect }),
    complete: (effect, result) => append({ type: "effect_done", effect, result }),
  };
}

function stepLogOf(state: LogState, append: RunContext["append"]): StepLog {
  return {
    records: () =>
      state.events.flatMap((stored): readonly StepRecord[] =>
        stored.event.type === "step" ? [stored.event.record] : [],
      ),
    append: (record) => append({ type: "step", record }),
  };
}

/** The stored output of a step this step needs, in the shape that step's file declares for it. */
export function inputOf<T>(inputs: Readonly<Record<string, Json>>, step: string): T {
  const value = inputs[step];
  if (value === undefined) throw new Error(`step ${step} has no output`);
  return value as T;
}

/** The newest stored output of a step, in the shape that step's file declares for it; null: it has not been done. */
export function lastOutput<T>({ stepLog }: Pick<RunContext, "stepLog">, step: string): T | null {
  const record = stepLog.records().findLast((entry) => entry.kind === "done" && entry.step === step);
  return record?.kind === "done" ? (record.output as unknown as T) : null;
}

/** Typed objects are JSON once their optional members are left out; steps store them as such. */
export function asJson(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
