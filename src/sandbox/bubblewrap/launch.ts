/** The texts that start things: the resident shell of a session, and the lines by which it starts one command. Pure. */

import { NICENESS } from "#src/sandbox/command/priority.ts";

/** Where the host keeps the programs a sandbox is made of. */
export interface Programs {
  readonly bwrap: string;
  readonly bash: string;
  readonly mkfifo: string;
  readonly nice: string;
  readonly rm: string;
  readonly chmod: string;
  readonly du: string;
  readonly prlimit: string | null;
  readonly socat: string | null;
  /** Needed only by root. */
  readonly setpriv: string | null;
}

/** How root gives up its rights before anything of the repository is started. */
export interface Drop {
  readonly uid: number;
  readonly gid: number;
  /** Host paths that the user reaches below `HOLDER_ROOT` although it could not enter the directories above them. */
  readonly sources: readonly string[];
}

/** A directory that exists on every Linux, that no source lies in, and that the sandbox never shows. */
export const HOLDER_ROOT = "/sys";

/**
 * Command line of a session's launcher: a shell that waits for lines, so that a command costs one fork and bubblewrap
 * instead of a row of programs (measured on two virtual cores: 13 ms over the bare command instead of 36). As root it runs
 * in a mount namespace of its own, with each source at /sys/<its number>, as the sandbox's user. It ends when its input
 * does, which is at the latest when the app dies; `marker` makes it findable. All of it gives way to the app.
 */
export function launcherArgv(
  programs: Programs,
  drop: Drop | null,
  marker: string,
): readonly [string, ...string[]] {
  const gentle = [programs.nice, "-n", String(NICENESS)] as const;
  const shell = [programs.bash, "--norc", "--noprofile", "-s", "--", marker];
  if (drop === null) return [...gentle, ...shell];
  return [
    ...gentle,
    ...[programs.bwrap, "--dev-bind", "/", "/", "--tmpfs", HOLDER_ROOT],
    ...drop.sources.flatMap((source, number) => ["--bind", source, `${HOLDER_ROOT}/${number}`]),
    ...["--die-with-parent", "--", programs.setpriv ?? "setpriv", "--reuid", String(drop.uid)],
    ...["--regid", String(drop.gid), "--clear-groups", "--", ...shell],
  ];
}

/**
 * Command line of du, up to its options. An ordinary user's commands have its own id, and so could close a directory to du: in
 * a user namespace of its own it reads those too.
 */
export function duArgv({ bwrap, du }: Pick<Programs, "bwrap" | "du">, isRoot: boolean): readonly string[] {
  if (isRoot) return [du];
  const asRoot = ["--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "CAP_DAC_READ_SEARCH"];
  return [bwrap, "--dev-bind", "/", "/", ...asRoot, "--die-with-parent", "--", du];
}

/** Paths, as the launcher sees them, of one command's streams. */
export interface StreamPaths {
  readonly stdin: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly status: string;
}

/** First descriptor of the launcher that leads to a `cgroup.procs` file; they are opened by the app, with its rights. */
export const FIRST_GROUP_FD = 8;

/**
 * Lines for the launcher that start `argv` and print its pid. The streams are open when the pid is printed. Signals that
 * a shell ignores in the background are given back; writing 0 to `cgroup.procs` moves the writer, and neither those
 * descriptors nor the shell's variables reach the command.
 */
export function commandLines(command: {
  readonly argv: readonly string[];
  readonly streams: StreamPaths;
  /** How many `cgroup.procs` descriptors there are. */
  readonly groups: number;
  /** From `shellLimits`. */
  readonly limits: readonly string[];
  /** Path of a file that the command finds open at descriptor 4; null: none. */
  readonly filter: string | null;
}): string {
  const { streams } = command;
  const groups = Array.from({ length: command.groups }, (_, index) => FIRST_GROUP_FD + index);
  const join = groups.map((fd) => `echo 0 >&${fd} || exit 125`);
  const limits = command.limits.length === 0 ? [] : [`ulimit ${command.limits.join(" ")} || exit 125`];
  const close = groups.map((fd) => `${fd}>&-`).join(" ");
  const steps = [
    "trap - INT QUIT",
    ...join,
    ...limits,
    `exec -c ${command.argv.map(quote).join(" ")} ${close}`,
  ];
  return [
    `exec 4<${quote(streams.stdin)} 5>${quote(streams.stdout)} 6>${quote(streams.stderr)} 7>${quote(streams.status)} || return 1`,
    `( ${steps.join("\n")}\n) <&4 >&5 2>&6 3>&7 4<${command.filter === null ? "&-" : quote(command.filter)} 5>&- 6>&- 7>&- &`,
    "exec 4<&- 5>&- 6>&- 7>&-",
    'echo "$!"',
    "",
  ].join("\n");
}

/** One word of the shell, whatever it contains. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** prlimit's option, the shell's letter for it, and how many of prlimit's units make one of the shell's. */
const SHELL_LIMITS: Readonly<Record<string, readonly [letter: string, unit: number]>> = {
  core: ["c", 1024],
  cpu: ["t", 1],
  fsize: ["f", 1024],
  nofile: ["n", 1],
};

/**
 * Splits prlimit's options into those that the shell can set before bubblewrap starts, which costs nothing, and those that
 * must be set inside (a limit on processes counts per user namespace; one on memory would hold for bubblewrap too).
 */
export function shellLimits(options: readonly string[]): {
  readonly shell: readonly string[];
  readonly inside: readonly string[];
} {
  const shell: string[] = [];
  const inside: string[] = [];
  for (const option of options) {
    const [, name = "", value = ""] = /^--([a-z]+)=(\d+)$/.exec(option) ?? [];
    const known = SHELL_LIMITS[name];
    if (known === undefined) inside.push(option);
    else shell.push(`-${known[0]}`, String(Math.ceil(Number(value) / known[1])));
  }
  return { shell, inside };
}
