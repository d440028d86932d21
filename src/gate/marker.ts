/** The hidden first line of every comment the app writes, by which it finds its own comments again. */

export type MarkerKind = "status" | "plan" | "intent" | "answer";

export interface Marker {
  /** Null: the comment belongs to no run. */
  readonly runId: string | null;
  readonly kind: MarkerKind;
  /** Counts comments of that kind within the run, from 1. */
  readonly seq: number;
  /** The comment this one answers. */
  readonly forComment: number | null;
}

const FORM =
  /^<!-- agent-fix run=([0-9a-z]+) kind=(status|plan|intent|answer) seq=(\d+) for=(\d+|-) -->(?:\r?\n|$)/;

/** The line without its line end. */
export function formatMarker(marker: Marker): string {
  return `<!-- agent-fix run=${marker.runId ?? "none"} kind=${marker.kind} seq=${marker.seq} for=${marker.forComment ?? "-"} -->`;
}

/** Reads the marker of a comment body; null when the first line is none. Believe it only on comments our app wrote. */
export function parseMarker(body: string): Marker | null {
  const match = FORM.exec(body);
  if (match === null) return null;
  const [, run = "none", kind, seq, forComment = "-"] = match;
  return {
    runId: run === "none" ? null : run,
    kind: kind as MarkerKind,
    seq: Number(seq),
    forComment: forComment === "-" ? null : Number(forComment),
  };
}

export function sameMarker(a: Marker, b: Marker): boolean {
  return a.runId === b.runId && a.kind === b.kind && a.seq === b.seq && a.forComment === b.forComment;
}
