/** The tool port: what the loop knows of a tool, and what a tool answers. */

import type { z } from "zod";
import type { Spent } from "./agent.ts";

/** Where a call stands in its run. */
export interface CallPlace {
  readonly callId: string;
  readonly turn: number;
  /** What the run has used up to now. */
  spent(): Spent;
}

export interface ToolContext {
  readonly signal: AbortSignal;
  /** Left out when a tool is called outside a run. */
  readonly place?: CallPlace;
}

export interface ToolResult {
  readonly status: "ok" | "error";
  /** What the model reads; clipped by the dispatcher. */
  readonly text: string;
  /** Paths this call wrote, from the repository root. */
  readonly wrote?: readonly string[];
  /** What the call used of the run's budget, for tools that ask a model. */
  readonly spent?: Spent;
}

export interface Tool<Args = unknown> {
  readonly name: string;
  /** What comes back, its limits, and when to use another tool. */
  readonly description: string;
  readonly schema: z.ZodType<Args>;
  /** Read-only tools of one reply run at the same time; the others one after another, in order. */
  readonly readOnly: boolean;
  /** May throw only on a defect of its own; the dispatcher turns that into an error result. */
  run(args: Args, context: ToolContext): Promise<ToolResult>;
}
