/** The programs started before bubblewrap: join cgroups, enter the session's mount namespace, drop root. Pure. */

/** Where the host keeps the programs a sandbox is made of. */
export interface Programs {
  readonly bwrap: string;
  readonly sh: string;
  readonly mkfifo: string;
  readonly rm: string;
  readonly chmod: string;
  readonly du: string;
  readonly prlimit: string | null;
  readonly socat: string | null;
  /** Needed only by root. */
  readonly unshare: string | null;
  readonly nsenter: string | null;
}

/** How root gives up its rights before bubblewrap starts. */
export interface Drop {
  readonly uid: number;
  readonly gid: number;
  /** Process whose mount namespace holds the session's sources. */
  readonly namespaceOf: number;
}

const JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"';

/**
 * The full command line. Each program replaces the one before it, so the process that the app started is bubblewrap in
 * the end, with the app as its parent: `--die-with-parent` then works although root was given up on the way.
 */
export function launchArgv(
  programs: Programs,
  procsFiles: readonly string[],
  drop: Drop | null,
  bwrapArguments: readonly string[],
): readonly [string, ...string[]] {
  const bwrap: [string, ...string[]] = [programs.bwrap, ...bwrapArguments];
  const dropped = drop === null ? bwrap : [...dropArgv(programs, drop), ...bwrap];
  const [first = programs.bwrap, ...rest] = dropped;
  if (procsFiles.length === 0) return [first, ...rest];
  return [programs.sh, "-c", JOIN, "agent-fix-join", ...procsFiles, "--", first, ...rest];
}

/** nsenter also clears the supplementary groups; giving up uid 0 clears every capability, and bubblewrap sets no_new_privs. */
function dropArgv(programs: Programs, drop: Drop): string[] {
  return [
    ...[programs.nsenter ?? "nsenter", `--mount=/proc/${drop.namespaceOf}/ns/mnt`],
    ...["--setgid", String(drop.gid), "--setuid", String(drop.uid), "--"],
  ];
}

/** A directory that exists on every Linux, that no source lies in, and that the sandbox never shows. */
export const HOLDER_ROOT = "/sys";

/**
 * Binds each argument to /sys/<its number> inside a private mount namespace and then waits for end-of-file, which
 * comes at the latest when the app dies.
 */
const HOLD = `set -e
mount -t tmpfs -o mode=0755,size=64k agent-fix ${HOLDER_ROOT}
number=0
for source in "$@"; do
  if [ -d "$source" ]; then mkdir "${HOLDER_ROOT}/$number"; else : > "${HOLDER_ROOT}/$number"; fi
  mount --bind -- "$source" "${HOLDER_ROOT}/$number"
  number=$((number + 1))
done
echo ready
exec cat`;

/** Command line of the process that keeps a session's mount namespace; prints `ready` and ends when its input does. */
export function holderArgv(programs: Programs, sources: readonly string[]): readonly [string, ...string[]] {
  return [
    programs.unshare ?? "unshare",
    ...["--mount", "--propagation", "private", "--", programs.sh, "-c", HOLD, "agent-fix-hold"],
    ...sources,
  ];
}
