/** Attacks that write: to the host, to the app's data, to the system, by every kind of link. */

import { type CommandAttack, python } from "#test/attacks/attack.ts";

const SAME = "nothing outside the workspace has changed";

export const WRITES: readonly CommandAttack[] = [
  {
    name: "write, append, truncate and delete by absolute path",
    holds: SAME,
    script: `for root in "" /proc/1/root /proc/self/root /workspace/../..; do
  echo pwned > "$root$OUTSIDE/new"; echo pwned >> "$root$OUTSIDE/file"; : > "$root$DATA_DIR/state.db"; rm -rf "$root$OUTSIDE/directory" "$root$DATA_DIR/mirrors"
done 2>/dev/null`,
    springs: true,
  },
  {
    name: "write through a symbolic link planted in the workspace",
    fault: "C05",
    holds: SAME,
    script: `ln -sfn "$OUTSIDE/file" file; ln -sfn "$OUTSIDE" away; ln -sfn "$DATA_DIR" data
{ echo pwned > file; echo pwned > away/new; cp /etc/hostname away/new2; echo pwned > data/app.env; tar cf - file | tar xf - -C away; } 2>/dev/null
rm -f file away data`,
    springs: true,
  },
  {
    name: "take a hard link to a file of the host and write to it",
    holds: SAME,
    script: `ln "$OUTSIDE/file" hard 2>/dev/null && { echo pwned > hard; echo "BREACH link"; }
ln /etc/hosts hosts 2>/dev/null && { echo pwned >> hosts && echo "BREACH written"; }
ln -L /proc/self/exe exe 2>/dev/null && { : > exe; } 2>/dev/null && echo "BREACH program"; rm -f hard hosts exe`,
    springs: true,
  },
  {
    name: "write to the system, its programs and its settings",
    holds: "the system is read-only",
    script: `for path in / /usr /usr/bin /usr/lib /etc /etc/ld.so.preload /etc/profile.d /bin /lib /opt /srv /var /var/lib /run /mnt /home /root /sys /boot; do
  if [ -d $path ]; then { : > $path/agent-fix-pwned; } 2>/dev/null && echo "BREACH $path" && rm $path/agent-fix-pwned
  else { : > $path; } 2>/dev/null && echo "BREACH $path"; fi
done
for file in /usr/bin/env /etc/passwd /etc/hosts /etc/ld.so.cache; do { : >> $file; } 2>/dev/null && echo "BREACH $file"; done`,
  },
  {
    name: "replace the running program by /proc/self/exe and overwrite it",
    holds: "no program of the host is changed",
    script: python(`
for pid in ("self", 1, os.getppid()):
    attempt(f"exe {pid}", lambda: os.open(f"/proc/{pid}/exe", os.O_WRONLY))
    attempt(f"map {pid}", lambda: os.open(f"/proc/{pid}/root/usr/bin/env", os.O_WRONLY))
`),
  },
  {
    name: "change the kernel's settings",
    holds: "none can be written",
    script: `for file in kernel/core_pattern kernel/modprobe kernel/hotplug kernel/sysrq kernel/randomize_va_space vm/overcommit_memory vm/drop_caches net/ipv4/ip_forward fs/suid_dumpable user/max_user_namespaces kernel/ns_last_pid; do
  [ -f /proc/sys/$file ] && { : >> /proc/sys/$file; } 2>/dev/null && echo "BREACH $file"
done
[ -f /proc/sysrq-trigger ] && { echo b > /proc/sysrq-trigger; } 2>/dev/null && echo "BREACH sysrq"
{ echo 1 > /proc/1/oom_score_adj; } 2>/dev/null; [ ! -c /proc/timer_list ] && { : >> /proc/timer_list; } 2>/dev/null && echo "BREACH timer_list"; true`,
  },
  {
    name: "have a crash dump handled by the host",
    holds: "a crash leaves no dump, and runs no handler of the host",
    script: `ulimit -c unlimited 2>/dev/null && echo "BREACH the limit can be raised"
[ "$(ulimit -Hc)" = 0 ] || echo "BREACH dumps are allowed"
sh -c 'kill -SEGV $$' 2>/dev/null; ls core* 2>/dev/null && echo "BREACH a dump was written"; true`,
  },
  {
    name: "leave programs with the set-uid bit, device files and immutable files",
    holds: "no such file is made that would work on the host",
    script: `cp /bin/sh ./rootsh && chmod 6755 rootsh && ./rootsh -p -c 'id -u' | grep -qx 0 && echo "BREACH root"
for device in "b 8 0" "b 259 0" "c 1 1" "c 5 1"; do mknod ./device $device 2>/dev/null && { head -c 1 ./device >/dev/null 2>&1 && echo "BREACH $device"; rm -f device; }; done
chattr +i rootsh 2>/dev/null && echo "BREACH immutable"; setcap cap_sys_admin+ep rootsh 2>/dev/null && echo "BREACH capability"; rm -f rootsh`,
  },
  {
    name: "open files of the host by handle, past every mount (open_by_handle_at)",
    holds: "the call is refused",
    script: python(`
handle = ctypes.create_string_buffer(b"\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02" + bytes(15))
for path in ("/workspace", "/etc/hostname", "/usr"):
    directory = os.open(path, os.O_RDONLY)
    attempt(path, lambda: call(304, directory, handle, os.O_RDONLY))
`),
  },
];
