/**
 * The system call filter of a sandbox, as a BPF program for bubblewrap's `--seccomp`: closes what name spaces do not hold
 * (vsock, key rings, io_uring) and calls that no build and no test needs. Pure.
 */

interface Architecture {
  /** AUDIT_ARCH_*: calls by any other table (32-bit programs) are refused, since they would go past this filter. */
  readonly audit: number;
  /** From this number on, calls of a second table (x32); null: there is none. */
  readonly second: number | null;
  readonly socket: number;
  readonly socketpair: number;
  readonly ioctl: number;
  /** Answered as if the kernel did not have them, so that programs go another way. */
  readonly absent: readonly number[];
  /** Answered with "not permitted". */
  readonly refused: readonly number[];
}

/** open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr: the same numbers everywhere. */
const NEW_MOUNT_CALLS = [428, 429, 430, 431, 432, 433, 442];
/** io_uring_setup, io_uring_enter, io_uring_register. */
const IO_URING = [425, 426, 427];

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    second: 0x40000000,
    socket: 41,
    socketpair: 53,
    ioctl: 16,
    // add_key, request_key, keyctl, userfaultfd
    absent: [248, 249, 250, 323, ...IO_URING],
    refused: [
      // bpf, perf_event_open, syslog, open_by_handle_at
      ...[321, 298, 103, 304],
      // kexec_load, kexec_file_load, init_module, finit_module, delete_module, reboot, swapon, swapoff, acct, quotactl
      ...[246, 320, 175, 313, 176, 169, 167, 168, 163, 179],
      // settimeofday, clock_settime, iopl, ioperm
      ...[164, 227, 172, 173],
      // mount, umount2, pivot_root, chroot, setns
      ...[165, 166, 155, 161, 308],
      ...NEW_MOUNT_CALLS,
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    second: null,
    socket: 198,
    socketpair: 199,
    ioctl: 29,
    absent: [217, 218, 219, 282, ...IO_URING],
    refused: [
      ...[280, 241, 116, 265],
      ...[104, 294, 105, 273, 106, 142, 224, 225, 89, 60],
      ...[170, 112],
      ...[40, 39, 41, 51, 268],
      ...NEW_MOUNT_CALLS,
    ],
  },
};

/** UNIX, INET, INET6, NETLINK: what a network name space holds. vsock and others would reach the machine below. */
const FAMILIES = [1, 2, 10, 16];
/** TIOCSTI, TIOCLINUX: typing into a terminal. */
const TYPING = [0x5412, 0x541c];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;

// Instructions: load a word of the call's description, compare and jump, return.
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
// Places in the description: the number, the architecture, the lower halves of the first two arguments (little-endian).
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (place: number): Instruction => [LOAD, 0, 0, place];
const answer = (value: number): Instruction => [RETURN, 0, 0, value];
/** Skips the next instruction unless the loaded word is the value. */
const unlessEqual = (value: number, skipped = 1): Instruction => [JUMP_IF_EQUAL, 0, skipped, value];

/** The program for this machine (Node's `process.arch`) as bubblewrap reads it; null: its calls are not known here. */
export function seccompProgram(arch: string): Buffer | null {
  const known = ARCHITECTURES[arch];
  if (known === undefined) return null;
  const instructions: Instruction[] = [
    load(ARCHITECTURE),
    [JUMP_IF_EQUAL, 1, 0, known.audit],
    answer(ERRNO | ENOSYS),
    load(NUMBER),
    ...(known.second === null
      ? []
      : [[JUMP_IF_AT_LEAST, 0, 1, known.second] as const, answer(ERRNO | ENOSYS)]),
    ...known.absent.flatMap((call) => [unlessEqual(call), answer(ERRNO | ENOSYS)]),
    ...known.refused.flatMap((call) => [unlessEqual(call), answer(ERRNO | EPERM)]),
    ...[known.socket, known.socketpair].flatMap((call) =>
      section(call, FIRST_ARGUMENT, [
        ...FAMILIES.flatMap((family) => [unlessEqual(family), answer(ALLOW)]),
        answer(ERRNO | EAFNOSUPPORT),
      ]),
    ),
    ...section(known.ioctl, SECOND_ARGUMENT, [
      ...TYPING.flatMap((request) => [unlessEqual(request), answer(ERRNO | EPERM)]),
      answer(ALLOW),
    ]),
    answer(ALLOW),
  ];
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

/** What happens to one call by one of its arguments; `body` must end in an answer. */
function section(call: number, argument: number, body: readonly Instruction[]): readonly Instruction[] {
  return [unlessEqual(call, body.length + 1), load(argument), ...body];
}
