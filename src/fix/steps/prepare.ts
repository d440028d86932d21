/** Step `prepare`: may this run start, which commit is its base, and what does the repository say about itself there. */

import type { RepositorySettings } from "#src/config/repository-file.ts";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { FailureCode } from "#src/run/run.ts";
import type { ImageWish } from "#src/sandbox/sandbox.ts";
import type { Detected } from "#src/verify/verify.ts";
import type { CommitFiles, GitFailure, GitToken } from "#src/workspace/workspace.ts";
import { claimsOf } from "../claims.ts";
import { holdBack, watchedToken } from "../held-back.ts";
import { asJson, type RunContext } from "../run-context.ts";

export interface Prepared {
  readonly baseSha: string;
  readonly targetBranch: string;
  readonly settings: RepositorySettings;
  readonly detected: Detected;
  /** Texts of AGENTS.md and its kin at the base: advice for the model, never commands to the app. */
  readonly advice: readonly { readonly path: string; readonly text: string }[];
  /** The pull request template at the base; null when there is none. */
  readonly template: string | null;
  /** What decides the container image; absent in runs that an earlier version prepared. */
  readonly image?: ImageWish;
  /** Sentences on what others have done about the issue without a pull request; absent in older runs. */
  readonly related?: readonly string[];
}

export const PREPARE_STEP = "prepare";
const CANNOT_BEGIN = "The work could not begin";
const SETTINGS_FILE = ".github/agent-fix.yml";
const ADVICE_FILES = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "CONTRIBUTING.md"];
const TEMPLATE_FILES = [
  ".github/pull_request_template.md",
  ".github/PULL_REQUEST_TEMPLATE.md",
  "pull_request_template.md",
  "PULL_REQUEST_TEMPLATE.md",
  "docs/pull_request_template.md",
  "docs/PULL_REQUEST_TEMPLATE.md",
];
const DEVCONTAINER_FILES = [".devcontainer/devcontainer.json", ".devcontainer.json"];
const MAX_ADVICE = 6_000;

/** Asks who and what first, so that a run nobody may start costs nothing; then fetches and reads at the base commit only. */
export async function prepare(context: RunContext, step: StepContext): Promise<Outcome> {
  beginStory(context);
  await context.enter("preparing");
  const start = await context.conversation.mayStart();
  if (!start.go) {
    if (start.end === "held_back") return holdBack(context, PREPARE_STEP, start.failure, CANNOT_BEGIN);
    if (start.end === "failed") return failed(start.code, start.message);
    // The driver reads this code and ends the run as cancelled.
    return { kind: "failed", code: `cancelled:${start.why}`, message: start.by, retry: false };
  }
  const claims = await claimsOf(context, start.createdAt);
  if (claims.heldBack !== null) return holdBack(context, PREPARE_STEP, claims.heldBack, CANNOT_BEGIN);
  if (claims.stop !== null) return failed("already_claimed", claims.stop);
  const { repository } = context.request;
  const git = watchedToken(context.ports.gitToken(context.request));
  const fetch = (branch: string) => fetchBranch(context, branch, git.token, step.signal);
  const head = await fetch(repository.defaultBranch);
  const unfetched = (failure: GitFailure) => {
    const held = git.heldBack();
    return held === null ? gitFailed(failure) : holdBack(context, PREPARE_STEP, held, CANNOT_BEGIN);
  };
  if (!head.ok) return unfetched(head.error);
  const files = context.ports.workspaces.files(repository.id, head.value.headSha);
  const settings = context.ports.readSettings(await readText(files, SETTINGS_FILE));
  if (!settings.ok)
    return failed(
      "bad_config",
      `${SETTINGS_FILE} on ${repository.defaultBranch}: ${settings.error.join("; ")}`,
    );
  const { pullRequest } = context.request;
  const target = pullRequest?.branch ?? settings.value.targetBranch ?? repository.defaultBranch;
  const base = target === repository.defaultBranch ? head : await fetch(target);
  if (!base.ok) return unfetched(base.error);
  const described = await describeBase(context, base.value.headSha, target, settings.value);
  const prepared: Prepared = { ...described, related: claims.related };
  return { kind: "done", output: asJson(prepared) };
}

function beginStory(context: RunContext): void {
  const { request, trace, ports } = context;
  const { owner, name } = request.repository;
  const { modelId } = ports.operator;
  const price = ports.operator.price(modelId);
  trace.emit("run_started", {
    repository: `${owner}/${name}`,
    issue: request.issue.number,
    title: request.issue.title,
    sandbox: ports.sandbox.name,
    model: modelId,
    price:
      price === null ? null : { input: price.inputUsd, cached: price.cachedUsd, output: price.outputUsd },
    resumed: context.run().state !== "queued",
  });
}

async function describeBase(
  context: RunContext,
  baseSha: string,
  targetBranch: string,
  settings: RepositorySettings,
): Promise<Prepared> {
  const files = context.ports.workspaces.files(context.request.repository.id, baseSha);
  const detected = await context.ports.detect(files, {
    setup: settings.setup,
    test: settings.test,
    workingDirectory: settings.workingDirectory,
  });
  const advice: { path: string; text: string }[] = [];
  for (const path of ADVICE_FILES) {
    const text = await readText(files, path);
    if (text !== null && text.trim() !== "") advice.push({ path, text: text.slice(0, MAX_ADVICE) });
  }
  let template: string | null = null;
  for (const path of TEMPLATE_FILES) template ??= await readText(files, path);
  let devcontainer: string | null = null;
  for (const path of DEVCONTAINER_FILES) devcontainer ??= await readText(files, path);
  const image = { asked: settings.image, devcontainer, stack: detected.test?.stack ?? null };
  return { baseSha, targetBranch, settings, detected, advice, template, image };
}

function fetchBranch(context: RunContext, branch: string, token: GitToken, signal: AbortSignal) {
  const { id, cloneUrl } = context.request.repository;
  return context.ports.workspaces.fetch({ id, cloneUrl }, branch, token, signal);
}

async function readText(files: CommitFiles, path: string): Promise<string | null> {
  const bytes = await files.read(path);
  return bytes === null ? null : Buffer.from(bytes).toString("utf8");
}

function failed(code: FailureCode, message: string): Outcome {
  return { kind: "failed", code, message, retry: false };
}

/** A git failure in the run's own vocabulary; what may pass is worth another attempt. */
export function gitFailed(failure: GitFailure): Outcome {
  switch (failure.code) {
    case "empty_repository":
      return failed(
        "empty_repository",
        "This repository has no commits yet, so there is nothing to work on. Push a first commit, then set the label again.",
      );
    case "unreachable":
    case "cancelled":
      return { kind: "failed", code: "cannot_clone", message: failure.message, retry: true };
    case "disk_full":
      return failed("internal", `The disk of the machine is full: ${failure.message}`);
    default:
      return failed("cannot_clone", failure.message);
  }
}
