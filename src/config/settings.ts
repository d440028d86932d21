/** Every environment variable the program reads: its reader, its default, and the words that explain it. */

import { z } from "zod";
import { globProblem } from "./glob.ts";
import { address, dollars, flag, hostAndPort, hostNames, list, logins, oneOf, whole } from "./text-values.ts";

export interface Setting<Value = unknown> {
  readonly group: "GitHub app" | "Server" | "Model" | "Sandbox" | "Limits";
  /** For the documentation: one or two sentences. */
  readonly about: string;
  /** What to do when its value is missing or wrong. */
  readonly remedy: string;
  /** The text that is read when the variable is unset or empty; null: it then has no value. */
  readonly fallback: string | null;
  readonly read: z.ZodType<Value, string>;
  readonly secret?: true;
  /** Not in this version: `refuse` when ignoring it would break a promise made to the operator, else `ignore` with a warning. */
  readonly unsupported?: "refuse" | "ignore";
}

const text = z.string();
const key = text.regex(/^[\x21-\x7e]+$/, "holds white space or characters that no key has");

const GITHUB = {
  APP_ID: {
    group: "GitHub app",
    about:
      "The app's numeric id. `APP_ID`, the private key and `WEBHOOK_SECRET` belong together: with none of them set, the server offers its set-up page.",
    remedy: "Copy the App ID (a number) from the app's settings page on GitHub.",
    fallback: null,
    read: whole(1, Number.MAX_SAFE_INTEGER),
  },
  PRIVATE_KEY: {
    group: "GitHub app",
    about:
      "The app's private key as PEM text; line breaks may be written as `\\n`, and the whole may be in base64.",
    remedy:
      "Create a private key on the app's settings page, and set PRIVATE_KEY to the text of the .pem file or PRIVATE_KEY_PATH to its path.",
    fallback: null,
    read: text,
    secret: true,
  },
  PRIVATE_KEY_PATH: {
    group: "GitHub app",
    about: "Path of the private key's .pem file; used when `PRIVATE_KEY` is not set.",
    remedy:
      "Set it to the path of the .pem file that GitHub gave you, readable by the user that runs agent-fix.",
    fallback: null,
    read: text,
  },
  WEBHOOK_SECRET: {
    group: "GitHub app",
    about: "The secret GitHub signs webhooks with. It has no default: an unsigned webhook is never believed.",
    remedy: "Make one (openssl rand -hex 32), and enter the same value here and on the app's settings page.",
    fallback: null,
    read: text,
    secret: true,
  },
  GHE_HOST: {
    group: "GitHub app",
    about: "Host, with an optional port, of a GitHub Enterprise Server. The API is expected under `/api/v3`.",
    remedy: "Write the host alone, such as ghe.example.com; leave it unset for github.com.",
    fallback: null,
    read: hostAndPort,
  },
  GHE_PROTOCOL: {
    group: "GitHub app",
    about: "`https`, or `http` for an Enterprise Server in a test network.",
    remedy: "Set it to https or http, or leave it unset.",
    fallback: "https",
    read: oneOf(["https", "http"]),
  },
  WEBHOOK_PROXY_URL: {
    group: "GitHub app",
    about: "A smee.io channel that forwards webhooks to a machine GitHub cannot reach.",
    remedy: "Open https://smee.io/new and copy the channel's address, or leave it unset.",
    fallback: null,
    read: address,
  },
  ALLOWED_OWNERS: {
    group: "GitHub app",
    about:
      "Accounts whose repositories are served, separated by commas. Unset: only the account that owns the app.",
    remedy: "List logins of users or organisations, such as my-org,my-login.",
    fallback: null,
    read: logins,
  },
  GITHUB_CLIENT_ID: {
    group: "GitHub app",
    about: "The app's OAuth client id, for signing in to the trace viewer.",
    remedy: "Leave it unset.",
    fallback: null,
    read: text,
    unsupported: "ignore",
  },
  GITHUB_CLIENT_SECRET: {
    group: "GitHub app",
    about: "The secret of that client.",
    remedy: "Leave it unset.",
    fallback: null,
    read: text,
    secret: true,
    unsupported: "ignore",
  },
} as const satisfies Record<string, Setting>;

const SERVER = {
  PORT: {
    group: "Server",
    about: "Port the server listens on; 0 takes any free one.",
    remedy: "Set it to a free port, such as 3000.",
    fallback: "3000",
    read: whole(0, 65_535),
  },
  HOST: {
    group: "Server",
    about:
      "Address the server listens on. The default is reachable from this machine only; the container image sets 0.0.0.0.",
    remedy: "Set it to an address of this machine, such as 127.0.0.1 or 0.0.0.0.",
    fallback: "127.0.0.1",
    read: text.regex(/^[\w.:-]{1,253}$/, "must be an address or a host name, without a port"),
  },
  PUBLIC_URL: {
    group: "Server",
    about: "The address under which GitHub reaches this server; the set-up page enters it for webhooks.",
    remedy: "Write the whole address, such as https://agent-fix.example.com, or leave it unset.",
    fallback: null,
    read: address,
  },
  LOG_LEVEL: {
    group: "Server",
    about: "How much is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
    remedy: "Set it to one of these words.",
    fallback: "info",
    read: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
  },
  DATA_DIR: {
    group: "Server",
    about:
      "The directory that holds all state: database, mirrors, traces, and `app.env` with the values the set-up page wrote. A variable of the real environment wins over `app.env`.",
    remedy: "Set it to a directory that the user running agent-fix may write.",
    fallback: "./data",
    read: text,
  },
  DATABASE_URL: {
    group: "Server",
    about:
      "A Postgres address, for several instances. This version keeps its state in SQLite below `DATA_DIR`.",
    remedy: "Postgres is not supported by this version; unset it.",
    fallback: null,
    read: text,
    secret: true,
    unsupported: "refuse",
  },
  METRICS_TOKEN: {
    group: "Server",
    about: "The token that opens `/metrics` to other machines.",
    remedy: "Leave it unset.",
    fallback: null,
    read: text,
    secret: true,
    unsupported: "ignore",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: "Server",
    about: "An OpenTelemetry collector that spans are sent to.",
    remedy: "Leave it unset.",
    fallback: null,
    read: text,
    unsupported: "ignore",
  },
} as const satisfies Record<string, Setting>;

const MODEL = {
  MODEL_API: {
    group: "Model",
    about:
      "The protocol spoken with the model: `chat` (OpenAI's chat completions, which most servers speak), `responses` (OpenAI's Responses API) or `anthropic` (Anthropic's Messages API).",
    remedy: "Set it to chat, responses or anthropic, or leave it unset.",
    fallback: "chat",
    read: oneOf(["chat", "responses", "anthropic"]),
  },
  MODEL_TOOL_PROTOCOL: {
    group: "Model",
    about:
      "How the model calls tools: `native`, or `text` for models and servers that know no tool calls. With `text` the tools are described in the prompt, and fenced JSON blocks in the reply are calls.",
    remedy: "Set it to native or text, or leave it unset.",
    fallback: "native",
    read: oneOf(["native", "text"]),
  },
  OPENAI_API_KEY: {
    group: "Model",
    about:
      "The key for `MODEL_API` `chat` and `responses`. Required for api.openai.com; a local server may need none.",
    remedy:
      "Create a key with your provider; or, for a server that needs none, set OPENAI_BASE_URL to its address.",
    fallback: null,
    read: key,
    secret: true,
  },
  OPENAI_BASE_URL: {
    group: "Model",
    about: "Address of an OpenAI-compatible API, up to the part before `/chat/completions` or `/responses`.",
    remedy: "Write the whole address, such as http://127.0.0.1:11434/v1.",
    fallback: "https://api.openai.com/v1",
    read: address,
  },
  ANTHROPIC_API_KEY: {
    group: "Model",
    about: "The key for `MODEL_API=anthropic`. Required for api.anthropic.com.",
    remedy: "Create a key in Anthropic's console; or set ANTHROPIC_BASE_URL to a server that needs none.",
    fallback: null,
    read: key,
    secret: true,
  },
  ANTHROPIC_BASE_URL: {
    group: "Model",
    about: "Address of an API that speaks Anthropic's protocol, up to the part before `/v1/messages`.",
    remedy: "Write the whole address without /v1, such as https://api.anthropic.com.",
    fallback: "https://api.anthropic.com",
    read: address,
  },
  OPENAI_MODEL: {
    group: "Model",
    about:
      "The model's name as the end point knows it, whichever `MODEL_API` is spoken. The default is for OpenAI; with `MODEL_API=anthropic` it has to be set.",
    remedy: "Set it to a model that can call tools.",
    fallback: "gpt-5",
    read: text.regex(/^\S{1,200}$/, "must be one name without white space"),
  },
  MODELS_ALLOWED: {
    group: "Model",
    about: "Models that a repository's own file may choose, separated by commas. Unset: only `OPENAI_MODEL`.",
    remedy: "List model names, separated by commas.",
    fallback: null,
    read: list,
  },
  MODEL_CONTEXT_TOKENS: {
    group: "Model",
    about:
      "Tokens the model's window holds, input and reply together. Long runs are made to fit it; a reply gets at most a quarter, and never more than 16000. A window that is smaller than this says is noticed when the provider refuses a request.",
    remedy:
      "Set it to the window's size in tokens, such as 32768 (what the server was started with, for a local model).",
    fallback: "128000",
    read: whole(8_000, 10_000_000),
  },
  MODEL_IDLE_SECONDS: {
    group: "Model",
    about:
      "How long the model may say nothing, before its first word or between two, until the request is given up and tried again. Comments that keep a connection open do not count. The default suits slow local models.",
    remedy: "Set it to a number of seconds from 1 to 3600.",
    fallback: "300",
    read: whole(1, 3_600),
  },
  PRICES: {
    group: "Model",
    about:
      'Path of a JSON file with prices in US dollars per million tokens: `{"gpt-5": {"input": 1.25, "cached": 0.125, "output": 10}}`. A model without a price is limited by tokens, and its cost is shown as unknown.',
    remedy: "Set it to the path of such a file, or leave it unset.",
    fallback: null,
    read: text,
  },
} as const satisfies Record<string, Setting>;

const SANDBOX = {
  SANDBOX: {
    group: "Sandbox",
    about:
      "What repository code runs in: `bubblewrap` (the host's programs), `docker` or `podman` (containers of the images in `IMAGES_ALLOWED`), `none`, or `auto`: bubblewrap, else podman and docker when `IMAGES_ALLOWED` is set, else a refusal. `none` isolates nothing, is never chosen by `auto`, refuses to run as root, and puts a warning into every plan.",
    remedy: "Set it to auto, bubblewrap, docker, podman or none.",
    fallback: "auto",
    read: oneOf(["auto", "bubblewrap", "docker", "podman", "none"]),
  },
  IMAGES_ALLOWED: {
    group: "Sandbox",
    about:
      "Container images that commands may run in, separated by commas, as the engine names them; the first is the general one. A repository's file or its devcontainer.json chooses among them; else the first whose name suits the stack (`node`, `python`, `golang`, `rust`, `maven` ...) is taken, else the general one. They have to be on the machine: none is fetched. Required for `SANDBOX=docker` and `podman` ([container.md](container.md)).",
    remedy: "List images that are on this machine, such as node:24-bookworm,python:3.13-bookworm.",
    fallback: null,
    read: list.refine(
      (images) => images.every((image) => /^[a-z0-9][\w./:@-]{0,299}$/i.test(image)),
      "must list image names such as docker.io/library/node:24-bookworm, separated by commas",
    ),
  },
  NETWORK_ALLOW: {
    group: "Sandbox",
    about:
      "Further hosts that the set-up step (and nothing else) may reach, besides the public registries of each language ([setup.md](setup.md)), separated by commas. `host` means ports 80 and 443 at public addresses; `host:port` means that port alone, at private addresses too. `none` before them leaves the public registries out; `none` alone means no network.",
    remedy:
      "List the registries your repositories install from, such as registry.example.com or 10.0.0.7:8081.",
    fallback: "registries",
    read: hostNames,
  },
  PROTECTED_EXCEPT: {
    group: "Sandbox",
    about:
      "Globs that are taken out of the default protected paths, separated by commas (so without braces). What a repository's file protects stays protected.",
    remedy: "List globs such as .github/ISSUE_TEMPLATE/**, or leave it unset.",
    fallback: null,
    read: list.refine(
      (globs) => globs.every((glob) => globProblem(glob) === null),
      "must list globs made of text, *, ? and **",
    ),
  },
} as const satisfies Record<string, Setting>;

const LIMITS = {
  CONCURRENCY: {
    group: "Limits",
    about: "Runs that work at the same time.",
    remedy: "Set it to a number from 1 to 64.",
    fallback: "2",
    read: whole(1, 64),
  },
  BUDGET_USD: {
    group: "Limits",
    about:
      "Money for the model per run, in US dollars; also the ceiling of `/retry budget=` and of a repository's own budget.",
    remedy: "Set it to an amount such as 5.",
    fallback: "5",
    read: dollars,
  },
  BUDGET_USD_PER_DAY: {
    group: "Limits",
    about: "Money for the model per day over all runs.",
    remedy:
      "A daily budget is not supported by this version; unset it, and rely on BUDGET_USD and CONCURRENCY.",
    fallback: null,
    read: dollars,
    unsupported: "refuse",
  },
  PAUSED: {
    group: "Limits",
    about: "`true`: events are recorded, but no run starts.",
    remedy: "Set it to true or false.",
    fallback: "false",
    read: flag,
  },
} as const satisfies Record<string, Setting>;

export const SETTINGS = { ...GITHUB, ...SERVER, ...MODEL, ...SANDBOX, ...LIMITS };

export type SettingName = keyof typeof SETTINGS;

/** What reading all settings gives: a variable with a default always has a value. */
export type SettingValues = {
  readonly [Name in SettingName]:
    | z.output<(typeof SETTINGS)[Name]["read"]>
    | ((typeof SETTINGS)[Name]["fallback"] extends string ? never : null);
};
