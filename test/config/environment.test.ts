/** The environment becomes one plain configuration, or one list of everything that is wrong with it. */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { formatProblems, secretsOf } from "#src/config/config.ts";
import { type Environment, hasCredentials, loadEnv } from "#src/config/environment.ts";
import { SETTINGS } from "#src/config/settings.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PKCS8 = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
const PKCS1 = rsa.privateKey.export({ type: "pkcs1", format: "pem" }).toString();
const SECRET = "a-secret-of-more-than-16-characters";
/** Names a directory that does not exist, so that no app.env is read. */
const NOWHERE = { DATA_DIR: "/nonexistent/agent-fix" };
const GOOD = {
  ...NOWHERE,
  APP_ID: "17",
  PRIVATE_KEY: PKCS8,
  WEBHOOK_SECRET: SECRET,
  OPENAI_API_KEY: "sk-test",
};

function load(env: Environment) {
  const loaded = loadEnv(env);
  assert.ok(loaded.ok, loaded.ok ? "" : formatProblems(loaded.error));
  return loaded.value;
}

/** `NAME problem` of each problem, in order. */
function problemsOf(env: Environment): readonly string[] {
  const loaded = loadEnv(env);
  if (loaded.ok) return [];
  for (const one of loaded.error) assert.ok(one.remedy.length > 10, `${one.name} has a remedy`);
  return loaded.error.map((one) => `${one.name} ${one.problem}`);
}

describe("a whole environment", () => {
  test("with only what is required gives the documented defaults", () => {
    const config = load(GOOD);
    assert.deepEqual(config.github, {
      credentials: { appId: 17, privateKey: PKCS8, webhookSecret: SECRET },
      host: "github.com",
      protocol: "https",
      webUrl: "https://github.com",
      apiUrl: "https://api.github.com",
      webhookProxyUrl: null,
      allowedOwners: null,
    });
    assert.deepEqual(config.model, {
      api: "chat",
      toolProtocol: "native",
      apiKey: "sk-test",
      baseUrl: "https://api.openai.com/v1",
      id: "gpt-5",
      allowed: ["gpt-5"],
      contextTokens: 128_000,
      idleTimeoutMs: 300_000,
      prices: {},
    });
    assert.deepEqual(config.limits, { concurrency: 2, budgetUsd: 5, paused: false });
    assert.equal(config.sandbox.kind, "auto");
    assert.deepEqual(config.server, {
      port: 3000,
      host: "127.0.0.1",
      publicUrl: null,
      logLevel: "info",
      dataDir: NOWHERE.DATA_DIR,
    });
    assert.deepEqual(config.warnings, []);
  });

  test("with everything set is taken as it is", async () => {
    await using dir = await tempDir();
    await writeTree(dir.path, { "prices.json": '{"m": {"input": 1, "output": 2}}' });
    const config = load({
      ...GOOD,
      DATA_DIR: dir.path,
      GHE_HOST: "127.0.0.1:8080",
      GHE_PROTOCOL: "http",
      WEBHOOK_PROXY_URL: "https://smee.io/abc",
      ALLOWED_OWNERS: "My-Org, @someone",
      PORT: "0",
      HOST: "0.0.0.0",
      PUBLIC_URL: "https://fix.example.com/",
      LOG_LEVEL: "debug",
      OPENAI_BASE_URL: "http://127.0.0.1:11434/v1/",
      OPENAI_MODEL: "m",
      MODELS_ALLOWED: "m,n",
      MODEL_CONTEXT_TOKENS: "32768",
      MODEL_IDLE_SECONDS: "20",
      PRICES: join(dir.path, "prices.json"),
      SANDBOX: "bubblewrap",
      NETWORK_ALLOW: "none",
      PROTECTED_EXCEPT: ".github/ISSUE_TEMPLATE/**",
      CONCURRENCY: "4",
      BUDGET_USD: "2.50",
      PAUSED: "Yes",
    });
    assert.equal(config.github.apiUrl, "http://127.0.0.1:8080/api/v3");
    assert.equal(config.github.webUrl, "http://127.0.0.1:8080");
    assert.deepEqual(config.github.allowedOwners, ["my-org", "someone"]);
    assert.deepEqual(config.model, {
      api: "chat",
      toolProtocol: "native",
      apiKey: "sk-test",
      baseUrl: "http://127.0.0.1:11434/v1",
      id: "m",
      allowed: ["m", "n"],
      contextTokens: 32_768,
      idleTimeoutMs: 20_000,
      prices: { m: { input: 1, cached: 1, output: 2 } },
    });
    assert.deepEqual(config.sandbox, {
      kind: "bubblewrap",
      imagesAllowed: [],
      networkAllow: [],
      protectedExcept: [".github/ISSUE_TEMPLATE/**"],
    });
    assert.deepEqual(config.limits, { concurrency: 4, budgetUsd: 2.5, paused: true });
    assert.equal(config.server.port, 0);
    assert.equal(config.server.publicUrl, "https://fix.example.com");
    assert.deepEqual(config.warnings, []);
  });

  test("each model protocol has its own key and address; the other one's lie idle", () => {
    const both = {
      ...GOOD,
      OPENAI_BASE_URL: "https://gateway.example.com/v1/",
      ANTHROPIC_API_KEY: "sk-ant-1",
      OPENAI_MODEL: "claude",
    };
    const part = (env: Readonly<Record<string, string>>) => {
      const { api, baseUrl, apiKey, toolProtocol } = load({ ...both, ...env }).model;
      return [api, baseUrl, apiKey, toolProtocol];
    };
    const gateway = "https://gateway.example.com/v1";
    assert.deepEqual(part({ MODEL_API: "responses" }), ["responses", gateway, "sk-test", "native"]);
    assert.deepEqual(part({ MODEL_TOOL_PROTOCOL: "text" }), ["chat", gateway, "sk-test", "text"]);
    assert.deepEqual(part({ MODEL_API: "anthropic" }), [
      "anthropic",
      "https://api.anthropic.com",
      "sk-ant-1",
      "native",
    ]);
    const local = {
      MODEL_API: "anthropic",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:8080/v1",
      ANTHROPIC_API_KEY: "",
    };
    assert.deepEqual(part(local), ["anthropic", "http://127.0.0.1:8080", null, "native"]);
  });

  test("an empty variable counts as unset", () => {
    assert.equal(load({ ...GOOD, PORT: "", GHE_HOST: " ", PRIVATE_KEY_PATH: "" }).server.port, 3000);
  });

  test("every default is a value its own reader takes", () => {
    for (const [name, setting] of Object.entries(SETTINGS)) {
      if (setting.fallback !== null) assert.ok(setting.read.safeParse(setting.fallback).success, name);
    }
  });
});

describe("the private key", () => {
  for (const [name, text, expected] of [
    ["PKCS#8", PKCS8, PKCS8],
    ["PKCS#1", PKCS1, PKCS1],
    ["with \\n written out", PKCS1.replaceAll("\n", "\\n"), PKCS1],
    ["in one line with blanks", PKCS8.replaceAll("\n", " "), PKCS8],
    ["in base64", Buffer.from(PKCS1).toString("base64"), PKCS1],
    ["with Windows line ends", PKCS8.replaceAll("\n", "\r\n"), PKCS8],
  ] as const) {
    test(`is read ${name}`, () => {
      assert.equal(load({ ...GOOD, PRIVATE_KEY: text }).github.credentials?.privateKey, expected);
    });
  }

  test("is read from a file", async () => {
    await using dir = await tempDir();
    const path = join(dir.path, "app.pem");
    await writeFile(path, PKCS1);
    const { PRIVATE_KEY: _, ...rest } = GOOD;
    assert.equal(load({ ...rest, PRIVATE_KEY_PATH: path }).github.credentials?.privateKey, PKCS1);
  });

  test("that is missing, damaged or of another kind is refused without showing it", () => {
    const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const { PRIVATE_KEY: _, ...rest } = GOOD;
    assert.deepEqual(problemsOf({ ...rest, PRIVATE_KEY_PATH: "/nonexistent.pem" }), [
      "PRIVATE_KEY_PATH names /nonexistent.pem, which cannot be read (ENOENT)",
    ]);
    assert.match(
      problemsOf({ ...GOOD, PRIVATE_KEY: "hello" })[0] ?? "",
      /^PRIVATE_KEY is no private key in PEM/,
    );
    const ecPem = ec.export({ type: "pkcs8", format: "pem" }).toString();
    assert.match(problemsOf({ ...GOOD, PRIVATE_KEY: ecPem })[0] ?? "", /type ec/);
    const damaged = PKCS8.replace(/\n.{20}/, "\n");
    const text = problemsOf({ ...GOOD, PRIVATE_KEY: damaged }).join();
    assert.match(text, /damaged/);
    assert.ok(!text.includes(damaged.slice(60, 90)));
  });
});

describe("what is wrong", () => {
  test("is listed all at once, each with its remedy", () => {
    const problems = problemsOf({
      ...NOWHERE,
      APP_ID: "my-app",
      PORT: "70000",
      GHE_HOST: "https://ghe.example.com",
      GHE_PROTOCOL: "ftp",
      LOG_LEVEL: "loud",
      PAUSED: "maybe",
      CONCURRENCY: "0",
      BUDGET_USD: "-1",
      OPENAI_BASE_URL: "localhost:11434",
      NETWORK_ALLOW: "https://registry.npmjs.org",
      ALLOWED_OWNERS: "a/b",
      PRICES: "/nonexistent.json",
    });
    const names = problems.map((problem) => problem.split(" ")[0]);
    assert.deepEqual(new Set(names).size, names.length, "one line a variable");
    assert.deepEqual(
      [...names].sort(),
      [
        ...["ALLOWED_OWNERS", "APP_ID", "BUDGET_USD", "CONCURRENCY", "GHE_HOST", "GHE_PROTOCOL", "LOG_LEVEL"],
        ...["NETWORK_ALLOW", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PAUSED", "PORT", "PRICES", "PRIVATE_KEY"],
        "WEBHOOK_SECRET",
      ].sort(),
    );
  });

  test("reads as sentences", () => {
    const loaded = loadEnv({ ...GOOD, PORT: "x" });
    assert.equal(
      loaded.ok ? "" : formatProblems(loaded.error),
      "One setting is missing or wrong:\n\n  PORT must be a whole number from 0 to 65535\n      Set it to a free port, such as 3000.\n",
    );
  });

  for (const [env, problem] of [
    [{ MODEL_API: "x" }, "MODEL_API must be one of chat, responses, anthropic"],
    [{ MODEL_CONTEXT_TOKENS: "4k" }, "MODEL_CONTEXT_TOKENS must be a whole number from 8000 to 10000000"],
    [{ MODEL_IDLE_SECONDS: "0" }, "MODEL_IDLE_SECONDS must be a whole number from 1 to 3600"],
    [{ MODEL_TOOL_PROTOCOL: "xml" }, "MODEL_TOOL_PROTOCOL must be one of native, text"],
    [{ MODEL_API: "anthropic", OPENAI_MODEL: "claude" }, "ANTHROPIC_API_KEY is not set"],
    [
      { MODEL_API: "anthropic", ANTHROPIC_API_KEY: "sk-ant" },
      "OPENAI_MODEL is not set, and MODEL_API=anthropic has no default model",
    ],
    [{ SANDBOX: "chroot" }, "SANDBOX must be one of auto, bubblewrap, docker, podman, none"],
    [
      { IMAGES_ALLOWED: "node:24,--privileged" },
      "IMAGES_ALLOWED must list image names such as docker.io/library/node:24-bookworm, separated by commas",
    ],
    [
      { DATABASE_URL: "postgres://u:p@h/d" },
      "DATABASE_URL is set, and this version cannot do what it asks for",
    ],
    [{ BUDGET_USD_PER_DAY: "9" }, "BUDGET_USD_PER_DAY is set, and this version cannot do what it asks for"],
    [{ GHE_PROTOCOL: "http" }, "GHE_PROTOCOL is http without GHE_HOST; github.com speaks https only"],
    [{ PUBLIC_URL: "https://u:p@h/" }, "PUBLIC_URL must not carry a user name or password"],
    [{ OPENAI_API_KEY: "sk a" }, "OPENAI_API_KEY holds white space or characters that no key has"],
    [{ OPENAI_API_KEY: "" }, "OPENAI_API_KEY is not set"],
    [{ WEBHOOK_SECRET: "" }, "WEBHOOK_SECRET is not set, but other credentials of the app are"],
    [{ APP_ID: "" }, "APP_ID is not set, but other credentials of the app are"],
    [
      { PRIVATE_KEY: "" },
      "PRIVATE_KEY is not set (nor is PRIVATE_KEY_PATH), but other credentials of the app are",
    ],
    [{ GHE_HOST: "ghe.example.com:99999" }, `GHE_HOST ${hostMessage()}`],
    [{ GHE_HOST: "ghe.example.com/api" }, `GHE_HOST ${hostMessage()}`],
  ] as const) {
    test(`${JSON.stringify(env)} is refused alone`, () => {
      assert.deepEqual(problemsOf({ ...GOOD, ...env }), [problem]);
    });
  }

  test("in the price file is named by model and field", async () => {
    await using dir = await tempDir();
    const path = join(dir.path, "p.json");
    for (const [text, expected] of [
      ["{", /is not JSON/],
      ['{"m": {"input": -1, "output": "2"}}', /m\.input: must not be negative; m\.output: must be a number/],
      ['{"m": {"input": 1, "output": 2, "inptu": 1}}', /m: /],
    ] as const) {
      await writeFile(path, text);
      assert.match(problemsOf({ ...GOOD, PRICES: path })[0] ?? "", expected);
    }
  });
});

describe("set-up mode", () => {
  test("with none of the three credentials nothing is wrong, even without a key for the model", () => {
    const config = load(NOWHERE);
    assert.equal(config.github.credentials, null);
    assert.deepEqual(config.warnings, ["OPENAI_API_KEY is not set: runs will fail until it is."]);
  });

  test("other mistakes are still refused", () => {
    assert.deepEqual(problemsOf({ ...NOWHERE, PORT: "x" }), ["PORT must be a whole number from 0 to 65535"]);
  });

  test("a local run needs no app, but a model", () => {
    const local = loadEnv({ ...NOWHERE, OPENAI_API_KEY: "k", APP_ID: "17" }, "local");
    assert.ok(local.ok && local.value.github.credentials === null);
    assert.ok(!loadEnv(NOWHERE, "local").ok);
    assert.ok(loadEnv({ ...NOWHERE, OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }, "local").ok);
  });

  test("credentials are none, some or all", () => {
    assert.equal(hasCredentials({ APP_ID: "" }), "none");
    assert.equal(hasCredentials({ PRIVATE_KEY_PATH: "x" }), "some");
    assert.equal(hasCredentials({ APP_ID: "1", PRIVATE_KEY_PATH: "x", WEBHOOK_SECRET: "s" }), "all");
  });
});

describe("app.env in DATA_DIR", () => {
  test("fills in what the environment lacks, and the environment wins", async () => {
    await using dir = await tempDir();
    const lines = `APP_ID=99\nWEBHOOK_SECRET="${SECRET}"\nPRIVATE_KEY="${PKCS1.replaceAll("\n", "\\n")}"\nPORT=4000\nDATA_DIR=/elsewhere\n`;
    await writeTree(dir.path, { "app.env": lines });
    const config = load({ DATA_DIR: dir.path, OPENAI_API_KEY: "k", PORT: "5000" });
    assert.deepEqual(config.github.credentials, { appId: 99, webhookSecret: SECRET, privateKey: PKCS1 });
    assert.equal(config.server.port, 5000);
    assert.equal(config.server.dataDir, dir.path);
  });

  test("that is damaged is a problem, not an empty one", async () => {
    await using dir = await tempDir();
    await writeTree(dir.path, { "app.env": 'APP_ID=1\nWEBHOOK_SECRET="open\n' });
    assert.match(problemsOf({ DATA_DIR: dir.path }).join(), /damaged: line 2 is not NAME=value/);
  });
});

describe("secrets and warnings", () => {
  test("every secret that was found is known to the redactor", () => {
    const config = load({
      ...GOOD,
      PRIVATE_KEY: PKCS8.replaceAll("\n", "\\n"),
      METRICS_TOKEN: "metrics-token",
      ANTHROPIC_API_KEY: "sk-ant-other",
    });
    const secrets = secretsOf(config);
    for (const secret of [
      PKCS8,
      PKCS8.replaceAll("\n", "\\n").trim(),
      SECRET,
      "sk-test",
      "metrics-token",
      "sk-ant-other",
    ]) {
      assert.ok(secrets.includes(secret), secret.slice(0, 30));
    }
    assert.deepEqual(config.warnings, ["METRICS_TOKEN is set; it has no effect in this version."]);
  });

  test("what is allowed and unwise is said", () => {
    const config = load({
      ...GOOD,
      GHE_HOST: "ghe.local",
      GHE_PROTOCOL: "http",
      WEBHOOK_SECRET: "short",
      SANDBOX: "none",
    });
    assert.equal(config.warnings.length, 3);
    assert.match(config.warnings.join("\n"), /unencrypted[\s\S]*16 characters[\s\S]*without isolation/);
  });
});

function hostMessage(): string {
  return "must be a host name with an optional port, such as ghe.example.com or 127.0.0.1:8080, without https://";
}
