/** `agent-fix serve`: the server, from the environment to SIGTERM. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { type Relay, startRelay } from "#src/app/relay.ts";
import { createSetupPage, type RegisteredApp } from "#src/app/setup.ts";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { type AppCredentials, type Config, formatProblems, secretsOf } from "#src/config/config.ts";
import { APP_ENV, saveAppEnv } from "#src/config/env-file.ts";
import { loadEnv, processEnvironment } from "#src/config/environment.ts";
import { type Application, startApplication } from "./application.ts";
import { createLog, toStandardError } from "./logger.ts";
import { proxiedFetch } from "./proxied-fetch.ts";

const USAGE = `agent-fix serve: run the GitHub App.

All settings are environment variables; docs/configuration.md lists them with their defaults. With none of APP_ID,
PRIVATE_KEY and WEBHOOK_SECRET set, it serves a page that registers the app on GitHub.`;

/** Exit code 0 after SIGTERM or SIGINT, 1 when settings or the machine do not allow a start. */
export async function serve(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { help: { type: "boolean", short: "h" } } });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const env = processEnvironment();
  const loaded = loadEnv(env);
  if (!loaded.ok) {
    console.error(formatProblems(loaded.error));
    return 1;
  }
  const config = loaded.value;
  const redactor = createRedactor(secretsOf(config));
  const log = createLog(config.server.logLevel, redactor, toStandardError);
  for (const warning of config.warnings) log.warn({}, warning);
  const application = await startApplication({ config, env, redactor, log });
  const stopped = untilSignal();
  let relay: Relay | null = null;
  try {
    await openForBusiness(config, application, log);
    const { webhookProxyUrl } = config.github;
    if (webhookProxyUrl !== null)
      relay = startRelay({
        source: webhookProxyUrl,
        target: `${application.server.url}${WEBHOOK_PATH}`,
        clock: systemClock,
        log,
      });
    log.info({ url: application.server.url, signal: await stopped }, "stopping");
  } finally {
    await relay?.stop();
    await application.stop();
  }
  return 0;
}

async function openForBusiness(config: Config, application: Application, log: Log): Promise<void> {
  const { credentials } = config.github;
  if (credentials !== null) {
    await begin(config, application, log, credentials);
    return;
  }
  const page = createSetupPage({
    webUrl: config.github.webUrl,
    apiUrl: config.github.apiUrl,
    publicUrl: config.server.publicUrl,
    webhookProxyUrl: config.github.webhookProxyUrl,
    manifest: await readManifest(),
    fetch: proxiedFetch(processEnvironment()),
    clock: systemClock,
    ids: systemIds,
    log,
    credentialsFile: join(config.server.dataDir, APP_ENV),
    onRegistered: (app) => takeCredentials(config, application, log, app),
  });
  application.handlers.setup = page.handler;
  console.log(
    `agent-fix has no GitHub App yet. Open ${application.server.url}/setup and enter this one-time code:\n\n    ${page.code}\n`,
  );
}

async function readManifest(): Promise<Record<string, unknown>> {
  const text = await readFile(join(import.meta.dirname, "../../app.yml"), "utf8");
  return parse(text) as Record<string, unknown>;
}

/** Stores what GitHub handed out and begins to work; the page answers 404 from then on. */
async function takeCredentials(
  config: Config,
  application: Application,
  log: Log,
  app: RegisteredApp,
): Promise<void> {
  await saveAppEnv(config.server.dataDir, {
    APP_ID: String(app.id),
    PRIVATE_KEY: app.pem,
    WEBHOOK_SECRET: app.webhook_secret,
  });
  application.handlers.setup = null;
  await begin(config, application, log, {
    appId: app.id,
    privateKey: app.pem,
    webhookSecret: app.webhook_secret,
  });
}

async function begin(
  config: Config,
  application: Application,
  log: Log,
  credentials: AppCredentials,
): Promise<void> {
  await application.begin(credentials);
  const { url } = application.server;
  log.info({ url, webhooks: `${url}${WEBHOOK_PATH}`, dataDir: config.server.dataDir }, "agent-fix is ready");
}

/** Resolves with the name of the first SIGTERM or SIGINT; a second one ends the process at once. */
function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        resolve(signal);
        process.once(signal, () => process.exit(130));
      });
    }
  });
}
