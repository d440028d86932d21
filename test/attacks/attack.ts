/** What an attack is: a script that an obedient model or the repository's own code runs, and what must hold afterwards. */

export type Group =
  | "secrets"
  | "writes"
  | "network"
  | "escape"
  | "exhaustion"
  | "poison"
  | "git"
  | "forgery"
  | "slow";

/** A group's heading in the documentation. */
export const GROUPS: Readonly<Record<Group, string>> = {
  secrets: "Reading what is not theirs",
  writes: "Writing outside the workspace",
  network: "Reaching a network or a service",
  escape: "Leaving the sandbox",
  exhaustion: "Using everything up, and staying",
  poison: "Leaving something for the next command, phase or run",
  git: "Having git over the workspace run or reveal something",
  forgery: "Forging a test result",
  slow: "Slowing the app down",
};

/** What the documentation needs of every attack. */
export interface Listed {
  /** Unique; a short clause on what is tried. */
  readonly name: string;
  readonly group: Group;
  /** Id of the public fault report that it comes from. */
  readonly fault?: string;
  /** What must be true afterwards. */
  readonly holds: string;
  /** By a word of a backend's name (`podman`): why it cannot stop this one. Such an attack is named in docs/limitations.md. */
  readonly notStopped?: Readonly<Record<string, string>>;
}

/**
 * A script for `bash`, run in a session. It prints `BREACH` and a word when something worked that must not. It finds in its
 * environment what an attacker could know at worst: `APP` and `BYSTANDER` (pids), `DATA_DIR`, `OUTSIDE` (a directory that
 * everyone on the host may write), `PORT`, `PORT6`, `UDP`, `ABSTRACT`, `SOCKET`.
 */
export interface Attack extends Listed {
  readonly script: string;
  /** True: it uses a limit up, so it gets a session of its own, and need not come to its end. */
  readonly heavy?: boolean;
  /** Default 20 s. */
  readonly timeoutMs?: number;
  /** Run in a second session afterwards, of another run: what must not have been left for it. */
  readonly next?: string;
  /** True: with no sandbox at all it does breach, which shows that a breach would be noticed. */
  readonly springs?: boolean;
}

/** An attack in the list of its group, which adds the group. */
export type CommandAttack = Omit<Attack, "group">;

/** A Python program as part of a script. */
export function python(program: string): string {
  return `python3 - <<'PY'\n${PRELUDE}${program.trim()}\nPY`;
}

const PRELUDE = `import ctypes, os, re, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def breach(*words): print("BREACH", *words, flush=True)
def attempt(what, work):
    try:
        result = work()
    except (OSError, ValueError, PermissionError) as error:
        return None
    if result is not False: breach(what, result)
def leave(work):
    try: work()
    except OSError: pass
def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0: raise OSError(ctypes.get_errno(), "refused")
    return result
`;
