/** `agent-fix demo`: the real server against an embedded GitHub and a scripted model, and nothing outside this machine. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { formatProblems, secretsOf } from "#src/config/config.ts";
import { type Environment, loadEnv, processEnvironment } from "#src/config/environment.ts";
import { askPerson } from "#src/demo/keyboard.ts";
import { type ModelServer, scriptedModelSettings, startModelServer } from "#src/demo/model-server.ts";
import { SCENARIOS, type Scenario, scriptOf } from "#src/demo/scripts.ts";
import { type Stage, setStage } from "#src/demo/stage.ts";
import { type StoryEnd, tell } from "#src/demo/story.ts";
import { createTerminal } from "#src/demo/terminal.ts";
import { startApplication } from "./application.ts";
import { createLog, toStandardError } from "./logger.ts";
import { dataDirOf, traceDirectory, traceFile } from "./places.ts";

const USAGE = `agent-fix demo: the whole job on this machine, without an account, a key or a network.

  --scenario NAME   ${SCENARIOS.join(", ")} (default: good)
  --interactive     you are the maintainer: type /approve, /revise <text>, /cancel ...
  --real-model      use the model that MODEL_API, its key and OPENAI_MODEL name
  --keep            keep the demo's directory, with its trace, for a look`;

const MINUTE = 60_000;

/** Exit code 0 when the scenario ended as it should, 1 otherwise. */
export async function demo(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: "string", default: "good" },
      interactive: { type: "boolean", default: false },
      "real-model": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const scenario = SCENARIOS.find((known) => known === values.scenario);
  if (scenario === undefined) {
    console.error(
      `There is no scenario ${JSON.stringify(values.scenario)}; there are ${SCENARIOS.join(", ")}.`,
    );
    return 2;
  }
  const env = processEnvironment();
  if (values["real-model"] && (env.OPENAI_API_KEY ?? "") === "" && (env.OPENAI_BASE_URL ?? "") === "") {
    console.error("--real-model needs OPENAI_API_KEY (or OPENAI_BASE_URL of a server that takes none).");
    return 2;
  }
  const choices = {
    scenario,
    interactive: values.interactive,
    realModel: values["real-model"],
    keep: values.keep,
  };
  return play(env, choices);
}

interface Choices {
  readonly scenario: Scenario;
  readonly interactive: boolean;
  readonly realModel: boolean;
  readonly keep: boolean;
}

async function play(env: Environment, choices: Choices): Promise<number> {
  const { scenario, interactive, realModel, keep } = choices;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Error("stopped")));
  process.once("SIGTERM", () => stop.abort(new Error("stopped")));
  const stage = await setStage({ clock: systemClock, ids: systemIds, scenario, keep });
  let model: ModelServer | null = null;
  try {
    const key = systemIds.hex(12);
    if (!realModel) model = await startModelServer({ script: scriptOf(scenario), key });
    const modelEnv = model === null ? {} : scriptedModelSettings(model.url, key);
    const end = await withApplication({ ...env, ...stage.env, ...modelEnv }, stage, (dataDir) =>
      tell({
        stage,
        terminal: createTerminal({ stream: process.stdout, interactive: process.stdout.isTTY === true }),
        clock: systemClock,
        signal: stop.signal,
        tracePath: (runId) => traceFile(dataDir, runId),
        ask: interactive ? askPerson : null,
        output: process.stdout,
        limitMs: realModel ? 60 * MINUTE : 5 * MINUTE,
      }),
    );
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
  work: (dataDir: string) => Promise<StoryEnd>,
): Promise<StoryEnd> {
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

function endedAsItShould(end: StoryEnd, { scenario, interactive, realModel }: Choices): boolean {
  if (interactive || realModel) return true;
  return end === (scenario === "good" ? "published" : "refused");
}

/** The trace outlives the demo's directory, so that `agent-fix trace` shows it afterwards. */
async function keepTraces(stage: Stage, env: Environment): Promise<void> {
  const target = traceDirectory(dataDirOf(env));
  await cp(traceDirectory(join(stage.directory, "data")), target, { recursive: true });
}

function farewell(stage: Stage, keep: boolean): string {
  return [
    "",
    "bin/agent-fix trace lists the traces kept here, bin/agent-fix trace <run id> tells what a run did.",
    ...(keep ? [`Everything else is kept in ${stage.directory}; remove it when you are done.`] : []),
    "Other scenarios: npm run demo -- --scenario lying-model, or cheating-model; --interactive lets you answer.",
    "To connect a real repository: npm start, open the page it prints, and follow it (README, five minutes).",
  ].join("\n");
}
