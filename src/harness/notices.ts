/** The user messages the harness adds by itself, and the sentences of its own stops. */

import type { NoticeKind } from "./events.ts";
import type { Circle } from "./progress.ts";

const OPENINGS: Record<NoticeKind, string> = {
  wrap_up: "[harness] Time to wrap up:",
  instruction: "[harness] A maintainer of the repository adds:",
  no_progress: "[harness] You are going round in circles:",
  cut_off: "[harness] Your reply was cut off at the output limit.",
  empty_answer: "[harness] Your reply was empty.",
};

const CIRCLES: Record<Circle, string> = {
  repeating: "the same calls gave the same results three times",
  alternating: "the same two steps alternate with the same results",
  same_error: "the same error came three times from different arguments",
};

/** The kind of notice a user message is; null: somebody else wrote it. */
export function noticeKindOf(text: string): NoticeKind | null {
  const kinds = Object.keys(OPENINGS) as NoticeKind[];
  return kinds.find((kind) => text.startsWith(OPENINGS[kind])) ?? null;
}

export function wrapUpNotice(used: string): string {
  return `${OPENINGS.wrap_up} ${used} used. Finish the change you are making, run the tests once more, and give your final answer.`;
}

export function noProgressNotice(circle: Circle): string {
  return `${OPENINGS.no_progress} ${CIRCLES[circle]}. Read the last result again and try something different, or give your final answer. If this goes on, the run is stopped.`;
}

export function noProgressStop(circle: Circle): string {
  return `The model made no progress: ${CIRCLES[circle]}, also after it was told.`;
}

export function instructionNotice(text: string): string {
  return `${OPENINGS.instruction}\n${text}`;
}

export function cutOffNotice(): string {
  return `${OPENINGS.cut_off} Go on from where it ended, in smaller pieces.`;
}

export function emptyAnswerNotice(): string {
  return `${OPENINGS.empty_answer} Call a tool to go on, or give your final answer as text.`;
}

/** The sentence of a stop that is our own fault. */
export function defectMessage(detail: string): string {
  return `The harness stopped on a defect of its own, nothing was sent: ${detail}. Please report it with the trace.`;
}
