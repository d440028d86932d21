/** What the tools of one agent session share: its sandbox, its files, and what the model has seen of them. */

import { sha256 } from "#src/base/canonical-json.ts";
import type { Clock } from "#src/base/clock.ts";
import type { ToolResult } from "#src/harness/tool.ts";
import type { SandboxOwner, Session } from "#src/sandbox/sandbox.ts";
import { nearestNames } from "./closest.ts";
import type { FileFault, Files } from "./files.ts";
import { showPath } from "./paths.ts";

export interface ToolSetup {
  readonly session: Session;
  /** Host path of the workspace that the session shows at /workspace. */
  readonly directory: string;
  /** Whom new files must belong to; null: the user the app runs as. */
  readonly owner: SandboxOwner | null;
  /** Runs the repository's suite, narrowed by `filter`, and answers with its summary for the model. */
  runTests(filter: string | null, signal: AbortSignal): Promise<string>;
  /** Ends what takes too long; the system's when left out. */
  readonly clock?: Clock;
  /** Told of each path written by edit_file, from the repository root. */
  onEdit?(path: string): void;
}

/** Remembers each file's content hash as the model last saw or wrote it. */
export interface Seen {
  note(path: string, bytes: Uint8Array): void;
  /** True when the model saw the file and its content is another now; a mere touch changes nothing. */
  differs(path: string, bytes: Uint8Array): boolean;
}

export function createSeen(): Seen {
  const hashes = new Map<string, string>();
  return {
    note: (path, bytes) => void hashes.set(path, sha256(bytes)),
    differs: (path, bytes) => {
      const known = hashes.get(path);
      return known !== undefined && known !== sha256(bytes);
    },
  };
}

export function done(text: string, wrote?: readonly string[]): ToolResult {
  return wrote === undefined ? { status: "ok", text } : { status: "ok", text, wrote };
}

export function refused(text: string): ToolResult {
  return { status: "error", text };
}

/** A fault as the model reads it; for a missing path with the nearest names that are there. */
export async function explainFault(
  files: Files,
  names: readonly string[],
  fault: FileFault,
): Promise<ToolResult> {
  if (fault.code !== "missing") return refused(fault.message);
  for (let depth = names.length - 1; depth >= 0; depth--) {
    const parent = names.slice(0, depth);
    const entries = await files.list(parent);
    if (!entries.ok) continue;
    const near = nearestNames(
      names[depth] ?? "",
      entries.value.filter((name) => name !== ".git"),
    );
    const place = depth === 0 ? "The repository root" : showPath(parent);
    const hint =
      near.length > 0
        ? `${place} has: ${near.map((name) => showPath([...parent, name])).join(", ")}.`
        : `Look with list_dir {"path": ${JSON.stringify(showPath(parent))}} or search.`;
    return refused(`${showPath(names)} does not exist. ${hint}`);
  }
  return refused(fault.message);
}
