/** Verifies somebody's patch on a local repository as a run would, where there is no run: set-up, baseline, verdict, evidence. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { Verdict } from "#src/run/verdict.ts";
import type { Detected, DetectedCommand, SuiteResult } from "#src/verify/verify.ts";
import type { BuiltTree, CommitFiles } from "#src/workspace/workspace.ts";
import { evidenceFile } from "./evidence-file.ts";
import { type LookPorts, type LookRequest, openBase, runBaseline } from "./first-look.ts";
import type { FixPorts } from "./ports.ts";
import type { Proving } from "./proving.ts";
import type { Prepared } from "./steps/prepare.ts";
import { buildSetUp } from "./steps/setup.ts";
import { checksOf, establish } from "./steps/verify.ts";

/** The branch is the one that the checkout is on. */
export interface PatchRequest extends LookRequest {
  /** Unified diff as `git diff` and `git format-patch` write it. */
  readonly patch: string;
  /** Commands that the caller names instead of the repository's; null: detect. An empty set-up: none. */
  readonly commands: { readonly setup: string | null; readonly test: string | null };
  /** Told of each suite run that has ended. */
  readonly observe: (result: SuiteResult) => void;
}

export interface Verification {
  readonly verdict: Verdict;
  readonly base: string;
  readonly detected: Detected;
  readonly changes: BuiltTree["changes"];
  /** JSON of `evidence-file.ts`. */
  readonly evidence: string;
  /** The first run that failed without reporting a test, whose words tell more than its numbers; null: there was none. */
  readonly silent: SuiteResult | null;
}

/** The patch as a tree over the base, applied by git inside a sandbox. */
async function buildTree(
  ports: LookPorts,
  request: PatchRequest,
  base: { readonly baseSha: string },
): Promise<Result<BuiltTree, string>> {
  const { runId, repository, signal } = request;
  const { workspaces, sandbox, operator } = ports;
  const copy = await workspaces.checkout(runId, repository.id, base.baseSha, "patched", signal);
  if (!copy.ok) return err(copy.error.message);
  const directory = copy.value;
  const session = await sandbox.open({
    runId,
    phase: "agent",
    workspace: directory,
    mounts: [],
    network: { kind: "none" },
    limits: operator.limits,
    env: {},
  });
  if (!session.ok) return err(session.error.message);
  try {
    const failed = await applyIn(session.value, request);
    if (failed !== null) return err(failed);
  } finally {
    await session.value.close();
  }
  const place = { runId, repositoryId: repository.id, baseSha: base.baseSha, directory };
  const edited = await workspaces.dirtyPaths(place);
  if (!edited.ok) return err(edited.error.message);
  const built = await workspaces.buildTree({ ...place, edited: edited.value, noise: [] });
  return built.ok ? ok(built.value) : err(built.error.message);
}

type Session = Parameters<FixPorts["runSuite"]>[0]["session"];

/** Bytes of the patch in one command: the kernel limits an argument, not a number of commands. */
const PIECE = 60_000;
const APPLY_MS = 60_000;

/** Null when it went well, else what git said. */
async function applyIn(session: Session, { patch, signal }: PatchRequest): Promise<string | null> {
  const encoded = Buffer.from(patch).toString("base64");
  const run = (script: string, ...args: readonly string[]) =>
    session.exec({
      argv: ["bash", "-c", script, "bash", ...args],
      timeoutMs: APPLY_MS,
      outputBytes: 16_000,
      signal,
    });
  for (let at = 0; at < encoded.length; at += PIECE)
    await run('printf %s "$1" >> /tmp/patch.base64', encoded.slice(at, at + PIECE));
  const script =
    "base64 -d /tmp/patch.base64 > /tmp/patch.diff && git apply --whitespace=nowarn --binary /tmp/patch.diff";
  const { end, stderr, stdout } = await run(script);
  if (end.kind === "exited" && end.code === 0) return null;
  const said = `${stderr.head}${stderr.tail}${stdout.head}`.trim().split("\n").slice(0, 5).join("; ");
  return `the patch does not apply to the base: ${said === "" ? "git gave no reason" : said}`;
}

/** Never rejects for what the repository or the patch do; an error is a sentence that says what to do. */
export async function verifyPatchFile(
  ports: LookPorts,
  request: PatchRequest,
): Promise<Result<Verification, string>> {
  const { runId, repository, signal, begin } = request;
  begin("fetch the repository");
  const prepared = await openBase(ports, request, async () => null);
  if (!prepared.ok) return prepared;
  const context: Proving = { runId, request: { repository }, ports, trace: { emit: () => undefined } };
  begin("apply the patch");
  const tree = await buildTree(ports, request, prepared.value);
  if (!tree.ok) return tree;
  if (tree.value.changes.length === 0) return err("the patch changes nothing");
  const { files, baseSha, settings } = prepared.value;
  const detected = await detectFor(ports, request, { files, settings, changes: tree.value.changes });
  const known = { baseSha, settings, detected };
  begin(detected.setup === null ? "make a checkout" : `set up: ${detected.setup.command}`);
  const setUp = await buildSetUp(context, known, "base", signal);
  if (!setUp.ok) return err(setUp.outcome.kind === "failed" ? setUp.outcome.message : "set-up did not end");
  const results: SuiteResult[] = [];
  const observe = (result: SuiteResult) => {
    results.push(result);
    request.observe(result);
  };
  const baseline = await runBaseline(context, { detected, setUp: setUp.value, request, observe });
  if (!baseline.ok) return baseline;
  begin("test the patch");
  const verdict = await establish(context, {
    prepared: known,
    setUp: setUp.value,
    baseline: baseline.value,
    treeId: tree.value.treeId,
    changes: tree.value.changes,
    signal,
    step: "verify",
    checks: checksOf(known),
    observe,
  });
  const evidence = evidenceFile({
    base: baseSha,
    tree: tree.value.treeId,
    diff: tree.value.diff,
    setup: detected.setup,
    environment: { sandbox: ports.sandbox.name, limits: { ...ports.operator.limits } },
    verdict,
    results,
  });
  const silent = results.find((one) => one.cases.length === 0 && one.evidence.exitCode !== 0) ?? null;
  return ok({ verdict, base: baseSha, detected, changes: tree.value.changes, evidence, silent });
}

interface Known {
  readonly files: CommitFiles;
  readonly settings: Prepared["settings"];
  readonly changes: BuiltTree["changes"];
}

/** Unlike in a run, what is changed is known by now: in a monorepo it says whose tests are asked. */
async function detectFor(ports: LookPorts, { commands }: PatchRequest, known: Known): Promise<Detected> {
  const { setup, test, workingDirectory } = known.settings;
  const detected = await ports.detect(known.files, {
    setup: commands.setup ?? setup,
    test: commands.test ?? test,
    workingDirectory,
    near: known.changes.map((change) => change.path),
  });
  const named = <T extends DetectedCommand>(command: T | null, given: string | null): T | null =>
    command === null || given === null ? command : { ...command, because: "named by the caller" };
  return {
    ...detected,
    setup: named(detected.setup, commands.setup),
    test: named(detected.test, commands.test),
  };
}
