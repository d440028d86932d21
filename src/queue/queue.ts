/** The queue port: a hint that a run wants attention. It carries ids only and may lose or repeat them; the event log is the truth. */

/** `desk` handles commands and publishing without waiting behind long work. */
export type Lane = "work" | "desk";

export interface Attention {
  /** Aborted when the queue stops. */
  readonly signal: AbortSignal;
  /** Subscribes to further hints for the same run while it is being handled; returns the unsubscribe function. */
  onNudge(listener: () => void): () => void;
}

export interface Queue {
  /** Asks for attention. A hint for a run that is waiting in the same lane is merged; one for a run being handled becomes a nudge and, in addition, a later visit. */
  push(runId: string, lane: Lane): Promise<void>;
  /** Takes back a hint that waits in the lane; nothing happens when there is none. */
  drop(runId: string, lane: Lane): Promise<void>;
  /** Begins handing hints to `handle`, at most `concurrency[lane]` at once and never the same run twice at once in this process. A rejecting handler is logged and its slot freed. */
  start(handle: (runId: string, lane: Lane, attention: Attention) => Promise<void>): void;
  /** Runs waiting in the lane, in order: the position shown in the status comment. */
  waiting(lane: Lane): readonly string[];
  /** Takes no more, aborts what runs, and resolves when handlers have settled or `deadlineMs` has passed. */
  stop(deadlineMs: number): Promise<void>;
  ready(): Promise<boolean>;
}
