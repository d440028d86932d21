/** Conformance: what hostile code inside cannot see, reach or change. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { assertExit, caseOf, environmentOfTheApp, type Rig, type Subject } from "#test/sandbox/rig.ts";

export function isolationCases(subject: Subject, rig: () => Rig): void {
  const it = caseOf(subject, rig);

  it(
    "isolation",
    "H06: no process seen inside has the app's environment, its first one neither",
    async (rig) => {
      const { sh } = await rig.open();
      const result = await sh(
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u; ls -d /proc/[0-9]* | wc -l",
      );
      const lines = result.text.split("\n");
      for (const planted of await environmentOfTheApp()) assert.ok(!lines.includes(planted), planted);
      const first = await sh("tr '\\0' '\\n' < /proc/1/environ");
      assert.match(first.text, /^(PWD=\/\n?)?$/);
      const others = Number(result.text.trim().split("\n").at(-1));
      assert.ok(others <= 12, `${others} processes are visible`);
    },
  );

  it("isolation", "H06: files of the host and of the app are not there", async (rig) => {
    await writeFile(join(rig.dataDir, "app.env"), "PRIVATE_KEY=secret");
    const { sh } = await rig.shared();
    // An image has files of these names too; they are its own.
    const ofTheSystem = subject.system === "host" ? ["/etc/shadow", "/etc/machine-id", "/sys", "/boot"] : [];
    const paths = [
      ...ofTheSystem,
      ...["/etc/ssh", "/sys/class", "/sys/devices", "/root/.ssh", "/root/.npmrc"],
      ...[
        "/var/run/docker.sock",
        "/run/systemd",
        "~/.netrc",
        "~/.npmrc",
        "~/.gitconfig",
        "/workspace/../.env",
      ],
      ...[rig.dataDir, `/proc/1/root${rig.dataDir}`, `/proc/1/cwd${rig.dataDir}`],
    ];
    const result = await sh(`for path in ${paths.join(" ")}; do [ -e $path ] && echo "$path"; done; true`);
    assertExit(result, 0);
    assert.equal(result.text, "");
  });

  it("isolation", "H11: an install script finds an empty home and nothing to steal", async (rig) => {
    const { sh, workspace } = await rig.open();
    const preinstall =
      "env > leaked.txt; cat ~/.npmrc ~/.netrc ~/.ssh/* /root/.npmrc >> leaked.txt; ls -A ~ >> homes.txt; true";
    await writeFile(join(workspace, "package.json"), JSON.stringify({ name: "x", scripts: { preinstall } }));
    assertExit(await sh("npm install --offline"), 0);
    const leaked = await readFile(join(workspace, "leaked.txt"), "utf8");
    assert.doesNotMatch(leaked, /_authToken|PRIVATE_KEY|_auth/i);
    const lines = leaked.split("\n");
    // What npm sets for whatever it starts is the same here and there.
    const own = (entry: string) => !/^(npm_\w+|NODE|INIT_CWD|COLOR|EDITOR)=/.test(entry);
    for (const planted of (await environmentOfTheApp()).filter(own))
      assert.ok(!lines.includes(planted), planted);
  });

  it("isolation", "a link to a path of the host leads nowhere", async (rig) => {
    const { sh } = await rig.shared();
    assertExit(await sh(`ln -s /etc/shadow a; ln -s ${rig.dataDir} b; cat a || ls b/`), 2);
  });

  it(
    "isolation",
    "the network is closed: this machine, others, names, and sockets without a file",
    async (rig) => {
      const server = createServer((socket) => void socket.end("reached"));
      const abstract = createServer((socket) => void socket.end("reached"));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
      const name = `agent-fix-test-${process.pid}`;
      await new Promise<void>((resolve) => abstract.listen(`\0${name}`, () => resolve()));
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const { sh } = await rig.shared();
      const started = await sh(`
      (exec 3<>/dev/tcp/127.0.0.1/${port}) && echo host
      (exec 3<>/dev/tcp/192.0.2.1/443) && echo outside
      getent hosts example.org && echo name
      python3 - <<'END'
import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\\0${name}")
    print("abstract")
except OSError:
    pass
END
      cut -d: -f1 -s /proc/net/dev | tr -d ' '`);
      server.close();
      abstract.close();
      assert.equal(started.text.trim(), "lo");
      assert.ok(started.durationMs < 10_000, `${started.durationMs} ms`);
    },
  );

  it("isolation", "a server on loopback works inside, and another session cannot reach it", async (rig) => {
    const [one, two] = [await rig.open(), await rig.open()];
    const serve = `
import http.server, threading, urllib.request, os, time
server = http.server.HTTPServer(("127.0.0.1", 8123), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:8123/").status, flush=True)
open("ready", "w").close()
while not os.path.exists("stop"): time.sleep(0.02)`;
    const serving = one.exec(["python3", "-c", serve], { timeoutMs: 30_000 });
    await one.sh("until [ -e ready ]; do sleep 0.02; done", { timeoutMs: 20_000 });
    const other = await two.sh("(exec 3<>/dev/tcp/127.0.0.1/8123) && echo reached");
    await writeFile(join(one.workspace, "stop"), "");
    const served = await serving;
    assertExit(served, 0);
    assert.equal(served.stdout.head, "200\n");
    assert.equal(other.text, "");
  });

  it("isolation", "two sessions at once share nothing", async (rig) => {
    const [one, two] = [await rig.open(), await rig.open()];
    const running = one.sh("touch ~/s /tmp/s /dev/shm/s s; until [ -e stop ]; do sleep 0.02; done");
    await one.sh("until [ -e s ]; do sleep 0.02; done", { timeoutMs: 20_000 });
    const seen = await two.sh(
      "ls -A ~ /tmp /dev/shm /workspace | grep -x s; pgrep -x sleep; ipcs -q | grep -c 0x",
    );
    await writeFile(join(one.workspace, "stop"), "");
    assertExit(await running, 0);
    assert.equal(seen.text.trim(), "0");
  });

  it(
    "isolation",
    "the kernel's settings cannot be written and /proc offers no way to the host",
    async (rig) => {
      const before = await readFile("/proc/sys/kernel/core_pattern", "utf8");
      const { sh } = await rig.shared();
      const result = await sh(`
      for file in /proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger \
        /proc/sys/net/ipv4/ip_forward /proc/sys/user/max_user_namespaces; do
        (: >> $file) 2>/dev/null && echo "$file"
      done; true`);
      assertExit(result, 0);
      assert.equal(result.text, "");
      assert.equal(await readFile("/proc/sys/kernel/core_pattern", "utf8"), before);
    },
  );

  it("isolation", "no capability, no way to more rights, no further namespace, never uid 0", async (rig) => {
    const { sh } = await rig.shared();
    const status = await sh("cat /proc/self/status; id -u; id -un; hostname; getent passwd $(id -u)");
    assert.match(status.text, /^NoNewPrivs:\t1$/m);
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
      assert.match(status.text, new RegExp(`^${set}:\\t0+$`, "m"));
    }
    const uid = subject.system === "host" ? 1000 : (rig.sandbox.owner?.uid ?? process.getuid?.());
    assert.ok(
      status.text.endsWith(`\n${uid}\nagent\nsandbox\nagent:x:${uid}:${uid}:agent:/home/agent:/bin/bash\n`),
      status.text,
    );
    if (rig.sandbox.owner !== null) assert.equal((await sh("id -G")).text, `${uid}\n`);
    assert.notEqual((await sh("unshare -Ur true")).end, { kind: "exited", code: 0 });
    assertExit(await sh("unshare -Ur true 2>/dev/null || mount -t tmpfs x /tmp 2>/dev/null || exit 9"), 9);
    assertExit(await sh("su -c id 2>/dev/null </dev/null && exit 1; exit 0"), 0);
  });

  it(
    "isolation",
    "the system is read-only, and nothing but home, tmp and the workspace takes files",
    async (rig) => {
      const { sh } = await rig.shared();
      const result = await sh(`
      for directory in / /usr /usr/bin /etc /etc/ssl/certs /dev /opt /run /var /home /proc /root /opt/agent-fix; do
        (: > $directory/written) 2>/dev/null && echo "$directory"
      done
      for file in /usr/bin/env /etc/passwd /etc/hosts; do (: >> $file) 2>/dev/null && echo "$file"; done; true`);
      assertExit(result, 0);
      assert.equal(result.text, "");
      assertExit(await sh("! mount -o remount,rw /usr 2>/dev/null"), 0);
    },
  );

  it(
    "isolation",
    "a read-only mount cannot be written, and reserved places cannot be mounted on",
    async (rig) => {
      const { workspace: shared } = await rig.open();
      await writeFile(join(shared, "given"), "g");
      const { sh } = await rig.open({ mounts: [{ source: shared, target: "/given", mode: "ro" }] });
      assertExit(await sh("cat /given/given && ! touch /given/x 2>/dev/null"), 0);
      for (const target of [
        "/workspace/x",
        "/tmp/x",
        "/etc",
        "/",
        "relative",
        "/given/../etc",
        "/home/agent/.npm",
      ]) {
        const workspace = shared;
        const opened = await rig.sandbox.open({
          ...{ runId: "run1", phase: "agent", workspace, network: { kind: "none" }, env: {} },
          mounts: [{ source: shared, target, mode: "rw" }],
          limits: { memoryBytes: 1e9, processes: 9, diskBytes: 1e9, openFiles: 64 },
        });
        assert.equal(opened.ok, false, target);
      }
    },
  );

  it("isolation", "processes of the host cannot be seen or signalled", async (rig) => {
    const { sh } = await rig.shared();
    assertExit(await sh(`kill -0 ${process.pid} 2>/dev/null || [ -e /proc/${process.pid}/fd ]`), 1);
  });

  it("isolation", "no descriptor of the app reaches a command", async (rig) => {
    const { exec } = await rig.shared();
    const list =
      "import os\nfor fd in os.listdir('/proc/self/fd'):\n  try: print(fd, os.readlink('/proc/self/fd/' + fd))\n  except OSError: pass";
    const result = await exec(["python3", "-c", list]);
    const extra = result.stdout.head
      .trim()
      .split("\n")
      .filter((line) => !/^[012] |\/dev\/null$/.test(line));
    assert.deepEqual(extra, []);
  });

  it("isolation", "commands have no terminal", async (rig) => {
    const { sh } = await rig.shared();
    assertExit(await sh("(: < /dev/tty) 2>/dev/null || test -t 1 || exit 5"), 5);
  });
}
