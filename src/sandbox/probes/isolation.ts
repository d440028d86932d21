/** Probes: what hostile code inside must not see, reach or change. */

import { exits, type Probe, prints, textOf } from "#src/sandbox/probes/probe.ts";

const LEAVE = "do not run repositories of strangers on this machine with this sandbox, and report this";

/** Prints what it should not be able to do; nothing printed means that it holds. */
function nothing(name: string, script: string, held: string, remedy = LEAVE): Probe {
  return { name, kind: "isolation", script: `${script}\ntrue`, holds: prints(""), held, remedy };
}

export const ISOLATION_PROBES: readonly Probe[] = [
  nothing(
    "network: this machine",
    "(exec 3<>/dev/tcp/127.0.0.1/$PORT) 2>/dev/null && echo reached",
    "services of this machine are not reached",
  ),
  nothing(
    "network: others",
    "(exec 3<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo reached; (exec 3<>/dev/tcp/169.254.169.254/80) 2>/dev/null && echo metadata",
    "other machines and the cloud's metadata are not reached",
  ),
  nothing("network: names", "getent hosts example.com", "names are not resolved"),
  nothing(
    "network: devices",
    "cut -d: -f1 -s /proc/net/dev | tr -d ' ' | grep -v '^lo$'",
    "there is only loopback",
  ),
  nothing(
    "network: sockets without a file",
    "grep -o '@.*' /proc/net/unix",
    "abstract sockets of the host are not there",
  ),
  {
    name: "loopback works",
    kind: "isolation",
    script: "grep -q 127.0.0.1 /proc/net/fib_trie",
    holds: exits(0),
    held: "tests can start servers on 127.0.0.1",
    remedy: "127.0.0.1 is down inside, so tests that start servers fail: report this",
  },
  nothing(
    "the app's files",
    'for path in "$DATA_DIR" "/proc/1/root$DATA_DIR" "/proc/1/cwd$DATA_DIR"; do [ -e "$path" ] && echo "$path"; done',
    "the data directory is not there inside",
  ),
  nothing(
    "links to the host",
    'ln -sfn "$DATA_DIR" link; ls link/ 2>/dev/null; rm -f link',
    "a link to a path of the host leads nowhere",
  ),
  nothing(
    "people's files",
    "for path in /root/.ssh /root/.npmrc /root/.netrc ~/.ssh ~/.npmrc ~/.netrc ~/.gitconfig; do [ -e $path ] && echo $path; done; cat /etc/shadow 2>/dev/null",
    "keys, tokens and password hashes are not there",
  ),
  nothing(
    "engine sockets",
    "for path in /var/run/docker.sock /run/docker.sock /run/podman/podman.sock /run/containerd /run/systemd/private; do [ -e $path ] && echo $path; done",
    "no socket leads to a service with more rights",
  ),
  nothing(
    "the app's process",
    '[ -e "/proc/$APP_PID/cmdline" ] && tr "\\0" " " < "/proc/$APP_PID/cmdline" | grep -a agent-fix; set -- /proc/[0-9]*; [ $# -gt 12 ] && echo "$# processes"',
    "processes of the host cannot be seen",
  ),
  nothing(
    "environments",
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -aE '^(APP_ID|PRIVATE_KEY|WEBHOOK_SECRET|OPENAI_API_KEY|ANTHROPIC_API_KEY|GITHUB_TOKEN|DATA_DIR|DOCKER_HOST)=' | grep -av '^DATA_DIR='",
    "no process seen inside has a secret in its environment",
  ),
  nothing(
    "inherited files",
    "for fd in $(ls /proc/$$/fd | grep -vE '^(0|1|2|255)$'); do readlink /proc/$$/fd/$fd; done | grep -vE '^(pipe:|/dev/null)'",
    "no open file of the app reaches a command",
  ),
  nothing(
    "kernel settings",
    "for file in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sys/net/ipv4/ip_forward /proc/sys/user/max_user_namespaces; do (: >> $file) 2>/dev/null && echo $file; done",
    "no setting of the kernel can be written",
  ),
  nothing(
    "kernel triggers",
    "for file in /proc/sysrq-trigger /proc/kcore /dev/mem /dev/kmsg /sys/kernel/uevent_helper; do (: >> $file) 2>/dev/null && echo $file; done; dmesg 2>/dev/null | head -n 1",
    "nor its memory, messages and triggers be used",
  ),
  nothing(
    "capabilities",
    "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):' /proc/self/status | grep -v '0000000000000000'",
    "commands have none and can get none",
  ),
  {
    name: "no new privileges",
    kind: "isolation",
    script: "grep -q '^NoNewPrivs:.1' /proc/self/status",
    holds: exits(0),
    held: "programs with the set-user-id bit give nothing",
    remedy: LEAVE,
  },
  nothing("uid 0", '[ "$(id -u)" = 0 ] && echo root', "commands are not root inside either"),
  nothing(
    "further namespaces",
    "unshare -Ur true 2>/dev/null && echo user; unshare -m true 2>/dev/null && echo mount",
    "no further namespace can be made",
    "a further namespace can be made inside, which opens much of the kernel: with podman keep its seccomp.json in /usr/share/containers (package golang-github-containers-common), with bubblewrap use 0.8 or newer",
  ),
  nothing(
    "mounts",
    "mount -t tmpfs x /tmp 2>/dev/null && echo tmpfs; mount -o remount,rw / 2>/dev/null && echo remount; mount --bind / ~ 2>/dev/null && echo bind",
    "nothing can be mounted",
  ),
  nothing(
    "devices",
    "find /dev -type b; mknod ~/null c 1 3 2>/dev/null && echo made; ls /dev/sd* /dev/vd* /dev/nvme* /dev/kvm /dev/fuse 2>/dev/null",
    "no disk and no device of the host is there or can be made",
  ),
  nothing(
    "read-only system",
    "for directory in / /usr /usr/bin /etc /dev /opt /run /var /home /proc /sys; do (: > $directory/written) 2>/dev/null && echo $directory; done; (: >> /etc/passwd) 2>/dev/null && echo passwd",
    "only home, tmp and the workspace take files",
  ),
  nothing(
    "other commands' files",
    "ls -A /dev/shm; ls -A /dev/mqueue 2>/dev/null",
    "shared memory starts empty",
  ),
  {
    name: "name of the machine",
    kind: "isolation",
    script: "cat /proc/sys/kernel/hostname",
    holds: (result) => textOf(result) === "sandbox\n",
    held: "the host's name is hidden",
    remedy: "the host's name is seen inside: harmless, but report this",
  },
];
