/** Tries the proofs of a patch: the same test files once more, with tests that must fail; what does not fail there is forged. */

import type { TamperFinding } from "#src/run/verdict.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import { controlOf, groupOf } from "./control.ts";
import type { Proof } from "./control-proofs.ts";
import type { Runs } from "./verification-runs.ts";
import type { SuiteResult } from "./verify.ts";

const FILE_BYTES = 400_000;
const EXEC_MS = 30_000;
const PATCHED = "tests that must fail, over patched sources";
const BASE = "tests that must fail, over base sources";

export interface ControlRequest {
  /** Files of the tests that prove the fix. */
  readonly files: readonly string[];
  /** Those tests, by their file. */
  readonly proofs: ReadonlyMap<string, readonly Proof[]>;
  /** The patch's changes outside its tests: what may be forging. */
  readonly sources: readonly string[];
  /** Lower-case hex that no patch can know. */
  readonly nonce: string;
  readonly signal: AbortSignal;
}

export interface Controlled {
  /** Null when every test that must fail is reported as failing, or when nothing can be tried this way. */
  readonly finding: TamperFinding | null;
  /** The other tests of that run, where it was one of the whole suite and is to be believed: a second look at the patched tree. */
  readonly again: SuiteResult | null;
}

const NOTHING: Controlled = { finding: null, again: null };

/** Runs the proofs' files with tests that must fail; where some do not, the base's sources tell whether they can at all. */
export async function tryProofs(runs: Runs, request: ControlRequest): Promise<Controlled> {
  const { files, sources, nonce, signal } = request;
  const [path] = files;
  if (path === undefined || sources.length === 0) return NOTHING;
  const run = async (name: string, except: readonly string[]) => {
    let expected = 0;
    const label = except.length === 0 ? PATCHED : BASE;
    const result = await runs.control({ label, name, except, files, signal }, async (session) => {
      for (const file of files) expected += await append(session, file, request);
      return expected > 0;
    });
    return result === null ? null : { result, expected, ...failuresIn(result, nonce) };
  };
  const told = await run("verify-control", []);
  if (told === null) return NOTHING;
  if (told.failed === told.expected && told.exited)
    return { finding: null, again: withoutControls(told.result, nonce) };
  const onBase = await run("verify-control-base", sources);
  if (onBase === null || onBase.failed < onBase.expected || !onBase.exited) return NOTHING;
  return {
    again: null,
    finding: {
      kind: "report_mismatch",
      path,
      detail: `tests that must fail were added: over the base's sources ${onBase.failed} of ${onBase.expected} fail, over the patch's ${told.failed}`,
    },
  };
}

/** Its exit code speaks of the added tests, and is no sign of anything else. */
function withoutControls(result: SuiteResult, nonce: string): SuiteResult {
  const cases = result.cases.filter((one) => !one.id.includes(nonce));
  return { ...result, cases, evidence: { ...result.evidence, label: "patched" } };
}

/** How many tests the file got; 0 when it cannot be read or is of no known shape. Inside, so that a link leads nowhere on the host. */
async function append(
  session: Session,
  path: string,
  { nonce, proofs, signal }: ControlRequest,
): Promise<number> {
  const bounds = { timeoutMs: EXEC_MS, outputBytes: 2 * FILE_BYTES, signal };
  const read = await session.exec({ argv: ["cat", "--", path], ...bounds });
  if (read.end.kind !== "exited" || read.end.code !== 0 || read.stdout.totalBytes > FILE_BYTES) return 0;
  const control = controlOf(path, read.stdout.head + read.stdout.tail, nonce, proofs.get(path));
  if (control === null) return 0;
  const argv = ["bash", "-c", 'cat >> "$1"', "append", path];
  const written = await session.exec({ argv, stdin: Buffer.from(control.text), ...bounds });
  return written.end.kind === "exited" && written.end.code === 0 ? control.count : 0;
}

function failuresIn(
  result: SuiteResult,
  nonce: string,
): { readonly failed: number; readonly exited: boolean } {
  const group = groupOf(nonce);
  const failed = result.cases.filter(
    ({ id, outcome }) => id.includes(nonce) && !id.endsWith(group) && outcome === "fail",
  ).length;
  return { failed, exited: result.evidence.exitCode !== 0 };
}
