/** Turns what bubblewrap and its helpers print when they cannot start into what an operator has to do. Pure. */

import { TOO_LONG } from "#src/sandbox/command/spawn-program.ts";

const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /No permissions to create new namespace|Operation not permitted.*(?:namespace|unshare)|unshare.*Operation not permitted/i,
    "user namespaces are switched off here. On Ubuntu 24.04 allow them for bwrap in AppArmor (kernel.apparmor_restrict_unprivileged_userns); on older Debian set kernel.unprivileged_userns_clone=1; in a container start it with the seccomp profile from docs/deployment and as an ordinary user",
  ],
  [
    /No space left on device|max_user_namespaces/i,
    "the limit user.max_user_namespaces is reached or 0: raise it",
  ],
  [
    /setting up uid map|Unexpected capabilities/i,
    "bubblewrap cannot map its user here. In a container run agent-fix as an ordinary user without capabilities",
  ],
  [
    /Can't mount proc|mount proc on/i,
    "/proc cannot be mounted. In a container add `--security-opt systempaths=unconfined`",
  ],
  [/pivot_root/i, "pivot_root is forbidden here: the container's seccomp profile has to allow it"],
  [/Argument list too long/i, TOO_LONG],
  [/Can't chdir to/i, "the working directory does not exist inside the sandbox"],
];

const SHOWN = 500;

/** One sentence with the program's own words and, where the cause is known, the remedy. */
export function explainStartFailure(stderr: string): string {
  const said = stderr.trim().slice(-SHOWN) || "bubblewrap ended without a word";
  const hint = HINTS.find(([pattern]) => pattern.test(said))?.[1];
  return hint === undefined ? `the sandbox could not be set up: ${said}` : `${said}: ${hint}`;
}
