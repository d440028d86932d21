/** Makes podman's own system call filter stricter: no further namespaces, mounts, key rings or rings of the kernel. Pure. */

/** Taken out of what the filter allows; such calls then answer as if the kernel did not have them. */
const CLOSED = new Set([
  ...["unshare", "setns", "clone3", "mount", "umount", "umount2", "pivot_root", "chroot"],
  ...["open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"],
  ...["add_key", "request_key", "keyctl", "io_uring_setup", "io_uring_enter", "io_uring_register"],
  ...["bpf", "perf_event_open", "userfaultfd", "open_by_handle_at", "name_to_handle_at", "syslog"],
  ...["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"],
  ...["swapon", "swapoff", "acct", "quotactl", "settimeofday", "clock_settime", "clock_settime64"],
]);

/** Allowed again below, but not with every argument. */
const NARROWED = new Set(["clone", "socket", "ioctl"]);

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NAMESPACE_FLAGS = 0x7e020000;
/** AF_ALG; from here on families of no use to builds and tests, and ways to the machine below (AF_VSOCK). */
const FIRST_CLOSED_FAMILY = 38;
const TIOCSTI = 0x5412;

interface Rule {
  readonly names: readonly string[];
}

/** `text`: the engine's default profile as JSON. Null when it is not one. */
export function stricterProfile(text: string): string | null {
  const profile = parse(text);
  if (profile === null) return null;
  const rules = profile.syscalls
    .map((rule) => ({
      ...rule,
      names: rule.names.filter((name) => !CLOSED.has(name) && !NARROWED.has(name)),
    }))
    .filter((rule) => rule.names.length > 0);
  const allow = (name: string, index: number, op: string, value: number) => ({
    ...{ names: [name], action: "SCMP_ACT_ALLOW" },
    args: [{ index, value, valueTwo: 0, op }],
  });
  return JSON.stringify({
    ...profile,
    syscalls: [
      ...rules,
      allow("clone", 0, "SCMP_CMP_MASKED_EQ", NAMESPACE_FLAGS),
      allow("socket", 0, "SCMP_CMP_LT", FIRST_CLOSED_FAMILY),
      allow("ioctl", 1, "SCMP_CMP_NE", TIOCSTI),
    ],
  });
}

function parse(text: string): { readonly syscalls: readonly Rule[] } | null {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== "object" || read === null || !("syscalls" in read) || !Array.isArray(read.syscalls))
      return null;
    const isRule = (rule: unknown): rule is Rule =>
      typeof rule === "object" && rule !== null && "names" in rule && Array.isArray(rule.names);
    return read.syscalls.every(isRule) ? { ...read, syscalls: read.syscalls } : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
