/** Takes the start marker, and what the engine printed before it, out of a command's captured standard error. Pure. */

import { createCapture } from "#src/sandbox/command/capture.ts";
import type { RawResult } from "#src/sandbox/command/run-command.ts";
import { NO_DIRECTORY } from "#src/sandbox/container/argv.ts";
import type { Captured } from "#src/sandbox/sandbox.ts";

/** Bytes by which both streams are captured wider than asked for, so that the marker and the engine's words fit in the head. */
export const MARKER_ROOM = 8_192;

/** What became of the command, and its streams as it wrote them. */
export type Entered =
  | { readonly kind: "started"; readonly stdout: Captured; readonly stderr: Captured }
  | { readonly kind: "no_directory" }
  /** The engine's words. */
  | { readonly kind: "not_started"; readonly said: string };

/** `bytes`: what the caller wanted kept of each stream. Without the marker nothing of the command ran. */
export function entered(raw: RawResult, marker: string, bytes: number): Entered {
  const head = Buffer.from(raw.stderr.head, "utf8");
  const started = head.indexOf(`${marker}\n`);
  if (started >= 0) {
    return {
      kind: "started",
      stdout: narrowed(raw.stdout, 0, bytes),
      stderr: narrowed(raw.stderr, started + marker.length + 1, bytes),
    };
  }
  if (raw.exit?.code === NO_DIRECTORY && head.includes(marker)) return { kind: "no_directory" };
  return { kind: "not_started", said: `${raw.stderr.head}${raw.stderr.tail}` };
}

/** The same stream without its first `skip` bytes, kept to `bytes`. Right while what was captured is wider than both together. */
function narrowed(captured: Captured, skip: number, bytes: number): Captured {
  const capture = createCapture(bytes);
  capture.push(Buffer.from(captured.head, "utf8").subarray(skip));
  capture.push(Buffer.from(captured.tail, "utf8"));
  const kept = capture.finish();
  const totalBytes = captured.totalBytes - skip;
  const whole = captured.droppedBytes === 0 && kept.droppedBytes === 0;
  const shown = Buffer.byteLength(kept.head) + Buffer.byteLength(kept.tail);
  return { ...kept, totalBytes, droppedBytes: whole ? 0 : Math.max(0, totalBytes - shown) };
}
