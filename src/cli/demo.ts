/** `agent-fix demo`: the real server against an embedded GitHub and a scripted model, and nothing outside this machine. */

import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { formatProblems, secretsOf } from "#src/config/config.ts";
import { type Environment, loadEnv, processEnvironment } from "#src/config/environment.ts";
import { browse } from "#src/demo/browse.ts";
import { type Choices, readChoices, USAGE } from "#src/demo/choices.ts";
import { askPerson } from "#src/demo/keyboard.ts";
import { type ModelServer, scriptedModelSettings, startModelServer } from "#src/demo/model-server.ts";
import { scriptOf } from "#src/demo/scripts.ts";
import { type Stage, setStage } from "#src/demo/stage.ts";
import { type StoryEnd, tell } from "#src/demo/story.ts";
import { createTerminal } from "#src/demo/terminal.ts";
import { startApplication } from "./application.ts";
import { createLog, toStandardError } from "./logger.ts";
import { dataDirOf, traceDirectory, traceFile } from "./places.ts";

const MINUTE = 60_000;

/** Exit code 0 when the scenario ended as it should, 1 otherwise. */
export async function demo(args: readonly string[]): Promise<number> {
  const choices = readChoices(args);
  if (!choices.ok) {
    console.error(choices.error);
    return 2;
  }
  if (choices.value === "help") {
    console.log(USAGE);
    return 0;
  }
  const env = processEnvironment();
  if (choices.value.realModel && (env.OPENAI_API_KEY ?? "") === "" && (env.OPENAI_BASE_URL ?? "") === "") {
    console.error("--real-model needs OPENAI_API_KEY (or OPENAI_BASE_URL of a server that takes none).");
    return 2;
  }
  return play(env, choices.value);
}

async function play(env: Environment, choices: Choices): Promise<number> {
  const { scenario, maintainer, port, realModel, keep } = choices;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Error("stopped")));
  process.once("SIGTERM", () => stop.abort(new Error("stopped")));
  const stage = await setStage({ clock: systemClock, ids: systemIds, scenario, keep, port });
  let model: ModelServer | null = null;
  try {
    const key = systemIds.hex(12);
    if (!realModel) model = await startModelServer({ script: scriptOf(scenario), key });
    const modelEnv = model === null ? {} : scriptedModelSettings(model.url, key);
    const terminal = createTerminal({ stream: process.stdout, interactive: process.stdout.isTTY === true });
    const end = await withApplication({ ...env, ...stage.env, ...modelEnv }, stage, (dataDir) => {
      const parts = {
        stage,
        terminal,
        signal: stop.signal,
        tracePath: (id: string) => traceFile(dataDir, id),
      };
      if (maintainer === "web") return browse(parts);
      return tell({
        ...parts,
        clock: systemClock,
        ask: maintainer === "keyboard" ? askPerson : null,
        output: process.stdout,
        // A slow machine needs minutes when every command is run in a container.
        limitMs: (realModel ? 60 : 15) * MINUTE,
      });
    });
    await keepTraces(stage, env);
    console.log(farewell(stage, keep));
    return endedAsItShould(end, choices) ? 0 : 1;
  } finally {
    await model?.close();
    await stage.close();
  }
}

async function withApplication(
  env: Environment,
  stage: Stage,
  work: (dataDir: string) => Promise<StoryEnd | null>,
): Promise<StoryEnd | null> {
  const loaded = loadEnv(env);
  if (!loaded.ok) throw new Error(formatProblems(loaded.error));
  const config = loaded.value;
  const { credentials } = config.github;
  if (credentials === null) throw new Error("the stage has no credentials");
  const redactor = createRedactor(secretsOf(config));
  const log = createLog(config.server.logLevel, redactor, toStandardError);
  const application = await startApplication({ config, env, redactor, log });
  try {
    await application.begin(credentials);
    stage.github.setWebhookUrl(`${application.server.url}${WEBHOOK_PATH}`);
    return await work(config.server.dataDir);
  } finally {
    await application.stop();
  }
}

function endedAsItShould(end: StoryEnd | null, { scenario, maintainer, realModel }: Choices): boolean {
  if (maintainer !== "played" || realModel) return true;
  return end === (scenario === "good" ? "published" : "refused");
}

/** The trace outlives the demo's directory, so that `agent-fix trace` shows it afterwards. */
async function keepTraces(stage: Stage, env: Environment): Promise<void> {
  if (!existsSync(traceDirectory(join(stage.directory, "data")))) return;
  const target = traceDirectory(dataDirOf(env));
  await cp(traceDirectory(join(stage.directory, "data")), target, { recursive: true });
}

function farewell(stage: Stage, keep: boolean): string {
  return [
    "",
    "bin/agent-fix trace lists the traces kept here, bin/agent-fix trace <run id> tells what a run did.",
    ...(keep ? [`Everything else is kept in ${stage.directory}; remove it when you are done.`] : []),
    "Other scenarios: npm run demo -- --scenario lying-model, or cheating-model; --interactive or --web lets you answer.",
    "To connect a real repository: npm start, open the page it prints, and follow it (README, five minutes).",
  ].join("\n");
}
