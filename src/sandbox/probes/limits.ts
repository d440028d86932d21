/** Probes: a command that wants everything gets its share, and what enforces each limit. */

import { isKilled, PROBE_LIMITS, type Probe, prints, textOf } from "#src/sandbox/probes/probe.ts";

const MIB = 1024 * 1024;
const GROUPS =
  "the kernel does not bound it for a whole command: start agent-fix as root, delegate control groups to its user (systemd: Delegate=yes), or run it in a container with --memory and --pids-limit";

export const LIMIT_PROBES: readonly Probe[] = [
  {
    name: "memory limit",
    kind: "any",
    script: "head -c 300M /dev/zero | tail -c 290M | wc -c",
    holds: (result) => Number(textOf(result)) < PROBE_LIMITS.memoryBytes,
    held: (_, { session }) => `by ${session.enforcement.memory}`,
    remedy: GROUPS,
  },
  {
    name: "memory of a child",
    kind: "kernel memory",
    script: "head -c 300M /dev/zero | tail -c 290M >/dev/null; sleep 60",
    timeoutMs: 40_000,
    holds: isKilled("memory"),
    held: "a command whose child was killed for its memory ends at once, and says so",
    remedy: GROUPS,
  },
  {
    name: "memory in files",
    kind: "isolation",
    script: "head -c 400M /dev/zero 2>/dev/null > /dev/shm/big && echo fits; true",
    holds: (result) => !textOf(result).includes("fits"),
    held: "files in shared memory count as memory",
    remedy: GROUPS,
  },
  {
    name: "process limit",
    kind: "processes",
    script: "i=0; while [ $i -lt 200 ]; do sleep 9 & i=$((i+1)); done 2>/dev/null; jobs -p | wc -l",
    holds: (result) => result.end.kind !== "exited" || Number(textOf(result)) < 150,
    held: (_, { session }) => `by ${session.enforcement.processes}`,
    remedy: GROUPS,
  },
  {
    name: "open files",
    kind: "any",
    script: "ulimit -n",
    holds: prints(`${PROBE_LIMITS.openFiles}\n`),
    held: (_, { session }) => `by ${session.enforcement.openFiles}`,
    remedy: "prlimit is missing: install the package util-linux",
  },
  {
    name: "core dumps",
    kind: "any",
    script: "ulimit -c",
    holds: prints("0\n"),
    held: "none are written",
    remedy: "prlimit is missing: install the package util-linux",
  },
  {
    name: "size of a file",
    kind: "any",
    limits: { diskBytes: 16 * MIB },
    script: "dd if=/dev/zero of=huge bs=1M count=64 2>/dev/null",
    holds: isKilled("disk"),
    held: "one file cannot grow beyond the disk limit",
    remedy: "prlimit is missing: install the package util-linux",
  },
  {
    name: "disk limit",
    kind: "any",
    limits: { diskBytes: 24 * MIB },
    script: "i=0; while [ $i -lt 40 ]; do head -c 4M /dev/zero > part-$i; i=$((i+1)); done; sleep 30",
    timeoutMs: 25_000,
    holds: isKilled("disk"),
    held: (_, { session }) => `by ${session.enforcement.disk}`,
    remedy: "du is missing: install the package coreutils",
  },
  {
    name: "processor time",
    kind: "isolation",
    limits: { cpuSeconds: 1 },
    script: "(while :; do :; done) & while :; do :; done",
    timeoutMs: 60_000,
    holds: (result) => isKilled("timeout")(result) && result.durationMs < 40_000,
    held: (_, { session }) => `by ${session.enforcement.cpuTime}`,
    remedy: "the processor time of commands cannot be read here, so only the clock bounds it",
  },
];
