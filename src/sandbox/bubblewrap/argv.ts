/** Builds bubblewrap's command line from a plan: pure, so that what a sandbox shows can be tested without starting one. */

import { INSIDE, SHARED_MEMORY_BYTES } from "#src/sandbox/policy.ts";
import type { Mount } from "#src/sandbox/sandbox.ts";

/** How the host lays out /bin, /lib and their kin: a link into /usr, or a directory of its own. */
export interface RootEntry {
  /** Absolute path, e.g. `/bin`. */
  readonly path: string;
  /** Link text, e.g. `usr/bin`; null for a real directory, which is then shown read-only. */
  readonly link: string | null;
}

/** Everything about a session that its command lines depend on. */
export interface Plan {
  readonly rootEntries: readonly RootEntry[];
  /** Files and directories shown, in this order; sources are paths in the mount namespace bubblewrap is started in. */
  readonly binds: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path of prlimit inside, and its options; null: no such program. */
  readonly prlimit: { readonly path: string; readonly options: readonly string[] } | null;
  /** True: programs reach the proxy's socket through a forwarder on loopback. */
  readonly proxied: boolean;
  /** True: the system call filter lies open at `FILTER_FD`. */
  readonly filtered: boolean;
}

/** What varies from command to command. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Written into the command line, and into nothing else, so that strays can be found from outside. */
  readonly marker: string;
}

/** Name of the variable that carries the marker on bubblewrap's command line; it is unset again before the command. */
export const MARKER_VARIABLE = "AGENT_FIX_MARKER";

/** Descriptor on which bubblewrap reports the child's pid and exit code, as JSON lines. */
export const STATUS_FD = 3;

/** Descriptor from which bubblewrap reads the system call filter. */
export const FILTER_FD = 4;

/**
 * Starts the forwarder, orphaned so that the command never sees it as its child, and waits until it listens (at most 5 s).
 * Port 3128 is 0C38 in /proc/net/tcp.
 */
const FORWARD = `
( socat TCP-LISTEN:${INSIDE.proxyPort},bind=127.0.0.1,fork,reuseaddr,backlog=128 UNIX-CONNECT:${INSIDE.proxySocket} </dev/null >/dev/null 2>&1 & )
tries=0
until grep -q ":${INSIDE.proxyPort.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A" /proc/net/tcp; do
  tries=$((tries + 1))
  [ $tries -gt 500 ] && { echo "agent-fix: the proxy forwarder did not start; is socat installed?" >&2; exit 125; }
  sleep 0.01
done
exec "$@"`;

/** bubblewrap's arguments, without the program itself. */
export function bwrapArgv(plan: Plan, invocation: Invocation): string[] {
  return [
    ...isolation(),
    ...["--setenv", MARKER_VARIABLE, invocation.marker, "--unsetenv", MARKER_VARIABLE],
    ...environment({ ...plan.env, ...invocation.env }),
    ...systemMounts(plan.rootEntries),
    ...plan.binds.flatMap((bind) => [bind.mode === "ro" ? "--ro-bind" : "--bind", bind.source, bind.target]),
    ...["--remount-ro", "/"],
    ...["--chdir", invocation.cwd],
    ...["--json-status-fd", String(STATUS_FD)],
    ...(plan.filtered ? ["--seccomp", String(FILTER_FD)] : []),
    "--",
    ...insideArgv(plan, invocation.argv),
  ];
}

function isolation(): string[] {
  return [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    ...["--cap-drop", "ALL"],
    ...["--uid", String(INSIDE.uid), "--gid", String(INSIDE.gid)],
    ...["--hostname", INSIDE.hostname],
    "--clearenv",
  ];
}

function environment(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]);
}

/** /usr read-only, fresh /proc and /dev. Only /dev/shm of /dev can be written, and it has a size: both count as memory. */
function systemMounts(rootEntries: readonly RootEntry[]): string[] {
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...rootEntries.flatMap((entry) =>
      entry.link === null ? ["--ro-bind", entry.path, entry.path] : ["--symlink", entry.link, entry.path],
    ),
    ...["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"],
    ...["--dev", "/dev", "--perms", "1777", "--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"],
    ...["--remount-ro", "/dev"],
    ...[
      "--dir",
      "/run",
      "--dir",
      "/var",
      "--symlink",
      "../tmp",
      "/var/tmp",
      "--symlink",
      "../run",
      "/var/run",
    ],
  ];
}

function insideArgv(plan: Plan, argv: readonly string[]): string[] {
  const command = plan.proxied ? ["/bin/sh", "-c", FORWARD, "agent-fix-forward", ...argv] : [...argv];
  return plan.prlimit === null ? command : [plan.prlimit.path, ...plan.prlimit.options, ...command];
}
