/** `agent-fix verify`: establishes the verdict on anybody's patch to a local checkout, with the evidence that a run would give. */

import { rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
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
import { describeVerification, EXIT_CODES } from "./verify-report.ts";

const USAGE = `agent-fix verify --repo DIR --patch FILE: what a patch is worth, established with the repository's own tests.

  --repo DIR     a git checkout; it is not changed
  --base SHA     the commit that the patch is for, full id; default: the newest commit of the current branch
  --patch FILE   a unified diff, as \`git diff\`, \`git format-patch\` or GitHub's .patch address give it; - reads standard input
  --output FILE  the evidence as JSON: commands, exit codes, digests, and each test in each run
  --json         the same JSON on standard output instead of the report
  --no-progress  no progress on standard error

Everything runs in the sandbox; no model and no key is needed. Exit codes:
  0  proven: a test fails without the patch and passes with it, and nothing broke
  1  nothing was verified: the message says what is wrong with the repository, the patch or this machine
  2  wrong options
  3  passing: nothing broke, but no test proves the patch
  4  unproven: the report says why
  5  refuted: something that passed before fails with the patch`;

interface Options {
  readonly repo: string;
  readonly base: string | null;
  readonly patch: string;
  readonly output: string | null;
  readonly json: boolean;
  readonly progress: boolean;
}

/** Exit codes as the usage text says; 128 + the signal's number when it was stopped. */
export async function verify(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      repo: { type: "string" },
      base: { type: "string" },
      patch: { type: "string" },
      output: { type: "string" },
      json: { type: "boolean", default: false },
      progress: { type: "boolean", default: true },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const { repo, base, patch } = values;
  if (repo === undefined || patch === undefined) {
    console.error(`Both --repo and --patch are needed.\n\n${USAGE}`);
    return 2;
  }
  if (base !== undefined && !/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(base)) {
    console.error(`--base ${JSON.stringify(base)} is no full commit id; \`git rev-parse ${base}\` gives it.`);
    return 2;
  }
  return verifyWith({
    repo: resolve(repo),
    base: base ?? null,
    patch,
    output: values.output ?? null,
    json: values.json,
    progress: values.progress,
  });
}

async function verifyWith(options: Options): Promise<number> {
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
  const ports = verificationPorts({ ...shared, sandbox, redactor: createRedactor([]) }, options.repo);
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

async function report(verification: Verification, { json, output }: Options): Promise<number> {
  if (output !== null) await writeFile(resolve(output), verification.evidence);
  process.stdout.write(json ? verification.evidence : `${describeVerification(verification)}\n`);
  return EXIT_CODES[verification.verdict.class];
}
