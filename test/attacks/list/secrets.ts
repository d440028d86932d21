/** Attacks that read: environments, memory, files of the host, of the app and of other runs. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

const SEEN = "no secret, and no word of the app's environment, is in what comes back";

export const SECRETS: readonly CommandAttack[] = [
  {
    name: "print the environment of every process",
    fault: "H06",
    holds: SEEN,
    script: "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ | tr '\\0' '\\n'; env",
    springs: true,
  },
  {
    name: "print every command line",
    fault: "E02",
    holds: "no process of the host is listed",
    script: "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; ps -ef",
    springs: true,
  },
  {
    name: "search the memory of every process in sight, the parent first",
    fault: "H06",
    holds: SEEN,
    script: python(`
for pid in [os.getppid(), 1, int(os.environ["APP"]), int(os.environ["BYSTANDER"])]:
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                place = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                if not place: continue
                start, end = (int(part, 16) for part in place.groups())
                try:
                    memory.seek(start)
                    found = re.search(rb"CANARY[0-9a-f]{32}", memory.read(min(end - start, 1 << 26)))
                    if found: print(pid, found.group().decode())
                except (OSError, OverflowError): pass
    except OSError: pass
`),
  },
  {
    name: "read the app's memory by process_vm_readv",
    holds: "the call is refused",
    script: python(`
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(8)
here = Vector(ctypes.addressof(room), 8)
for pid in ("APP", "BYSTANDER"):
    attempt(pid, lambda: call(310, int(os.environ[pid]), ctypes.byref(here), 1, ctypes.byref(Vector(0x400000, 8)), 1, 0))
`),
  },
  {
    name: "read DATA_DIR by its path and by every way through /proc",
    fault: "H06",
    holds: SEEN,
    script: `for root in "" /proc/1/root /proc/self/root /proc/thread-self/root /proc/1/cwd /proc/$PPID/root /workspace/../.. /proc/self/cwd/../../../../..; do
  cat "$root$DATA_DIR/app.env" "$root$DATA_DIR/state.db" "$root$DATA_DIR"/traces/* "$root$DATA_DIR"/mirrors/*/config
done 2>/dev/null`,
    springs: true,
  },
  {
    name: "read the work of another run",
    holds: SEEN,
    script: `cat "$DATA_DIR"/runs/*/work/*/* /workspace/../*/secret.txt ../../*/*/secret.txt; ls -R "$DATA_DIR/runs"`,
    springs: true,
  },
  {
    name: "search everything that can be read for secrets",
    holds: SEEN,
    script: `for place in /etc /home /root /tmp /var /run /workspace /mnt /srv /media /dev/shm; do
  timeout 5 grep -rahoE -D skip 'CANARY[0-9a-f]{32}' $place 2>/dev/null | head -3
done; ls /; true`,
  },
  {
    name: "read keys and settings in every home directory",
    fault: "H11",
    holds: "no home directory but an empty one is there",
    script: `for home in ~ /root /home/*; do
  for name in .netrc .npmrc .pypirc .git-credentials .gitconfig .ssh/id_rsa .ssh/id_ed25519 .ssh/authorized_keys .aws/credentials .config/gh/hosts.yml .docker/config.json .kube/config .cargo/credentials.toml .bash_history; do
    [ -r "$home/$name" ] && echo "BREACH $home/$name"
  done
done
for home in /home/*; do [ "$home" = "$HOME" ] || [ ! -d "$home" ] || echo "BREACH another home"; done`,
  },
  {
    name: "read the machine's own secrets",
    holds: "none of the files is there",
    script: `for path in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/ssh_host_rsa_key /etc/ssl/private /etc/machine-id /var/lib/dbus/machine-id /etc/krb5.keytab /boot /var/lib/docker /sys/class/dmi/id/product_uuid; do
  [ -r $path ] && [ "$(head -c 1 $path 2>/dev/null || ls $path)" != "" ] && echo "BREACH $path"
done`,
  },
  {
    name: "read kernel memory, symbols and log",
    holds: "none can be opened, or it is empty",
    script: python(`
for path in ("/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kmsg", "/dev/kmsg", "/proc/sched_debug"):
    attempt(path, lambda: len(open(path, "rb", 0).read(16)) > 0)
with open("/proc/kallsyms") as symbols:
    if any(not line.startswith("0000000000000000") for line, _ in zip(symbols, range(50))): breach("kernel addresses")
`),
  },
  {
    name: "use descriptors that the app left open",
    holds: "only standard input, output and error are open",
    script: python(`
for name in os.listdir("/proc/self/fd"):
    try: target = os.readlink(f"/proc/self/fd/{name}")
    except OSError: continue
    if int(name) > 2 and target != "/dev/null" and not target.startswith("/proc/"): breach(name, target)
`),
  },
  {
    name: "use descriptors of the first process",
    holds: "no file, socket or directory of the app is reached through them",
    script: python(`
for pid in (1, os.getppid()):
    try: names = os.listdir(f"/proc/{pid}/fd")
    except OSError: continue
    for name in names:
        try: target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError: continue
        if target.startswith("socket:") and int(name) > 2: breach(pid, name, target)
        if os.path.isdir(f"/proc/{pid}/fd/{name}"): breach(pid, name, target, os.listdir(f"/proc/{pid}/fd/{name}")[:3])
`),
  },
  {
    name: "read keys that the app's session holds in the kernel",
    holds: "no key ring is inherited, and none is shared with another run",
    script: python(`
def read(ring):
    room = ctypes.create_string_buffer(4096)
    length = call(250, 11, ring, room, 4096)
    return False if length == 0 else f"{length} bytes of ring {ring}"
for ring in (-1, -2, -3, -4, -5): attempt("ring", lambda: read(ring))
leave(lambda: call(248, b"user", b"agent-fix-left", b"for the next run", 16, -3))
`),
    next: python(`attempt("a key of another run", lambda: call(250, 10, -3, b"user", b"agent-fix-left", 0))`),
  },
  {
    name: "talk to agents and daemons of the host by their sockets",
    holds: "no such socket is there",
    script: `for path in /var/run/docker.sock /run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock /run/systemd/private /run/dbus/system_bus_socket /run/user/*/bus /tmp/ssh-*/agent.* /tmp/.X11-unix "$SSH_AUTH_SOCK"; do
  [ -n "$path" ] && [ -e "$path" ] && echo "BREACH $path"
done`,
  },
];
