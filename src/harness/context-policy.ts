/** When a transcript is made smaller, and to what size; all numbers leave out system prompt and tools. */

export interface StubPolicy {
  /** Tokens of the transcript from which old results are cleared. */
  readonly trigger: number;
  /** Results of so many newest turns stay whole. */
  readonly keepTurns: number;
  /** Tokens that clearing must free: each clearing costs the provider's cache of all that follows, so steps are large and rare. */
  readonly leastFreed: number;
}

export interface ContextPolicy {
  /** Tokens of the transcript from which it is compacted. */
  readonly trigger: number;
  /** Tokens it has at most after that: task, hand-over note and newest turns. */
  readonly budget: number;
  /** So many newest turns are kept as they are, if the budget allows. */
  readonly keepTurns: number;
  /** The least share of the budget that the note gets, 0 to 1; fewer turns are kept when they leave it less. */
  readonly noteShare: number;
  /** Null: old results are never cleared. */
  readonly stub: StubPolicy | null;
}

/** The policy for a window that leaves `room` tokens to the transcript. */
export function policyFor(room: number): ContextPolicy {
  // Below the room by what one turn may add: a reply and its results.
  const trigger = Math.floor(room * 0.7);
  return {
    trigger,
    budget: Math.floor(trigger * 0.35),
    keepTurns: 10,
    noteShare: 0.05,
    stub: { trigger: Math.floor(trigger * 0.6), keepTurns: 10, leastFreed: Math.floor(trigger * 0.2) },
  };
}

/** The policy once a transcript of `body` tokens turned out too large for the window, with all that is sent besides it. */
export function tightened(policy: ContextPolicy, body: number): ContextPolicy {
  const trigger = Math.min(policy.trigger, Math.floor(body * 0.8));
  return { ...policy, trigger, budget: Math.min(policy.budget, Math.floor(body * 0.4)) };
}
