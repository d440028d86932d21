/** A first look at a repository where there is no run: its base, its settings, its commands, and what its suite says. */

import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { Detected, SuiteResult } from "#src/verify/verify.ts";
import type { CommitFiles, GitToken } from "#src/workspace/workspace.ts";
import type { FixPorts } from "./ports.ts";
import type { Proving } from "./proving.ts";
import { runSuiteIn } from "./steps/baseline.ts";
import type { Prepared } from "./steps/prepare.ts";
import { buildSetUp, type SetUp } from "./steps/setup.ts";

export interface LookRequest {
  readonly runId: string;
  readonly repository: { readonly id: number; readonly cloneUrl: string };
  readonly branch: string;
  /** Full commit id, or null for the newest commit of the branch. */
  readonly base: string | null;
  readonly signal: AbortSignal;
  /** Told what begins, for people. */
  readonly begin: (what: string) => void;
}

export type LookPorts = Proving["ports"] &
  Pick<FixPorts, "detect" | "readSettings" | "workspaces" | "sandbox">;

export interface FirstLook {
  readonly baseSha: string;
  readonly settings: Prepared["settings"];
  readonly detected: Detected;
  /** Why set-up failed, with the end of its log; null: it went well, or there is none. */
  readonly setUpFailure: string | null;
  /** Null: no suite was run. */
  readonly baseline: SuiteResult | null;
}

/** What a run would find before its agent begins. Never rejects for what the repository does; an error is a sentence that says what to do. */
export async function lookAt(
  ports: LookPorts,
  request: LookRequest,
  token: GitToken,
): Promise<Result<FirstLook, string>> {
  const { runId, repository, signal, begin } = request;
  begin("fetch the repository");
  const opened = await openBase(ports, request, token);
  if (!opened.ok) return opened;
  const { files, baseSha, settings } = opened.value;
  const { setup, test, workingDirectory } = settings;
  const detected = await ports.detect(files, { setup, test, workingDirectory, near: [] });
  begin(detected.setup === null ? "make a checkout" : `set up: ${detected.setup.command}`);
  const context: Proving = { runId, request: { repository }, ports, trace: { emit: () => undefined } };
  const setUp = await buildSetUp(context, { baseSha, settings, detected }, "base", signal);
  if (!setUp.ok) return err(setUp.outcome.kind === "failed" ? setUp.outcome.message : "set-up did not end");
  const baseline = await runBaseline(context, {
    detected,
    setUp: setUp.value,
    request,
    observe: () => undefined,
  });
  if (!baseline.ok) return baseline;
  return ok({ baseSha, settings, detected, setUpFailure: setUp.value.failure, baseline: baseline.value });
}

const SETTINGS_FILE = ".github/agent-fix.yml";

/** The base commit, its files, and its settings; an error is a sentence that says what to do. */
export async function openBase(
  ports: LookPorts,
  request: LookRequest,
  token: GitToken,
): Promise<Result<Pick<Prepared, "baseSha" | "settings"> & { readonly files: CommitFiles }, string>> {
  const { repository, branch, signal } = request;
  const fetched = await ports.workspaces.fetch(repository, branch, token, signal);
  if (!fetched.ok) return err(fetched.error.message);
  const baseSha = request.base ?? fetched.value.headSha;
  const files = await filesAt(ports, repository.id, baseSha);
  if (typeof files === "string")
    return err(
      `${baseSha} is no commit of the branch ${branch} with files in it (${files}): check out a branch that holds it, and give its full id`,
    );
  const bytes = await files.read(SETTINGS_FILE);
  const settings = ports.readSettings(bytes === null ? null : Buffer.from(bytes).toString("utf8"));
  if (!settings.ok) return err(`${SETTINGS_FILE}: ${settings.error.join("; ")}`);
  return ok({ baseSha, files, settings: settings.value });
}

/** The commit's files, or why there are none to work on. */
async function filesAt(ports: LookPorts, repositoryId: number, sha: string): Promise<CommitFiles | string> {
  const files = ports.workspaces.files(repositoryId, sha);
  try {
    return (await files.list()).length === 0 ? "it is empty" : files;
  } catch (error) {
    return messageOf(error);
  }
}

export interface BaselineRun {
  readonly detected: Detected;
  readonly setUp: SetUp;
  readonly request: LookRequest;
  readonly observe: (result: SuiteResult) => void;
}

/** The suite on the base; null: there is none, or its set-up failed. */
export async function runBaseline(
  context: Proving,
  { detected, setUp, request, observe }: BaselineRun,
): Promise<Result<SuiteResult | null, string>> {
  const suite = detected.test;
  if (suite === null || setUp.failure !== null) return ok(null);
  request.begin(`test the base: ${suite.command}`);
  const copy = await context.ports.workspaces.copy(request.runId, setUp.directory, "baseline");
  if (!copy.ok) return err(copy.error.message);
  const ran = await runSuiteIn(context, {
    directory: copy.value,
    suite,
    label: "baseline",
    phase: "baseline",
    filter: null,
    signal: request.signal,
    cache: setUp.cache,
    image: undefined,
  });
  if (!ran.ok) return err(ran.outcome.kind === "failed" ? ran.outcome.message : "the baseline did not end");
  observe(ran.value);
  return ok(ran.value);
}
