/** Loads the configuration from the environment (and DATA_DIR/app.env), or lists everything that is wrong with it at once. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { Config, GitHubConfig, ModelConfig, Problem } from "./config.ts";
import { APP_ENV, parseEnvFile } from "./env-file.ts";
import { readPrices } from "./prices.ts";
import { readPrivateKey } from "./private-key.ts";
import { SETTINGS, type SettingName, type SettingValues } from "./settings.ts";
import { isLoopback } from "./text-values.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret this short can be guessed by someone who has one signed webhook. */
const SHORT_SECRET = 16;
const NAMES = Object.keys(SETTINGS) as readonly SettingName[];
const GITHUB_COM = "github.com";

/** The process's environment: the only place that reads it. */
export function processEnvironment(): Environment {
  return { ...process.env };
}

/** What is being started: the server needs all; a local run needs no GitHub app. */
export type Purpose = "server" | "local";

/** Collects problems and warnings while the parts are put together. */
interface Findings {
  readonly problems: Problem[];
  readonly warnings: string[];
}

/** Reads files (app.env, the key, the prices) but opens nothing else and changes nothing. Empty variables count as unset. */
export function loadEnv(env: Environment, purpose: Purpose = "server"): Result<Config, readonly Problem[]> {
  const findings: Findings = { problems: [], warnings: [] };
  const dataDir = resolve(env.DATA_DIR?.trim() || SETTINGS.DATA_DIR.fallback);
  const texts = textsOf(env, readAppEnv(dataDir, findings));
  const values = readValues(texts, findings);
  reportUnsupported(texts, findings);
  const github = readGitHub(values, texts, purpose, findings);
  const setUpMode = purpose === "server" && hasCredentials(Object.fromEntries(texts)) === "none";
  const model = readModel(values, texts, setUpMode, findings);
  warnAboutSandbox(values, findings);
  if (findings.problems.length > 0) return err(findings.problems);
  return ok({
    github,
    model,
    sandbox: {
      kind: values.SANDBOX,
      imagesAllowed: values.IMAGES_ALLOWED ?? [],
      networkAllow: values.NETWORK_ALLOW,
      protectedExcept: values.PROTECTED_EXCEPT ?? [],
    },
    limits: { concurrency: values.CONCURRENCY, budgetUsd: values.BUDGET_USD, paused: values.PAUSED },
    server: {
      port: values.PORT,
      host: values.HOST,
      publicUrl: values.PUBLIC_URL,
      logLevel: values.LOG_LEVEL,
      dataDir,
    },
    secrets: secretTexts(texts, github),
    warnings: findings.warnings,
  });
}

type Texts = ReadonlyMap<SettingName, string>;

/** Set values by name: the real environment, else app.env. DATA_DIR says where app.env is and is not taken from it. */
function textsOf(env: Environment, appEnv: Environment): Texts {
  const texts = new Map<SettingName, string>();
  for (const name of NAMES) {
    const text = (env[name]?.trim() || (name === "DATA_DIR" ? "" : appEnv[name]?.trim())) ?? "";
    if (text !== "") texts.set(name, text);
  }
  return texts;
}

function readAppEnv(dataDir: string, findings: Findings): Environment {
  const path = join(dataDir, APP_ENV);
  const text = readText(path);
  if (!text.ok) {
    if (text.error === "ENOENT") return {};
    findings.problems.push({
      name: "DATA_DIR",
      problem: `has the file ${path}, which cannot be read (${text.error})`,
      remedy: "Give the user that runs agent-fix the right to read it, or choose another DATA_DIR.",
    });
    return {};
  }
  const parsed = parseEnvFile(text.value);
  if (parsed.ok) return parsed.value;
  findings.problems.push({
    name: "DATA_DIR",
    problem: `has the file ${path}, which is damaged: ${parsed.error}`,
    remedy: "Correct the line, or delete the file and set the variables yourself.",
  });
  return {};
}

function readValues(texts: Texts, findings: Findings): SettingValues {
  const values = Object.fromEntries(
    NAMES.map((name) => {
      const setting = SETTINGS[name];
      const text = texts.get(name) ?? setting.fallback;
      if (text === null) return [name, null];
      const read = setting.read.safeParse(text);
      if (read.success) return [name, read.data];
      for (const issue of read.error.issues) report(findings, name, issue.message);
      // The default keeps the other checks going; the result is thrown away, since there is a problem.
      const standIn = setting.fallback === null ? null : setting.read.safeParse(setting.fallback);
      return [name, standIn?.success === true ? standIn.data : null];
    }),
  );
  return values as SettingValues;
}

function report(findings: Findings, name: SettingName, problem: string): void {
  // One variable, one remedy: a second problem of the same variable would only repeat it.
  if (findings.problems.some((known) => known.name === name)) return;
  findings.problems.push({ name, problem, remedy: SETTINGS[name].remedy });
}

function reportUnsupported(texts: Texts, findings: Findings): void {
  for (const name of NAMES) {
    const { unsupported } = SETTINGS[name] as { unsupported?: "refuse" | "ignore" };
    if (!texts.has(name) || unsupported === undefined) continue;
    if (unsupported === "refuse")
      report(findings, name, "is set, and this version cannot do what it asks for");
    else findings.warnings.push(`${name} is set; it has no effect in this version.`);
  }
}

function readGitHub(values: SettingValues, texts: Texts, purpose: Purpose, findings: Findings): GitHubConfig {
  const host = values.GHE_HOST ?? GITHUB_COM;
  const protocol = values.GHE_PROTOCOL;
  const webUrl = `${protocol}://${host}`;
  if (host === GITHUB_COM && protocol === "http")
    report(findings, "GHE_PROTOCOL", "is http without GHE_HOST; github.com speaks https only");
  else if (protocol === "http" && !isLoopback(host)) {
    findings.warnings.push(`GHE_PROTOCOL is http: tokens and code travel to ${host} unencrypted.`);
  }
  return {
    credentials: purpose === "server" ? readCredentials(values, texts, findings) : null,
    host,
    protocol,
    webUrl,
    apiUrl: host === GITHUB_COM ? "https://api.github.com" : `${webUrl}/api/v3`,
    webhookProxyUrl: values.WEBHOOK_PROXY_URL,
    allowedOwners: values.ALLOWED_OWNERS,
  };
}

/** None of the three set: null, which is the set-up mode. Some: each missing one is a problem. */
function readCredentials(
  values: SettingValues,
  texts: Texts,
  findings: Findings,
): GitHubConfig["credentials"] {
  if (hasCredentials(Object.fromEntries(texts)) === "none") return null;
  if (!texts.has("APP_ID")) report(findings, "APP_ID", "is not set, but other credentials of the app are");
  if (!texts.has("WEBHOOK_SECRET"))
    report(findings, "WEBHOOK_SECRET", "is not set, but other credentials of the app are");
  const privateKey = readKey(texts, findings);
  const webhookSecret = values.WEBHOOK_SECRET;
  if (webhookSecret !== null && webhookSecret.length < SHORT_SECRET) {
    findings.warnings.push(
      `WEBHOOK_SECRET has fewer than ${SHORT_SECRET} characters; a longer one is harder to guess.`,
    );
  }
  if (values.APP_ID === null || privateKey === null || webhookSecret === null) return null;
  return { appId: values.APP_ID, privateKey, webhookSecret };
}

/** Which of the app's three credentials an environment has; app.env must have been merged in. */
export function hasCredentials(env: Environment): "none" | "some" | "all" {
  const three = [env.APP_ID, env.PRIVATE_KEY || env.PRIVATE_KEY_PATH, env.WEBHOOK_SECRET];
  const set = three.filter((value) => (value ?? "") !== "").length;
  return set === 0 ? "none" : set === three.length ? "all" : "some";
}

function readKey(texts: Texts, findings: Findings): string | null {
  const inline = texts.get("PRIVATE_KEY");
  const path = texts.get("PRIVATE_KEY_PATH");
  const name = inline === undefined && path !== undefined ? "PRIVATE_KEY_PATH" : "PRIVATE_KEY";
  const text = inline === undefined ? readText(path ?? "") : ok(inline);
  if (inline === undefined && path === undefined) {
    report(findings, name, "is not set (nor is PRIVATE_KEY_PATH), but other credentials of the app are");
    return null;
  }
  if (!text.ok) {
    report(findings, name, `names ${path}, which cannot be read (${text.error})`);
    return null;
  }
  const key = readPrivateKey(text.value);
  if (key.ok) return key.value;
  report(findings, name, inline === undefined ? `names ${path}, which ${key.error}` : key.error);
  return null;
}

/** Where a public provider lives, and so a key is needed; the key of the other one may lie around and is no reason to speak. */
const PUBLIC_HOSTS = ["api.openai.com", "api.anthropic.com"];

function readModel(values: SettingValues, texts: Texts, setUpMode: boolean, findings: Findings): ModelConfig {
  const anthropic = values.MODEL_API === "anthropic";
  const keyName = anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY";
  const address = values[anthropic ? "ANTHROPIC_BASE_URL" : "OPENAI_BASE_URL"];
  const baseUrl = anthropic ? address.replace(/\/v1$/, "") : address;
  if (!texts.has(keyName) && PUBLIC_HOSTS.includes(new URL(baseUrl).hostname)) {
    if (setUpMode) findings.warnings.push(`${keyName} is not set: runs will fail until it is.`);
    else report(findings, keyName, "is not set");
  }
  if (anthropic && !texts.has("OPENAI_MODEL"))
    report(findings, "OPENAI_MODEL", "is not set, and MODEL_API=anthropic has no default model");
  return {
    api: values.MODEL_API,
    toolProtocol: values.MODEL_TOOL_PROTOCOL,
    apiKey: values[keyName],
    baseUrl,
    id: values.OPENAI_MODEL,
    allowed: [...new Set([values.OPENAI_MODEL, ...(values.MODELS_ALLOWED ?? [])])],
    contextTokens: values.MODEL_CONTEXT_TOKENS,
    idleTimeoutMs: values.MODEL_IDLE_SECONDS * 1_000,
    prices: readPriceFile(values.PRICES, findings),
  };
}

function readPriceFile(path: string | null, findings: Findings): ModelConfig["prices"] {
  if (path === null) return {};
  const text = readText(path);
  const prices = text.ok ? readPrices(text.value) : err(`cannot be read (${text.error})`);
  if (prices.ok) return prices.value;
  report(findings, "PRICES", `names ${path}, which ${prices.error}`);
  return {};
}

function warnAboutSandbox(values: SettingValues, findings: Findings): void {
  if (values.SANDBOX !== "none") return;
  findings.warnings.push(
    "SANDBOX is none: code of repositories runs on this machine without isolation. Use it for tests only.",
  );
}

/** Every spelling the secrets were found in; the key in its PEM form too. */
function secretTexts(texts: Texts, github: GitHubConfig): readonly string[] {
  const found = NAMES.flatMap((name) => {
    const text = texts.get(name);
    return "secret" in SETTINGS[name] && text !== undefined ? [text] : [];
  });
  return [...new Set([...found, ...(github.credentials === null ? [] : [github.credentials.privateKey])])];
}

/** The file's text, or the code (`ENOENT`, `EACCES`, …) that says why not. */
function readText(path: string): Result<string, string> {
  try {
    return ok(readFileSync(path, "utf8"));
  } catch (error) {
    return err((error as NodeJS.ErrnoException).code ?? messageOf(error));
  }
}
