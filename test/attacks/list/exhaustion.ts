/** Attacks that use something up or stay behind: bombs of every kind, and daemons. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

const BOUNDED = "the limit stops it, nothing of it lives on, and the next command works";
const GONE = "nothing of it lives when the call returns";

export const EXHAUSTION: readonly CommandAttack[] = [
  {
    name: "fork bomb",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 3_000,
    script: "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 2",
  },
  {
    name: "thread bomb",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 4_000,
    script: python(`
import threading, time
try:
    for _ in range(5000): threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
    breach("5000 threads")
except RuntimeError: pass
os._exit(0)
`),
  },
  {
    name: "memory bomb",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 15_000,
    script: python(`
blocks = []
for _ in range(40): blocks.append(bytearray(os.urandom(1 << 16)) * 512)
breach("1.3 GB")
`),
  },
  {
    name: "memory bomb spread over many processes",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 8_000,
    script: `for n in $(seq 12); do python3 -c "
import time
block = bytearray(b'x' * (40 << 20)); time.sleep(2)
open('/workspace/alive-$n', 'w').close()" & done; wait
[ "$(ls alive-* 2>/dev/null | wc -l)" -lt 12 ] || echo "BREACH 480 MB"; rm -f alive-*`,
  },
  {
    name: "memory bomb in /dev/shm",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 15_000,
    script: `head -c 900M /dev/zero > /dev/shm/big 2>/dev/null; [ "$(stat -c %s /dev/shm/big 2>/dev/null || echo 0)" -lt 900000000 ] || echo "BREACH 900 MB"`,
  },
  {
    name: "disk bomb in the workspace, in home and in /tmp",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 30_000,
    script: `for n in 1 2 3 4 5 6 7 8; do for place in /workspace ~ /tmp; do head -c 40M /dev/zero > $place/fill-$n 2>/dev/null; done; done; sleep 3
[ "$(du -sm /workspace | cut -f1)" -lt 320 ] || echo "BREACH 320 MB"`,
  },
  {
    name: "one sparse file of a terabyte",
    holds: "the size of one file has a limit",
    script: `truncate -s 1T sparse 2>/dev/null && echo "BREACH 1 TB"; rm -f sparse; true`,
  },
  {
    name: "inode bomb: empty files without end",
    holds: BOUNDED,
    heavy: true,
    timeoutMs: 60_000,
    script: python(`
import time
for d in range(300):
    os.makedirs(f"/workspace/many/{d}", exist_ok=True)
    for n in range(1000): open(f"/workspace/many/{d}/{n}", "w").close()
time.sleep(5)
breach("300000 files")
`),
  },
  {
    name: "thousands of empty files in directories deeper than any path may be",
    holds: "the session ends, and its clean-up removes them all",
    heavy: true,
    timeoutMs: 20_000,
    script: python(`
for d in range(15):
    os.makedirs(f"/workspace/many/{d}/" + "x" * 200 + "/" + "y" * 200, exist_ok=True)
    for n in range(1000): open(f"/workspace/many/{d}/{n}", "w").close()
os.chdir("/workspace/many")
for _ in range(300):
    os.mkdir("d" * 100); os.chdir("d" * 100)
`),
  },
  {
    name: "output bomb",
    fault: "D06",
    holds: "the app's memory stays flat, and head and tail come back",
    script: "head -c 300000000 /dev/zero | tr '\\0' 'x'; yes | head -c 100000000 >&2",
    timeoutMs: 30_000,
  },
  {
    name: "log bomb: a million short lines, terminal codes among them",
    fault: "D06",
    holds: "the app's memory stays flat",
    script: `${python(`
line = b"\\x1b[2J\\x1b]0;title\\x07\\r\\n\\xff\\xfe" * 100
for _ in range(10000): os.write(1, line)
`)}`,
    timeoutMs: 30_000,
  },
  {
    name: "descriptor bomb",
    holds: "the number of open files has a limit",
    script: python(`
try:
    opened = [open("/dev/null") for _ in range(200000)]
    breach("200000 files")
except OSError: pass
`),
  },
  {
    name: "pipe, lock, watch and timer bombs",
    holds: "what they use counts against the session, and is gone with it",
    script: python(`
try:
    made = []
    for _ in range(100000): made.append(os.pipe())
    breach("200000 pipe ends")
except OSError: pass
`),
  },
  {
    name: "a daemon that left its session and closed its descriptors",
    fault: "D01",
    holds: GONE,
    script: `(setsid sh -c 'exec </dev/null >/dev/null 2>&1; trap "" TERM HUP INT; while :; do sleep 1; done' &) ; (setsid setsid nohup sleep 300 >/dev/null 2>&1 &)
perl -e 'use POSIX; exit if fork; POSIX::setsid(); exit if fork; close STDIN; close STDOUT; close STDERR; sleep 300'`,
  },
  {
    name: "a background process that keeps the output open",
    fault: "D02",
    holds: "the call returns with the shell, not with the process",
    timeoutMs: 8_000,
    script: "(while :; do echo x; sleep 0.2; done) & echo started",
  },
  {
    name: "a command that ignores every signal it can",
    fault: "D09",
    holds: GONE,
    heavy: true,
    timeoutMs: 1_500,
    script: `trap '' TERM HUP INT QUIT USR1 USR2 ALRM PIPE; while :; do sleep 0.2; done`,
  },
  {
    name: "a stopped process that cannot answer",
    holds: GONE,
    heavy: true,
    timeoutMs: 1_500,
    script: `sh -c 'kill -STOP $$' & sleep 0.2; kill -STOP $$`,
  },
  {
    name: "freeze the first process by tracing it",
    holds: "the time-out ends it all the same",
    heavy: true,
    timeoutMs: 2_000,
    script: python(`
import time
try: call(101, 16, 1, 0, 0)
except OSError: pass
time.sleep(30)
`),
  },
  {
    name: "wait for an answer at standard input",
    fault: "D04",
    holds: "it reads end of file at once",
    timeoutMs: 8_000,
    script: `read -r answer && echo "BREACH $answer"; cat; python3 -c 'import sys; sys.exit(len(sys.stdin.read()))'`,
  },
  {
    name: "a very long command line and a very large environment",
    holds: "it fails or works, and the session goes on",
    script: `big=$(head -c 120000 /dev/zero | tr '\\0' x); for n in 1 2 3 4 5 6 7 8; do export BIG$n=$big; done; /bin/true $big $big 2>/dev/null; unset BIG1 BIG2 BIG3 BIG4 BIG5 BIG6 BIG7 BIG8; true`,
  },
];
