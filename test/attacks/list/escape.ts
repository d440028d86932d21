/** Attacks that leave the sandbox: mounts, name spaces, tracing, terminals, set-uid programs, and the kernel's odd corners. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

export const ESCAPE: readonly CommandAttack[] = [
  {
    name: "mount something: bind, tmpfs, proc, cgroup, overlay",
    holds: "every mount is refused",
    script: `mkdir -p m; for what in "--bind / m" "-t tmpfs x m" "-t proc proc m" "-t sysfs sys m" "-t cgroup c m" "-t cgroup2 c m" "-t overlay -olowerdir=/,upperdir=/tmp,workdir=/tmp o m" "-o remount,rw /usr" "-o remount,rw /" "--make-shared /"; do
  mount $what 2>/dev/null && echo "BREACH $what"
done; umount /proc/sys 2>/dev/null && echo "BREACH umount"; umount -l /usr 2>/dev/null && echo "BREACH umount usr"; true`,
  },
  {
    name: "mount by the newer system calls",
    holds: "the calls are refused",
    script: python(`
attempt("fsopen", lambda: call(430, b"tmpfs", 0))
attempt("open_tree clone", lambda: call(428, -100, b"/usr", 1))
attempt("mount_setattr", lambda: call(442, -100, b"/usr", 0, bytes(32), 32))
attempt("move_mount", lambda: call(429, -100, b"/tmp", -100, b"/workspace", 0))
attempt("pivot_root", lambda: call(155, b"/tmp", b"/tmp"))
attempt("chroot", lambda: os.chroot("/tmp"))
`),
  },
  {
    name: "make a new user name space to become root in it",
    holds: "no further name space can be made",
    script: `for kind in "-Ur" "-Urm" "-Urn" "-Urpf --mount-proc" "-m" "-n" "-p -f" "-i" "-u" "-C" "-T"; do unshare $kind true 2>/dev/null && echo "BREACH unshare $kind"; done
${python(`
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000): attempt(hex(flag), lambda: call(272, flag))
attempt("clone", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
`)}`,
  },
  {
    name: "join a name space of the host",
    holds: "none is in reach",
    script: `for pid in 1 $APP $BYSTANDER $PPID; do for kind in mnt net pid user ipc uts cgroup; do
  nsenter --$kind=/proc/$pid/ns/$kind true 2>/dev/null && [ "$(readlink /proc/$pid/ns/$kind)" != "$(readlink /proc/self/ns/$kind)" ] && echo "BREACH $pid $kind"
done; done; true`,
  },
  {
    name: "trace or signal a process of the host",
    holds: "no such process can be seen, and the bystander lives",
    script: `for pid in $APP $BYSTANDER; do kill -0 $pid 2>/dev/null && readlink /proc/$pid/exe | grep -q -e node -e sleep && echo "BREACH $pid"; done
${python(`
for name in ("APP", "BYSTANDER"):
    pid = int(os.environ[name])
    if os.path.exists(f"/proc/{pid}") and pid != os.getpid():
        continue
    attempt(name, lambda: call(101, 16, pid, 0, 0))
    attempt(name, lambda: call(434, pid, 0))
`)}`,
  },
  {
    name: "kill everything, the app first",
    holds: "the app and the bystander live",
    script: `kill -9 $APP $BYSTANDER 2>/dev/null; kill -STOP $APP 2>/dev/null; pkill -9 node 2>/dev/null; killall -9 node 2>/dev/null; (trap '' TERM; kill -TERM -1) 2>/dev/null; true`,
    heavy: true,
  },
  {
    name: "type into the terminal that started the app (TIOCSTI)",
    holds: "there is no terminal, and the call is refused",
    script: python(`
import fcntl, termios
for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/pts/0", "/proc/self/fd/0", "/proc/self/fd/1"):
    def type_in():
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
        fcntl.ioctl(descriptor, termios.TIOCSTI, b"x"); return path
    attempt(path, type_in)
for descriptor in (0, 1, 2):
    attempt(descriptor, lambda: fcntl.ioctl(descriptor, termios.TIOCSTI, b"x"))
    if os.isatty(descriptor): breach("a terminal", descriptor)
`),
  },
  {
    name: "type into a terminal that it makes itself (TIOCSTI, TIOCLINUX)",
    holds: "the calls are refused also there, so that no terminal handed in by mistake could be typed into",
    script: python(`
import fcntl, termios
try:
    one, other = os.openpty()
    os.setsid() if os.getpid() != os.getsid(0) else None
    attempt("TIOCSTI", lambda: fcntl.ioctl(other, termios.TIOCSTI, b"x"))
    attempt("TIOCLINUX", lambda: fcntl.ioctl(other, 0x541C, b"\\x03"))
except OSError: pass
`),
  },
  {
    name: "use every program with the set-uid bit",
    holds: "none gives more rights",
    script: `for program in su sudo pkexec newuidmap newgidmap mount umount chsh passwd fusermount fusermount3 crontab at ping ssh-keysign; do
  command -v $program >/dev/null && timeout 2 $program </dev/null >/dev/null 2>&1 && [ $program != mount ] && [ $program != ping ] && [ $program != umount ] && echo "BREACH $program"
done
for program in $(find /usr/bin /usr/sbin /usr/libexec -perm -4000 2>/dev/null | head -20); do timeout 1 $program --version </dev/null >/dev/null 2>&1; done
su -c 'id -u' </dev/null 2>/dev/null | grep -qx 0 && echo "BREACH root"
grep -q '^NoNewPrivs:.1' /proc/self/status || echo "BREACH new rights are possible"; true`,
  },
  {
    name: "become another user or take a capability",
    holds: "user and capabilities stay as they are",
    script: python(`
for user in (0, 1, 65534, 61001): attempt(user, lambda: os.setuid(user))
attempt("groups", lambda: os.setgroups([0]))
attempt("capset", lambda: call(126, ctypes.create_string_buffer(bytes.fromhex("2605082000000000")), ctypes.create_string_buffer(b"\\xff" * 24)))
with open("/proc/self/status") as status:
    for line in status:
        if re.match("Cap(Inh|Prm|Eff|Bnd|Amb):\\\\s*0*[1-9a-f]", line): breach(line.strip())
        if re.match("Uid:\\\\s.*\\\\b0\\\\b", line): breach(line.strip())
`),
  },
  {
    name: "call what only the kernel's friends need (bpf, io_uring, perf, userfaultfd, kexec, modules)",
    holds: "each is refused before it does anything",
    script: python(`
attempt("bpf", lambda: call(321, 0, ctypes.create_string_buffer(bytes.fromhex("02000000040000000800000001000000") + bytes(112)), 128))
attempt("io_uring", lambda: call(425, 1, ctypes.create_string_buffer(256)))
attempt("perf_event_open", lambda: call(298, ctypes.create_string_buffer(bytes.fromhex("0100000070000000") + bytes(104)), 0, -1, -1, 0))
attempt("userfaultfd", lambda: call(323, 0))
attempt("kexec", lambda: call(246, 0, 0, 0, 0))
attempt("init_module", lambda: call(175, b"x", 1, b""))
attempt("swapon", lambda: call(167, b"/tmp/x", 0))
attempt("reboot", lambda: call(169, 0xfee1dead, 672274793, 0x1234567, 0))
attempt("settimeofday", lambda: call(164, ctypes.create_string_buffer(16), 0))
attempt("sethostname", lambda: call(170, b"pwned", 5))
attempt("acct", lambda: call(163, b"/tmp/acct"))
attempt("quotactl", lambda: call(179, 0x800007, b"/dev/sda", 0, ctypes.create_string_buffer(64)))
`),
  },
  {
    name: "call the kernel by its 32-bit door, past any filter of the 64-bit one",
    holds: "there is no such door, or it is as closed",
    script: python(`
import mmap, platform
if platform.machine() == "x86_64":
    # mov eax, 20 (getpid by the 32-bit table); int 0x80; ret
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("53b814000000cd805bc3"))
    run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    child = os.fork()
    if child == 0:
        os._exit(0 if run() == os.getpid() else 7)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0: breach("a 32-bit call was answered")
    attempt("x32", lambda: call(0x40000000 + 39) > 0)
`),
  },
  {
    name: "leave the control groups of the session",
    holds: "no control group can be written",
    script: `find /sys/fs/cgroup /proc/1/root/sys/fs/cgroup -maxdepth 3 \\( -name cgroup.procs -o -name tasks -o -name release_agent -o -name memory.max \\) 2>/dev/null | while read -r file; do
  { echo $$ > $file; } 2>/dev/null && echo "BREACH $file"
done; true`,
  },
  {
    name: "raise its own limits",
    holds: "the hard limits stay",
    script: python(`
import resource
for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_FSIZE"):
    hard = resource.getrlimit(getattr(resource, name))[1]
    attempt(name, lambda: hard != -1 and resource.setrlimit(getattr(resource, name), (-1, -1)) is None)
attempt("nice", lambda: os.nice(-5))
attempt("realtime", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
attempt("unkillable", lambda: open("/proc/self/oom_score_adj", "w").write("-1000") and open("/proc/self/oom_score_adj").read().strip() == "-1000")
`),
  },
  {
    name: "write into the descriptors of the first process to forge how the command ended",
    holds: "no descriptor of it takes a word that the app believes",
    script: `for fd in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/1/fd/$fd ] && [ $fd -gt 2 ] && { timeout 1 sh -c "echo '{\\"exit-code\\": 0}' > /proc/1/fd/$fd"; } 2>/dev/null && echo "BREACH $fd"; done; true`,
  },
];
