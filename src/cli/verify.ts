/** `agent-fix verify`: establishes the verdict on anybody's patch to a local checkout, with the evidence that a run would give. */

import { rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { formatProblems } from "#src/config/config.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { type Verification, verifyPatchFile } from "#src/fix/verify-patch.ts";
import { localRepository } from "./local-request.ts";
import { createLog, toStandardError } from "./logger.ts";
import { openSandbox } from "./open-sandbox.ts";
import { readPatch } from "./patch-file.ts";
import { localDataDir } from "./places.ts";
import { verificationPorts } from "./ports.ts";
import { createProgressBar } from "./progress-bar.ts";
import { exitCodeOf, listenToSignals } from "./signals.ts";
import { readOptions, type VerifyOptions } from "./verify-options.ts";
import { describeVerification, EXIT_CODES } from "./verify-report.ts";

/** Exit codes as the usage text says; 128 + the signal's number when it was stopped. */
export async function verify(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  return typeof options === "number" ? options : verifyWith(options);
}

async function verifyWith(options: VerifyOptions): Promise<number> {
  const env = processEnvironment();
  // No model is asked; without its settings the others still count.
  const loaded = loadEnv({ ...env, OPENAI_BASE_URL: env.OPENAI_BASE_URL ?? "http://127.0.0.1/" }, "local");
  if (!loaded.ok) {
    console.error(formatProblems(loaded.error));
    return 1;
  }
  const repository = await localRepository(options.repo);
  const patch = await readPatch(options.patch);
  const runId = systemIds.runId(systemClock.now());
  const dataDir = join(localDataDir(loaded.value.server.dataDir), "verify", runId);
  const config = { ...loaded.value, server: { ...loaded.value.server, dataDir } };
  const log = createLog("silent", createRedactor([]), toStandardError);
  const shared = { config, env, clock: systemClock, ids: systemIds, log };
  const sandbox = await openSandbox({ ...shared, home: homedir() });
  const ports = verificationPorts(
    { ...shared, sandbox, redactor: createRedactor([]) },
    { hosts: [], local: [options.repo] },
  );
  const stop = new AbortController();
  const signals = listenToSignals();
  const bar = createProgressBar(process.stderr, options.progress);
  try {
    const stopped = signals.come().then(() => stop.abort(new Error("stopped")));
    const work = verifyPatchFile(ports, {
      runId,
      repository,
      branch: repository.defaultBranch,
      base: options.base,
      patch,
      commands: { test: options.testCommand, setup: options.setupCommand },
      signal: stop.signal,
      begin: (what) => bar.begin(what),
      observe: ({ evidence }) => bar.done(evidence.label, evidence.durationMs),
    });
    await Promise.race([work, stopped.then(() => work.catch(() => undefined))]);
    const signal = signals.take();
    if (signal !== null) return exitCodeOf(signal);
    const verified = await work;
    bar.close();
    if (!verified.ok) {
      console.error(`agent-fix verify: ${verified.error}`);
      return 1;
    }
    return report(verified.value, options);
  } finally {
    bar.close();
    signals.close();
    await ports.workspaces.remove(runId, false);
    await sandbox.sweep();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function report(verification: Verification, { json, output }: VerifyOptions): Promise<number> {
  if (output !== null) await writeFile(resolve(output), verification.evidence);
  process.stdout.write(json ? verification.evidence : `${describeVerification(verification)}\n`);
  return EXIT_CODES[verification.verdict.class];
}
