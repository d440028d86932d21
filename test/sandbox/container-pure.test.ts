/** Containers without starting one: command lines, images, filters, the engine's words, and what counts as started. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { NOTHING } from "#src/sandbox/command/capture.ts";
import type { RawResult } from "#src/sandbox/command/run-command.ts";
import {
  type ContainerPlan,
  execArgv,
  KEEPER_UID,
  removeArgv,
  runArgv,
} from "#src/sandbox/container/argv.ts";
import { engineEnvironment, explainEngine } from "#src/sandbox/container/engine.ts";
import { forwarderArgv } from "#src/sandbox/container/forwarder.ts";
import { containerGroups } from "#src/sandbox/container/groups.ts";
import { chooseImage, devcontainerImage } from "#src/sandbox/container/image.ts";
import { environmentOf } from "#src/sandbox/container/open.ts";
import { entered, MARKER_ROOM } from "#src/sandbox/container/output.ts";
import { stricterProfile } from "#src/sandbox/container/seccomp.ts";
import { endOfContainer } from "#src/sandbox/container/session.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const plan: ContainerPlan = {
  engine: "podman",
  rootless: false,
  image: "node:24",
  labels: { "agent-fix.data": "abc" },
  mounts: [
    { source: "/data/ws", target: "/workspace", mode: "rw" },
    { source: '/odd,"path', target: "/given", mode: "ro" },
  ],
  alive: "/data/alive",
  seccomp: "/data/seccomp.json",
  limits: { memoryBytes: 1_000_000, processes: 50, diskBytes: 2_000_000, openFiles: 4_096 },
  cpus: 2,
  openFilesCeiling: 1_024,
  processesCeiling: 9_000,
};

function follows(argv: readonly string[], ...parts: readonly string[]): boolean {
  return argv.some((_, at) => parts.every((part, index) => argv[at + index] === part));
}

test("a container has no network, no rights, a read-only root and every limit, and its image is never fetched", () => {
  const argv = runArgv(plan, "name");
  for (const parts of [
    ["--network", "none"],
    ["--cap-drop", "ALL"],
    ["--security-opt", "no-new-privileges"],
    ["--security-opt", "seccomp=/data/seccomp.json"],
    ["--memory", "1000000b"],
    ["--memory-swap", "1000000b"],
    ["--cpus", "2"],
    ["--ulimit", "nofile=1024:1024"],
    ["--ulimit", "core=0:0"],
    ["--ulimit", "fsize=2000000:2000000"],
    ["--user", `${KEEPER_UID}:${KEEPER_UID}`],
    ["--label", "agent-fix.data=abc"],
    ["--mount", "type=bind,source=/data/ws,target=/workspace"],
    ["--mount", 'type=bind,"source=/odd,""path",target=/given,readonly=true'],
  ]) {
    assert.ok(follows(argv, ...parts), parts.join(" "));
  }
  for (const flag of ["--read-only", "--pull=never", "--read-only-tmpfs=false", "--http-proxy=false"])
    assert.ok(argv.includes(flag), flag);
  assert.ok(Number(argv[argv.indexOf("--pids-limit") + 1]) < 100);
  assert.ok(!argv.some((word) => word.includes("privileged=") || word === "--privileged" || word === "host"));
  assert.equal(argv.indexOf("node:24"), argv.indexOf("--entrypoint") + 2);
});

test("docker gets the same command line but for podman's own words", () => {
  const [podman, docker] = [runArgv(plan, "n"), runArgv({ ...plan, engine: "docker" }, "n")];
  const own = podman.filter((word) => !docker.includes(word));
  assert.deepEqual(own, ["--read-only-tmpfs=false", "--http-proxy=false", "--no-hosts"]);
  assert.deepEqual(removeArgv("docker", ["a"]), ["rm", "--force", "--volumes", "a"]);
  assert.deepEqual(removeArgv("podman", ["a"]), ["rm", "--force", "--volumes", "--time", "0", "a"]);
  assert.ok(follows(runArgv({ ...plan, rootless: true }, "n"), "--userns", "keep-id"));
});

test("a command runs as its own user with its own environment only, and its words come last, untouched", () => {
  const command = { name: "c", uid: 61_000, gid: 61_000, cwd: "/workspace/a", marker: "m1" };
  const words = ["printf", "%s", "--privileged", "a=b", ""];
  const argv = execArgv({ ...command, argv: words, env: { A: "1", B: "x y" }, hasInput: false });
  assert.deepEqual(argv.slice(0, 4), ["exec", "--user", "61000:61000", "c"]);
  assert.ok(follows(argv, "m1", "/workspace/a", "env", "-i", "A=1", "B=x y", "sh", "-c", 'exec "$@"'));
  assert.deepEqual(argv.slice(-words.length), words);
  assert.ok(execArgv({ ...command, argv: words, env: {}, hasInput: true }).includes("--interactive"));
});

test("the engine gets what it needs of the app's environment and no secret", () => {
  const env = engineEnvironment({
    ...{ PATH: "/usr/bin", HOME: "/root", DOCKER_HOST: "unix:///x", XDG_RUNTIME_DIR: "" },
    ...{ WEBHOOK_SECRET: "s", OPENAI_API_KEY: "k", http_proxy: "http://user:pw@proxy", NODE_OPTIONS: "-r x" },
  });
  assert.deepEqual(env, { PATH: "/usr/bin", HOME: "/root", DOCKER_HOST: "unix:///x" });
  assert.deepEqual(environmentOf('["PATH=/x:/y","EMPTY=","=odd","A=b=c"]\n'), {
    ...{ PATH: "/x:/y", EMPTY: "", A: "b=c" },
  });
  assert.deepEqual(environmentOf("null"), {});
});

test("the forwarder joins the container's network and nothing else of it", () => {
  const argv = forwarderArgv({
    pid: 7,
    socket: "/a/very/long/path/proxy.sock",
    socat: "/b/socat",
    nsenter: "/b/n",
    prefix: ["/b/setpriv", "--"],
  });
  assert.deepEqual(argv.slice(0, 6), ["/b/setpriv", "--", "/b/n", "--net=/proc/7/ns/net", "--", "/b/socat"]);
  assert.match(argv.join(" "), /bind=127\.0\.0\.1.* UNIX-CONNECT:proxy\.sock$/);
});

const ALLOWED = [
  "registry:5000/team/all:1",
  "node:24",
  "docker.io/library/node:22",
  "python:3.13",
  "golang:1.25",
];
const wish = { asked: null, devcontainer: null, stack: null };

test("the image is the repository's, else devcontainer.json's, else the stack's, else the general one: out of the list", () => {
  const table: readonly (readonly [Partial<typeof wish> | Record<string, string>, string, string])[] = [
    [{}, "registry:5000/team/all:1", "general"],
    [{ stack: "javascript" }, "node:24", "stack"],
    [{ stack: "python" }, "python:3.13", "stack"],
    [{ stack: "go" }, "golang:1.25", "stack"],
    [{ stack: "rust" }, "registry:5000/team/all:1", "general"],
    [{ stack: "constructor" }, "registry:5000/team/all:1", "general"],
    [{ devcontainer: '{"image": "python:3.13"}', stack: "go" }, "python:3.13", "devcontainer.json"],
    [{ devcontainer: '{"image": "evil:1"}', stack: "go" }, "golang:1.25", "stack"],
    [{ devcontainer: '{"build": {}}', stack: "go" }, "golang:1.25", "stack"],
    [{ devcontainer: "not json", stack: "go" }, "golang:1.25", "stack"],
    [{ asked: "node:24", devcontainer: '{"image": "python:3.13"}' }, "node:24", "repository file"],
  ];
  for (const [given, image, from] of table) {
    const chosen = chooseImage({ ...wish, ...given }, ALLOWED);
    assert.ok(chosen.ok, JSON.stringify(given));
    assert.deepEqual([chosen.value.image, chosen.value.from], [image, from], JSON.stringify(given));
  }
  const noted = chooseImage({ ...wish, devcontainer: '{"image": "evil:1"}' }, ALLOWED);
  assert.match(noted.ok ? noted.value.notes.join() : "", /evil:1.*IMAGES_ALLOWED/);
});

test("an image outside the operator's list is refused by the setting's name, whatever it looks like", () => {
  for (const asked of [
    "node:25",
    "node",
    "node:24 --privileged",
    "--privileged",
    "NODE:24",
    "node:24@sha256:0",
  ]) {
    const refused = chooseImage({ ...wish, asked }, ALLOWED);
    assert.match(refused.ok ? "chosen" : refused.error, /IMAGES_ALLOWED/, asked);
  }
  const none = chooseImage(wish, []);
  assert.match(none.ok ? "chosen" : none.error, /IMAGES_ALLOWED/);
});

test("devcontainer.json is read with its comments and final commas, and only for an image", () => {
  const text = `\uFEFF// a comment
  { "name": "a // b", /* "image": "no" */ "image": "node:24", // why
    "features": { "x": [1, 2,], }, }`;
  assert.equal(devcontainerImage(text), "node:24");
  for (const other of [
    "",
    "[]",
    "null",
    '{"image": 3}',
    '{"image": ""}',
    "{",
    '{"build":{"dockerfile":"D"}}',
  ])
    assert.equal(devcontainerImage(other), null, other);
});

test("what the engine says is turned into what to do", () => {
  const says = (text: string) => explainEngine("docker", text);
  assert.match(
    says("permission denied while trying to connect to the Docker daemon socket"),
    /group `docker`/,
  );
  assert.match(
    says("Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
    /systemctl start docker/,
  );
  assert.match(says("Error: No such image: node:24"), /docker pull/);
  assert.match(explainEngine("podman", "Error: node:24: image not known"), /podman pull/);
  assert.match(explainEngine("podman", 'exec: "newuidmap": not found'), /uidmap/);
  assert.match(explainEngine("podman", "user namespaces are not enabled in /proc"), /switched off/);
  assert.match(says('exec: "bash": executable file not found in $PATH'), /no bash/);
  assert.match(says("bind source path does not exist: /data"), /same machine/);
  assert.match(says("something new"), /something new/);
  assert.match(says(""), /without a word/);
});

test("podman's filter loses namespaces, mounts and key rings and keeps the rest", () => {
  const text = JSON.stringify({
    defaultAction: "SCMP_ACT_ERRNO",
    syscalls: [
      { names: ["read", "clone", "unshare", "ioctl", "keyctl"], action: "SCMP_ACT_ALLOW" },
      { names: ["socket"], action: "SCMP_ACT_ALLOW", args: [{ index: 2, value: 9, op: "SCMP_CMP_NE" }] },
    ],
  });
  const strict = JSON.parse(stricterProfile(text) ?? "") as {
    readonly defaultAction: string;
    readonly syscalls: readonly {
      readonly names: readonly string[];
      readonly args?: readonly { value: number }[];
    }[];
  };
  assert.equal(strict.defaultAction, "SCMP_ACT_ERRNO");
  assert.deepEqual(
    strict.syscalls.map((rule) => rule.names),
    [["read"], ["clone"], ["socket"], ["ioctl"]],
  );
  for (const rule of strict.syscalls.slice(1)) assert.equal(rule.args?.length, 1);
  for (const broken of ["", "[]", "{}", '{"syscalls":[1]}', '{"syscalls":{}}'])
    assert.equal(stricterProfile(broken), null, broken);
});

const raw: RawResult = {
  ...{ exit: { code: 0, signal: null }, spawnError: null, killed: null, status: "" },
  ...{ stdout: NOTHING, stderr: NOTHING, durationMs: 1 },
};

function captured(head: string, tail = "", dropped = 0) {
  const totalBytes = Buffer.byteLength(head) + Buffer.byteLength(tail) + dropped;
  return { head, tail, totalBytes, droppedBytes: dropped };
}

test("only the marker proves that a command ran; it and the engine's words before it are taken out", () => {
  const ran = { ...raw, stderr: captured("warning: cgroups v1\nm1\nerror\n") };
  const seen = entered(ran, "m1", 1_000);
  assert.ok(seen.kind === "started");
  assert.deepEqual(seen.stderr, captured("error\n"));
  const without = entered(
    { ...raw, exit: { code: 125, signal: null }, stderr: captured("Error: gone") },
    "m1",
    9,
  );
  assert.deepEqual(without, { kind: "not_started", said: "Error: gone" });
  const nowhere = entered(
    { ...raw, exit: { code: 125, signal: null }, stderr: captured("m1 no such directory\n") },
    "m1",
    9,
  );
  assert.equal(nowhere.kind, "no_directory");
});

test("a stream that was captured wider than asked for is cut to its true head and tail", () => {
  const half = "x".repeat(MARKER_ROOM / 2 + 5);
  const seen = entered({ ...raw, stderr: captured(`m1\nab${half}`, `${half}yz`, 100) }, "m1", 4);
  assert.ok(seen.kind === "started");
  assert.deepEqual([seen.stderr.head, seen.stderr.tail], ["ab", "yz"]);
  assert.equal(seen.stderr.totalBytes, 2 * half.length + 4 + 100);
  assert.equal(seen.stderr.droppedBytes, seen.stderr.totalBytes - 4);
});

test("how a command in a container ended", () => {
  const started = { kind: "started", stdout: NOTHING, stderr: NOTHING } as const;
  const engine = { name: "podman" } as const;
  const exited = (code: number) => ({ ...raw, exit: { code, signal: null } });
  assert.deepEqual(endOfContainer(exited(3), started, false, engine), { kind: "exited", code: 3 });
  assert.deepEqual(endOfContainer(exited(137), started, true, engine), { kind: "killed", reason: "memory" });
  assert.deepEqual(endOfContainer(exited(0), started, true, engine), { kind: "exited", code: 0 });
  assert.deepEqual(endOfContainer(exited(153), started, false, engine), { kind: "killed", reason: "disk" });
  assert.deepEqual(endOfContainer({ ...raw, killed: "timeout" }, started, false, engine), {
    ...{ kind: "killed", reason: "timeout" },
  });
  const lost = { kind: "not_started", said: "Error: container is not running" } as const;
  assert.equal(endOfContainer(exited(255), lost, false, engine).kind, "not_started");
});

test("the kernel's counters of a container are read from either version of control groups, and from neither", async () => {
  await using dir = await tempDir();
  const root = dir.path;
  const put = async (path: string, text: string) => {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  };
  await put("pids/c/pids.current", "3\n");
  await put("memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  await put("memory/c/memory.stat", "rss 1\nshmem 2\ntotal_rss 40\ntotal_shmem 5\ntotal_cache 900\n");
  await put("cpuacct/c/cpuacct.usage", "1500000000\n");
  const one = containerGroups("4:memory:/c\n3:cpu,cpuacct:/c\n2:pids:/c\n", root);
  assert.deepEqual([one.label, await one.tasks(), await one.memoryKills()], ["container, cgroup v1", 3, 2]);
  assert.equal(await one.memoryBytes(), 45, "what the kernel can take back does not count");
  await put("c/pids.current", "1\n");
  await put("c/memory.events", "oom 1\noom_kill 1\noom_group_kill 1\n");
  await put("c/memory.stat", "anon 30\nfile 900\nshmem 7\n");
  await put("c/cpu.stat", "usage_usec 2500000\nuser_usec 1\n");
  const two = containerGroups("0::/c\n", root);
  assert.deepEqual([await two.tasks(), await two.memoryKills(), await two.cpuSeconds()], [1, 1, 2.5]);
  assert.equal(await two.memoryBytes(), 37);
  const none = containerGroups(null, root);
  assert.deepEqual([await none.tasks(), await none.memoryKills(), await none.cpuSeconds()], [null, 0, null]);
});
