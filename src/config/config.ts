/** The loaded configuration: plain data in parts, so that each part of the program is handed only the one it needs. */

/** Who the app is towards GitHub. */
export interface AppCredentials {
  readonly appId: number;
  /** PEM text, PKCS#1 or PKCS#8, ending in a line break. */
  readonly privateKey: string;
  readonly webhookSecret: string;
}

export interface GitHubConfig {
  /** Null: none of the three is set, and the server offers the set-up page. */
  readonly credentials: AppCredentials | null;
  /** `host` or `host:port` of the web pages and of git. */
  readonly host: string;
  readonly protocol: "https" | "http";
  /** Without a slash at the end: `https://github.com`. */
  readonly webUrl: string;
  /** Without a slash at the end: `https://api.github.com`, or `<web>/api/v3` for an Enterprise Server. */
  readonly apiUrl: string;
  readonly webhookProxyUrl: string | null;
  /** Lower-case logins whose repositories are served; null: the account that owns the app. */
  readonly allowedOwners: readonly string[] | null;
}

/** US dollars per million tokens. */
export interface Price {
  readonly input: number;
  /** For the part of the input that came from the provider's cache. */
  readonly cached: number;
  readonly output: number;
}

export interface ModelConfig {
  readonly api: "chat" | "responses" | "anthropic";
  /** `text`: tools are described in the prompt and called by fenced JSON in the reply. */
  readonly toolProtocol: "native" | "text";
  /** Null: the end point takes none. */
  readonly apiKey: string | null;
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly id: string;
  /** Models a repository file may choose; always contains `id`. */
  readonly allowed: readonly string[];
  /** What the model's window holds, input and reply together. */
  readonly contextTokens: number;
  /** How long nothing that counts may arrive until a request is given up as stalled. */
  readonly idleTimeoutMs: number;
  /** By model name; a model without a price is limited by tokens only. */
  readonly prices: Readonly<Record<string, Price>>;
}

export interface SandboxConfig {
  readonly kind: "auto" | "bubblewrap" | "docker" | "podman" | "none";
  /** Images that commands may run in; the first is the general one. */
  readonly imagesAllowed: readonly string[];
  /** Host names the set-up step may reach. */
  readonly networkAllow: readonly string[];
  /** Globs taken out of the default protected paths. */
  readonly protectedExcept: readonly string[];
}

export interface LimitsConfig {
  /** Runs that work at the same time. */
  readonly concurrency: number;
  /** Per run, and the ceiling of `budget=`. */
  readonly budgetUsd: number;
  /** True: events are recorded, but no run starts. */
  readonly paused: boolean;
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

export interface ServerConfig {
  /** 0: any free port. */
  readonly port: number;
  readonly host: string;
  /** Where people reach this server, without a slash at the end. */
  readonly publicUrl: string | null;
  readonly logLevel: LogLevel;
  /** Absolute. */
  readonly dataDir: string;
}

export interface Config {
  readonly github: GitHubConfig;
  readonly model: ModelConfig;
  readonly sandbox: SandboxConfig;
  readonly limits: LimitsConfig;
  readonly server: ServerConfig;
  /** Every secret value that was found, used or not: for the redactor, and for nothing else. */
  readonly secrets: readonly string[];
  /** Sentences for the log at start: settings that are allowed and unwise, or without effect. */
  readonly warnings: readonly string[];
}

/** One thing that is wrong with the environment. */
export interface Problem {
  /** The variable. */
  readonly name: string;
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** The values that must never be printed, sent or written: what the redactor starts with. */
export function secretsOf(config: Config): readonly string[] {
  return config.secrets;
}

/** All problems as one text for the terminal. */
export function formatProblems(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "One setting is" : `${problems.length} settings are`;
  const lines = problems.map((one) => `  ${one.name} ${one.problem}\n      ${one.remedy}`);
  return `${count} missing or wrong:\n\n${lines.join("\n\n")}\n`;
}
