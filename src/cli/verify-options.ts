/** The options of `agent-fix verify`, and its help. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";

const USAGE = `agent-fix verify --repo DIR --patch FILE: what a patch is worth, established with the repository's own tests.

  --repo DIR     a git checkout; it is not changed
  --base SHA     the commit that the patch is for, full id; default: the newest commit of the current branch
  --patch FILE   a unified diff, as \`git diff\`, \`git format-patch\` or GitHub's .patch address give it; - reads standard input
  --test-command CMD   instead of what the repository file or its manifests name: e.g. a part of a suite that takes an hour
  --setup-command CMD  likewise; an empty one: nothing is installed
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

export interface VerifyOptions {
  readonly repo: string;
  readonly base: string | null;
  readonly patch: string;
  readonly testCommand: string | null;
  readonly setupCommand: string | null;
  readonly output: string | null;
  readonly json: boolean;
  readonly progress: boolean;
}

/** A number is the exit code of a call that ends with its words: help, or what is wrong with the options. */
export function readOptions(args: readonly string[]): VerifyOptions | number {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      repo: { type: "string" },
      base: { type: "string" },
      patch: { type: "string" },
      "test-command": { type: "string" },
      "setup-command": { type: "string" },
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
  const testCommand = values["test-command"] ?? null;
  if (testCommand?.trim() === "") {
    console.error("--test-command is empty: name a command, or leave the option out to have one detected.");
    return 2;
  }
  return {
    repo: resolve(repo),
    base: base ?? null,
    patch,
    testCommand,
    setupCommand: values["setup-command"] ?? null,
    output: values.output ?? null,
    json: values.json,
    progress: values.progress,
  };
}
