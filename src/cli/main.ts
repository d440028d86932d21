/** The command line: one file per subcommand, chosen here. */

import { messageOf } from "#src/base/result.ts";

interface Subcommand {
  readonly about: string;
  /** Resolves to the exit code. */
  readonly load: () => Promise<(args: readonly string[]) => Promise<number>>;
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  serve: {
    about: "run the GitHub App (what `npm start` does)",
    load: async () => (await import("./serve.ts")).serve,
  },
  demo: {
    about: "show the whole job on this machine, with an embedded GitHub and a scripted model",
    load: async () => (await import("./demo.ts")).demo,
  },
  run: {
    about: "work on a local checkout: run --repo DIR --issue FILE",
    load: async () => (await import("./run.ts")).run,
  },
  resume: {
    about: "go on with a local run that was stopped or killed: resume [run id]",
    load: async () => (await import("./resume.ts")).resume,
  },
  verify: {
    about: "establish what a patch is worth: verify --repo DIR --base SHA --patch FILE",
    load: async () => (await import("./verify.ts")).verify,
  },
  trace: {
    about: "show what a run did: trace <run id>",
    load: async () => (await import("./trace.ts")).trace,
  },
  doctor: {
    about: "check this machine and the settings, and say what to do",
    load: async () => (await import("./doctor.ts")).doctor,
  },
};

const HELP = [
  "agent-fix: fixes labelled issues in a sandbox, proves the fix, and opens a pull request after approval.",
  "",
  "Usage: agent-fix <command> [options]",
  "",
  ...Object.entries(SUBCOMMANDS).map(([name, { about }]) => `  ${name.padEnd(8)} ${about}`),
  "",
  "agent-fix <command> --help tells the options of a command; docs/configuration.md the environment variables.",
].join("\n");

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    console.log(HELP);
    return name === undefined ? 2 : 0;
  }
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommand === undefined) {
    console.error(`agent-fix has no command ${JSON.stringify(name)}.\n\n${HELP}`);
    return 2;
  }
  const start = await subcommand.load();
  try {
    return await start(rest);
  } catch (error) {
    if (isUsageError(error)) {
      console.error(`${messageOf(error)}\nagent-fix ${name} --help tells the options.`);
      return 2;
    }
    console.error(`agent-fix ${name}: ${messageOf(error)}`);
    return 1;
  }
}

/** `parseArgs` of node:util, which the subcommands use, refuses unknown options with codes of this family. */
function isUsageError(error: unknown): boolean {
  return (
    error instanceof TypeError && String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")
  );
}

process.exitCode = await main(process.argv.slice(2));
