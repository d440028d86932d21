/** Tries the proofs of a patch: the same test files once more, with tests that must fail; what does not fail there is forged. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { controlOf } from "./control.ts";
import type { Runs } from "./verification-runs.ts";
import type { SuiteResult } from "./verify.ts";

const FILE_BYTES = 400_000;
const EXEC_MS = 30_000;

export interface ControlRequest {
  /** Files of the tests that prove the fix. */
  readonly files: readonly string[];
  /** The patch's changes outside its tests: what may be forging. */
  readonly sources: readonly string[];
  /** Lower-case hex that no patch can know. */
  readonly nonce: string;
  readonly signal: AbortSignal;
}

/**
 * Null when every test that must fail is reported as failing, or when the runner shows none of them on the base's sources
 * either: then nothing can be tried this way.
 */
export async function controlFinding(runs: Runs, request: ControlRequest): Promise<TamperFinding | null> {
  const { files, sources, nonce } = request;
  const [path] = files;
  if (path === undefined || sources.length === 0) return null;
  const expected = { count: 0 };
  const run = async (name: string, except: readonly string[]) => {
    expected.count = 0;
    return runs.control({ label: "patched", name, except, files }, async (session) => {
      for (const file of files) expected.count += await append(session, file, request);
      return expected.count > 0;
    });
  };
  const told = failuresIn(await run("verify-control", []), nonce);
  if (told === null || (expected.count > 0 && told.failed === expected.count && told.exited)) return null;
  const onBase = failuresIn(await run("verify-control-base", sources), nonce);
  if (onBase === null || onBase.failed < expected.count || !onBase.exited) return null;
  return {
    kind: "report_mismatch",
    path,
    detail: `tests that must fail were added: over the base's sources ${onBase.failed} of ${expected.count} fail, over the patch's ${told.failed}`,
  };
}

/** How many tests the file got; 0 when it cannot be read or is of no known shape. Inside, so that a link leads nowhere on the host. */
async function append(session: Session, path: string, { nonce, signal }: ControlRequest): Promise<number> {
  const bounds = { timeoutMs: EXEC_MS, outputBytes: 2 * FILE_BYTES, signal };
  const read = await session.exec({ argv: ["cat", "--", path], ...bounds });
  if (read.end.kind !== "exited" || read.end.code !== 0 || read.stdout.totalBytes > FILE_BYTES) return 0;
  const control = controlOf(path, read.stdout.head + read.stdout.tail, nonce);
  if (control === null) return 0;
  const argv = ["bash", "-c", 'cat >> "$1"', "append", path];
  const written = await session.exec({ argv, stdin: Buffer.from(control.text), ...bounds });
  return written.end.kind === "exited" && written.end.code === 0 ? control.count : 0;
}

/** Null: there was no run. */
function failuresIn(
  result: SuiteResult | null,
  nonce: string,
): { readonly failed: number; readonly exited: boolean } | null {
  if (result === null) return null;
  const failed = result.cases.filter((one) => one.id.includes(nonce) && one.outcome === "fail").length;
  return { failed, exited: result.evidence.exitCode !== 0 };
}
