/** `agent-fix doctor`: checks this machine and the settings, one line each, and says what to do about what does not hold. */

import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs, styleText } from "node:util";
import { rgPath } from "@vscode/ripgrep";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { messageOf } from "#src/base/result.ts";
import type { Config } from "#src/config/config.ts";
import { type Environment, loadEnv, processEnvironment } from "#src/config/environment.ts";
import type { ProbeLine } from "#src/sandbox/sandbox.ts";
import { credentialsLine, modelLine } from "./doctor-remote.ts";
import { introduce } from "./doctor-repository.ts";
import { createLog, toStandardError } from "./logger.ts";
import { openSandbox } from "./open-sandbox.ts";

const USAGE = `agent-fix doctor: checks Node, git, ripgrep, the sandbox, the credentials and the model, and says what to do.

  --repo OWNER/NAME   looks at a repository that the app is installed on instead: finds its set-up and test commands, runs
                      them once on its newest commit in the sandbox, and shows what a maintainer there should know
  --post              opens that as an issue in the repository, once; nothing else happens there before a label is set

Exit code 0 when everything holds, 1 otherwise, 2 for wrong options.`;

const NEEDED_NODE = 24;

export async function doctor(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      repo: { type: "string" },
      post: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.post && values.repo === undefined) {
    console.error("--post needs --repo OWNER/NAME, the repository to open the issue in.");
    return 2;
  }
  const env = processEnvironment();
  if (values.repo !== undefined) return introduce(env, { repository: values.repo, post: values.post });
  const lines: ProbeLine[] = [];
  const report = (line: ProbeLine) => {
    lines.push(line);
    console.log(tell(line));
  };
  report(nodeLine());
  report(await programLine("git", env.PATH, "install git, e.g. with scripts/setup-system.sh"));
  report(await ripgrepLine());
  const loaded = loadEnv(env);
  if (!loaded.ok) {
    for (const one of loaded.error)
      report({ name: one.name, holds: false, detail: `${one.problem}. ${one.remedy}` });
    const local = loadEnv(
      { PATH: env.PATH, DATA_DIR: env.DATA_DIR, SANDBOX: env.SANDBOX, OPENAI_BASE_URL: "http://127.0.0.1/" },
      "local",
    );
    if (local.ok) await sandboxLines(local.value, env, report);
  } else {
    await sandboxLines(loaded.value, env, report);
    report(await credentialsLine(loaded.value));
    report(await modelLine(loaded.value));
  }
  const bad = lines.filter((line) => !line.holds).length;
  console.log(bad === 0 ? "\nEverything holds." : `\n${bad} of ${lines.length} do not hold.`);
  return bad === 0 ? 0 : 1;
}

function tell(line: ProbeLine): string {
  const mark = line.holds ? styleText("green", "✔") : styleText("red", "✗");
  return `${mark} ${line.name}: ${line.detail}`;
}

function nodeLine(): ProbeLine {
  const major = Number(process.versions.node.split(".")[0]);
  const holds = major >= NEEDED_NODE;
  return {
    name: "Node",
    holds,
    detail: holds
      ? process.version
      : `${process.version}; ${NEEDED_NODE} or newer is needed: run npm ci and start with npm start`,
  };
}

async function programLine(name: string, path: string | undefined, remedy: string): Promise<ProbeLine> {
  for (const directory of (path ?? "").split(":")) {
    const file = join(directory, name);
    if (directory !== "" && (await isExecutable(file))) return { name, holds: true, detail: file };
  }
  return { name, holds: false, detail: `not found: ${remedy}` };
}

async function ripgrepLine(): Promise<ProbeLine> {
  const holds = await isExecutable(rgPath);
  return {
    name: "ripgrep",
    holds,
    detail: holds ? "comes with the packages" : "not found: run npm ci again",
  };
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function sandboxLines(
  config: Config,
  env: Environment,
  report: (line: ProbeLine) => void,
): Promise<void> {
  const log = createLog("silent", createRedactor([]), toStandardError);
  try {
    const sandbox = await openSandbox({
      config,
      env,
      clock: systemClock,
      ids: systemIds,
      log,
      home: homedir(),
    });
    const told = new Set<ProbeLine>();
    const tellOnce = (line: ProbeLine) => {
      if (!told.has(line)) report({ ...line, name: `sandbox, ${line.name}` });
      told.add(line);
    };
    for (const line of await sandbox.probe(tellOnce)) tellOnce(line);
  } catch (error) {
    report({ name: "sandbox", holds: false, detail: messageOf(error) });
  }
}
