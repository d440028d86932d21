/** Step `setup`: a fresh checkout of the base, its dependencies installed in the only session that has a network. */

import { access } from "node:fs/promises";
import type { Outcome, StepContext } from "#src/dag/dag.ts";
import type { Network } from "#src/sandbox/sandbox.ts";
import type { DetectedCommand } from "#src/verify/verify.ts";
import { fillingPackages } from "../package-managers.ts";
import type { Proving } from "../proving.ts";
import { asJson, inputOf, type RunContext } from "../run-context.ts";
import { gitFailed, type Prepared } from "./prepare.ts";

export interface SetUp {
  /** Host directory of the set-up checkout that the others are copied from. */
  readonly directory: string;
  /** Null: set-up went well or there was nothing to do; else the sentence and the end of its log. */
  readonly failure: string | null;
  /** Paths that set-up itself changed: noise, left out of the patch. */
  readonly noise: readonly string[];
  /** Host directory of what package managers fetched, shown read-only to every later session; null: no set-up ran. */
  readonly cache: string | null;
}

export async function setup(context: RunContext, step: StepContext): Promise<Outcome> {
  const prepared = inputOf<Prepared>(step.inputs, "prepare");
  const built = await buildSetUp(context, prepared, "base", step.signal);
  return built.ok ? { kind: "done", output: asJson(built.value) } : built.outcome;
}

/** A stored set-up stands as long as its directories do. */
export async function setupStands({
  directory,
  cache,
}: Pick<SetUp, "directory"> & Partial<SetUp>): Promise<boolean> {
  const needed = [directory, ...(cache === null || cache === undefined ? [] : [cache])];
  return Promise.all(needed.map((path) => access(path))).then(
    () => true,
    () => false,
  );
}

/** Checks out the base under `name` and runs its set-up command; a failing command is a result, not a failure of the step. */
export async function buildSetUp(
  context: Proving,
  prepared: Pick<Prepared, "baseSha" | "detected" | "settings" | "image">,
  name: string,
  signal: AbortSignal,
): Promise<{ ok: true; value: SetUp } | { ok: false; outcome: Outcome }> {
  const { workspaces } = context.ports;
  const { id } = context.request.repository;
  const checkout = await workspaces.checkout(context.runId, id, prepared.baseSha, name, signal);
  if (!checkout.ok) return { ok: false, outcome: gitFailed(checkout.error) };
  const directory = checkout.value;
  const command = prepared.detected.setup;
  if (command === null) return { ok: true, value: { directory, failure: null, noise: [], cache: null } };
  const { networkAllow } = prepared.settings;
  const ran = await workspaces.withCache(context.runId, id, async (cache) => {
    const { image } = prepared;
    const done = await runSetup(context, { command, directory, cache, image, allow: networkAllow, signal });
    return done.ok ? { ...done, cache } : done;
  });
  if (!ran.ok) return ran;
  const dirty = await workspaces.dirtyPaths({
    runId: context.runId,
    repositoryId: id,
    baseSha: prepared.baseSha,
    directory,
  });
  if (!dirty.ok) return { ok: false, outcome: gitFailed(dirty.error) };
  return { ok: true, value: { directory, failure: ran.failure, noise: dirty.value, cache: ran.cache } };
}

interface SetupRun {
  readonly command: DetectedCommand;
  readonly directory: string;
  readonly cache: string;
  readonly allow: readonly string[];
  readonly image: Prepared["image"];
  readonly signal: AbortSignal;
}

async function runSetup(
  context: Proving,
  run: SetupRun,
): Promise<{ ok: true; failure: string | null } | { ok: false; outcome: Outcome }> {
  const { sandbox, operator } = context.ports;
  const session = await sandbox.open({
    runId: context.runId,
    phase: "setup",
    workspace: run.directory,
    network: networkOf(context, run.allow),
    limits: operator.limits,
    image: run.image,
    ...fillingPackages(run.cache),
  });
  if (!session.ok)
    return {
      ok: false,
      outcome: { kind: "failed", code: "sandbox_unavailable", message: session.error.message, retry: false },
    };
  context.trace.emit("sandbox", { enforcement: session.value.enforcement }, { step: "setup" });
  try {
    const result = await session.value.exec({
      argv: ["bash", "-o", "pipefail", "-c", run.command.command],
      cwd: run.command.directory === "." ? "/workspace" : `/workspace/${run.command.directory}`,
      timeoutMs: operator.setupTimeoutMs,
      outputBytes: 64_000,
      signal: run.signal,
    });
    const good = result.end.kind === "exited" && result.end.code === 0;
    context.trace.emit(
      "setup",
      {
        ok: good,
        command: run.command.command,
        ms: result.durationMs,
        output: logEnd(result.stdout, result.stderr),
      },
      { step: "setup" },
    );
    if (good) return { ok: true, failure: null };
    const how =
      result.end.kind === "exited"
        ? `ended with exit code ${result.end.code}`
        : result.end.kind === "killed"
          ? `was stopped (${result.end.reason})`
          : `could not start: ${result.end.message}`;
    const log = context.ports.redactor.redact(logEnd(result.stdout, result.stderr));
    return { ok: true, failure: `\`${run.command.command}\` ${how}: ${log}` };
  } finally {
    await session.value.close();
  }
}

/** Each host is traced once per verdict: an installation asks for the same one a thousand times. */
function networkOf(context: Proving, hosts: readonly string[]): Network {
  // An empty list is the operator's or the repository's wish for none at all, the operator's own registries included.
  if (hosts.length === 0) return { kind: "none" };
  const told = new Set<string>();
  const onHost = (host: string, allowed: boolean) => {
    const key = `${host} ${allowed}`;
    if (!told.has(key)) context.trace.emit("network", { host, allowed }, { step: "setup" });
    told.add(key);
  };
  return { kind: "allow", hosts, onHost };
}

/** The last 1,500 characters of both streams, where package managers say what went wrong. */
function logEnd(...streams: readonly { readonly head: string; readonly tail: string }[]): string {
  return streams
    .map((stream) => (stream.head + stream.tail).trim())
    .filter((text) => text !== "")
    .join("\n")
    .slice(-1_500);
}
