/** `agent-fix verify`: establishes the verdict on anybody's patch to a local checkout, with the evidence that a run would give. */

import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createRedactor } from "#src/base/redact.ts";
import { formatProblems } from "#src/config/config.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { type Verification, verifyPatchFile } from "#src/fix/verify-patch.ts";
import { judge } from "./judging.ts";
import { localRepository } from "./local-request.ts";
import { readPatch } from "./patch-file.ts";
import { createProgressBar } from "./progress-bar.ts";
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
  const bar = createProgressBar(process.stderr, options.progress);
  try {
    const parts = { config: loaded.value, env, redactor: createRedactor([]) };
    const sources = { hosts: [], local: [options.repo] };
    const verified = await judge({ ...parts, name: "verify", sources }, ({ ports, runId, signal }) =>
      verifyPatchFile(ports, {
        runId,
        repository,
        branch: repository.defaultBranch,
        base: options.base,
        patch,
        commands: { test: options.testCommand, setup: options.setupCommand },
        signal,
        begin: (what) => bar.begin(what),
        observe: ({ evidence }) => bar.done(evidence.label, evidence.durationMs),
      }),
    );
    bar.close();
    if (!verified.ok) return verified.error;
    if (verified.value.ok) return await report(verified.value.value, options);
    console.error(`agent-fix verify: ${verified.value.error}`);
    return 1;
  } finally {
    bar.close();
  }
}

async function report(verification: Verification, { json, output }: VerifyOptions): Promise<number> {
  if (output !== null) await writeFile(resolve(output), verification.evidence);
  process.stdout.write(json ? verification.evidence : `${describeVerification(verification)}\n`);
  return EXIT_CODES[verification.verdict.class];
}
