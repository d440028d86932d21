/** The sandbox port: a session per phase in which commands of the repository run without secrets, network or host. */

import type { Result } from "#src/base/result.ts";

/** One path made visible inside the sandbox. */
export interface Mount {
  /** Absolute path on the host. */
  readonly source: string;
  /** Absolute path inside. */
  readonly target: string;
  readonly mode: "ro" | "rw";
}

export type Network =
  | { readonly kind: "none" }
  /** HTTPS and HTTP to the listed host names only, through a proxy outside the sandbox; `onHost` is told of each attempt. */
  | {
      readonly kind: "allow";
      readonly hosts: readonly string[];
      readonly onHost: (host: string, allowed: boolean) => void;
    };

export interface Limits {
  readonly memoryBytes: number;
  readonly processes: number;
  /** Total size of the workspace, home and tmp at which a running command is stopped. */
  readonly diskBytes: number;
  readonly openFiles: number;
  /** Of one command with everything it starts; absent: as much as its time allows. */
  readonly cpuSeconds?: number;
}

/** `asked`: in the repository's own file; `devcontainer`: text of devcontainer.json; `stack`: such as `python`. */
export type ImageWish = { readonly [Part in "asked" | "devcontainer" | "stack"]: string | null };

export interface SessionSpec {
  readonly runId: string;
  readonly phase: "setup" | "baseline" | "agent" | "verify" | "git";
  /** Host directory shown read-write at /workspace; it must belong to `SandboxOwner` (see `Sandbox.owner`). */
  readonly workspace: string;
  /** Further mounts, e.g. a directory for test reports outside the workspace. */
  readonly mounts: readonly Mount[];
  readonly network: Network;
  readonly limits: Limits;
  /** What decides the container image, out of the operator's list; absent: the general one. bubblewrap has none. */
  readonly image?: ImageWish | undefined;
  /** Added to the scrubbed base environment (PATH HOME LANG CI=true, pagers and editors neutralised). */
  readonly env: Readonly<Record<string, string>>;
}

export interface ExecRequest {
  /** Program and arguments; a shell is asked for explicitly (`["bash", "-o", "pipefail", "-c", text]`). */
  readonly argv: readonly string[];
  /** Directory inside the sandbox; default `/workspace`. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes for standard input; without it the command reads end-of-file at once. */
  readonly stdin?: Uint8Array;
  readonly timeoutMs: number;
  /** Bytes kept of each stream: half of it from the head, half from the tail. */
  readonly outputBytes: number;
  readonly signal: AbortSignal;
}

/** A bounded view of a stream, decoded as UTF-8 without ever splitting a character. */
export interface Captured {
  readonly head: string;
  readonly tail: string;
  readonly totalBytes: number;
  /** Bytes between head and tail that were not kept; 0 means `head + tail` is the whole output. */
  readonly droppedBytes: number;
}

export type ExecEnd =
  /** The command ended by itself; a signal it died from is reported as 128 + its number. */
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly reason: "timeout" | "cancelled" | "memory" | "disk" }
  /** The sandbox could not start the command; nothing ran. */
  | { readonly kind: "not_started"; readonly message: string };

export interface ExecResult {
  readonly end: ExecEnd;
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly durationMs: number;
}

export interface Session {
  /** Runs one command and settles in any case: when it returns, every process it started is dead. Never rejects. */
  exec(request: ExecRequest): Promise<ExecResult>;
  /** Ends every process of the session and removes its home, tmp and proxy. Safe to call twice. */
  close(): Promise<void>;
  /** Which mechanism enforces each limit, for the trace: e.g. `{memory: "cgroup v1", processes: "rlimit"}`. */
  readonly enforcement: Readonly<Record<string, string>>;
}

/** The user that sandboxed commands run as on the host. */
export type SandboxOwner = { readonly uid: number; readonly gid: number };

export interface SandboxFailure {
  readonly code: "unavailable" | "setup_failed";
  readonly message: string; // Why, and what to install or switch on.
}

/** One line of `agent-fix doctor`. */
export interface ProbeLine {
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string; // What was found; when it does not hold, what to install or switch on.
}

export interface Sandbox {
  readonly name: "bubblewrap" | "docker" | "podman" | "none";
  /** A sentence for every plan when the isolation is weaker than the design asks for; null when it is whole. */
  readonly warning: string | null;
  /** Whom workspace files must belong to; null: the user the app itself runs as. */
  readonly owner: SandboxOwner | null;
  /** Checks what holds on this machine, by trying it; `onLine` may be told of each line as it is found. Never rejects. */
  probe(onLine?: (line: ProbeLine) => void): Promise<readonly ProbeLine[]>;
  open(spec: SessionSpec): Promise<Result<Session, SandboxFailure>>;
  /** Ends processes and removes leftovers of a killed predecessor that used the same data directory. */
  sweep(): Promise<void>;
}
