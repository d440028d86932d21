/** What of the host a sandbox shows: toolchains by rule, registries without credentials, control groups by version, the doctor's lines. */

import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { hostFiles } from "#src/sandbox/bubblewrap/host.ts";
import { type HostFiles, resolveToolchains } from "#src/sandbox/bubblewrap/toolchains.ts";
import { chooseSandbox } from "#src/sandbox/choose.ts";
import { createLimiter, findCgroups } from "#src/sandbox/command/limits.ts";
import { hostRegistrySettings } from "#src/sandbox/network/registry.ts";
import { INSIDE } from "#src/sandbox/policy.ts";
import { createRig, LIMITS, options, SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { testPart } from "#test/support/tier.ts";

/** A made-up host: every path that ends in `/` is a directory, the others are files with text; `closed` ones are unreadable. */
function host(entries: Readonly<Record<string, string>>, closed: readonly string[] = []): HostFiles {
  const links = new Map(Object.entries(entries).filter(([, text]) => text.startsWith("-> ")));
  const paths = Object.keys(entries).map((path) => path.replace(/\/$/, ""));
  const real = (path: string): string => {
    for (const [link, text] of links) {
      if (path === link || path.startsWith(`${link}/`)) return real(text.slice(3) + path.slice(link.length));
    }
    return path;
  };
  const isDirectory = (path: string) =>
    paths.some((other) => other.startsWith(`${real(path)}/`)) || `${real(path)}/` in entries;
  return {
    real: async (path) => (isDirectory(path) || real(path) in entries ? real(path) : null),
    isDirectory: async (path) => isDirectory(path),
    isExecutable: async () => true,
    text: async (path) => entries[real(path)] ?? null,
    list: async (path) => [
      ...new Set(
        paths
          .filter((other) => other.startsWith(`${real(path)}/`))
          .map((other) => other.slice(real(path).length + 1).split("/")[0] ?? ""),
      ),
    ],
    isOpenToSandbox: async (path) => !closed.includes(path),
  };
}

/** The app's data in tests that do not care where it is. */
const DATA = "/var/lib/agent-fix";

test("a directory of programs that holds the app's data, or lies in it, is not shown", async () => {
  const files = host({
    ...{ "/srv/app/bin/tool": "", "/srv/app/lib/": "", "/srv/app/data/": "" },
    ...{ "/opt/go/bin/go": "", "/opt/go/pkg/": "", "/srv/app/data/x/bin/": "" },
  });
  const path = ["/srv/app/bin", "/opt/go/bin", "/srv/app/data/x/bin"];
  const found = await resolveToolchains(path, files, "/srv/app/data");
  assert.deepEqual(found.directories, ["/opt/go"]);
  assert.equal(found.notes.filter((note) => note.includes("DATA_DIR")).length, 2);
});

test("version managers' shims give way to the chosen version, and only that is shown", async () => {
  const files = host({
    "/home/op/.pyenv/shims/": "",
    "/home/op/.pyenv/bin/": "",
    "/home/op/.pyenv/version": "3.11\n",
    "/home/op/.pyenv/versions/3.11.7/bin/": "",
    "/home/op/.pyenv/versions/3.9.1/bin/": "",
    "/usr/bin/": "",
  });
  const found = await resolveToolchains(
    ["/home/op/.pyenv/shims", "/home/op/.pyenv/bin", "/usr/bin"],
    files,
    DATA,
  );
  assert.deepEqual(found.directories, ["/home/op/.pyenv/versions/3.11.7"]);
  assert.deepEqual(found.path, ["/home/op/.pyenv/versions/3.11.7/bin", "/usr/bin", "/usr/local/bin", "/bin"]);
});

test("rustup, nvm, fnm, volta and /opt are recognised", async () => {
  const files = host({
    "/home/op/.cargo/bin/cargo": "",
    "/home/op/.cargo/credentials.toml": "token",
    "/home/op/.rustup/toolchains/stable/": "",
    "/home/op/.nvm/versions/node/v24.1.0/bin/node": "",
    "/run/user/1/fnm_multishells/9": "-> /home/op/.local/share/fnm/node-versions/v22.0.0/installation",
    "/home/op/.local/share/fnm/node-versions/v22.0.0/installation/bin/": "",
    "/home/op/.volta/bin/": "",
    "/home/op/.volta/tools/user/platform.json": '{"node":{"runtime":"20.1.0"}}',
    "/home/op/.volta/tools/image/node/20.1.0/bin/": "",
    "/opt/go/bin/go": "",
    "/opt/go/pkg/": "",
  });
  const path = [
    "/home/op/.cargo/bin",
    "/home/op/.nvm/versions/node/v24.1.0/bin",
    "/run/user/1/fnm_multishells/9/bin",
    "/home/op/.volta/bin",
    "/opt/go/bin",
  ];
  const found = await resolveToolchains(path, files, DATA);
  assert.deepEqual(found.notes, []);
  assert.deepEqual(found.directories, [
    ...["/home/op/.cargo/bin", "/home/op/.rustup", "/home/op/.nvm/versions/node/v24.1.0"],
    "/home/op/.local/share/fnm/node-versions/v22.0.0/installation",
    ...["/home/op/.volta/tools/image/node/20.1.0", "/opt/go"],
  ]);
  assert.equal(found.env.RUSTUP_HOME, "/home/op/.rustup");
});

test("a home, private scripts, hidden data and the app's own programs are never shown", async () => {
  const files = host(
    {
      "/home/op/bin/deploy": "",
      "/home/op/lib/": "",
      "/home/op/.local/bin/tool": "",
      "/home/op/.local/lib/": "",
      "/root/.secret/bin/": "",
      "/root/.secret/lib/": "",
      "/work/app/node_modules/.bin/tsc": "",
      "/opt/closed/bin/": "",
      "/opt/closed/lib/": "",
    },
    ["/opt/closed"],
  );
  const path = [
    "/home/op/bin",
    "/home/op/.local/bin",
    "/root/.secret/bin",
    "/work/app/node_modules/.bin",
    "relative",
    "/opt/closed/bin",
    "/missing",
  ];
  const found = await resolveToolchains(path, files, DATA);
  assert.deepEqual(found.directories, []);
  assert.deepEqual(found.path, ["/usr/local/bin", "/usr/bin", "/bin"]);
  assert.equal(found.notes.length, 4);
});

const BELOW_TMP =
  import.meta.dirname.startsWith("/tmp/") &&
  "below /tmp, where this checkout lies, the sandbox has its own files";

test("a toolchain below a private directory is seen inside, read-only, and nothing beside it", {
  skip: BELOW_TMP,
}, async (context) => {
  const cache = join(import.meta.dirname, "../../node_modules/.cache");
  await mkdir(cache, { recursive: true });
  const home = await mkdtemp(join(cache, "private-"));
  context.after(() => rm(home, { recursive: true, force: true }));
  const bin = join(home, "tool-1.0/bin");
  await mkdir(bin, { recursive: true });
  await mkdir(join(home, "tool-1.0/lib"));
  await writeFile(join(bin, "hello-tool"), "#!/bin/sh\necho hello from $0\n");
  await chmod(join(bin, "hello-tool"), 0o755);
  await writeFile(join(home, "secret"), "s");
  await chmod(home, 0o700);
  const rig = await createRig((dataDir) =>
    createBubblewrap({ ...options(dataDir), hostPath: `${bin}:${SYSTEM_PATH}` }),
  );
  try {
    const { sh } = await rig.open();
    const result = await sh(`hello-tool; ls ${home}; touch ${bin}/x 2>/dev/null || echo closed`);
    assert.equal(result.text, `hello from ${bin}/hello-tool\ntool-1.0\nclosed\n`);
  } finally {
    await rig.close();
  }
});

test("the host's registries and certificates are taken over, its credentials are not", async () => {
  await using dir = await tempDir();
  await writeFile(
    join(dir.path, ".npmrc"),
    "registry=https://user:pw@npm.example:8443/api/\n//npm.example:8443/:_authToken=tok\n_auth=abc\n",
  );
  const bundle = join(dir.path, "ca.pem");
  await writeFile(bundle, "certificate");
  const env = {
    ...{ PIP_INDEX_URL: "https://pip.example/simple", NODE_EXTRA_CA_CERTS: bundle, SECRET: "x" },
    ...{
      PIP_FIND_LINKS: `/srv/wheels /etc ${dir.path}/private`,
      PIP_EXTRA_INDEX_URL: "file:///srv/index/simple",
    },
  };
  const settings = await hostRegistrySettings(env, dir.path);
  assert.equal(settings.env.npm_config_registry, "https://npm.example:8443/api/");
  assert.equal(settings.env.PIP_INDEX_URL, "https://pip.example/simple");
  assert.equal(settings.env.NODE_EXTRA_CA_CERTS, INSIDE.caBundle);
  assert.deepEqual(settings.hosts, ["npm.example:8443", "pip.example:443"]);
  assert.deepEqual(
    settings.mounts.map(({ source, target, mode }) => [source, target, mode]),
    [
      [bundle, INSIDE.caBundle, "ro"],
      ["/srv/index", "/srv/index", "ro"],
      ["/srv/wheels", "/srv/wheels", "ro"],
    ],
  );
  assert.doesNotMatch(JSON.stringify(settings), /tok|pw|abc|SECRET/);
  assert.match(settings.notes.join(), /npm_config_registry has credentials/);
});

test("control groups: version 1 below the app's own, version 2 at the root, else limits per process", async () => {
  await using dir = await tempDir();
  const [v1, v2, none] = ["v1", "v2", "none"].map((name) => join(dir.path, name)) as [string, string, string];
  const own = join(dir.path, "own");
  await writeFile(own, "4:memory:/app\n8:pids:/\n0::/\n");
  for (const path of [`${v1}/memory/app`, `${v1}/pids`, v2, none]) {
    await mkdir(path, { recursive: true });
    if (path !== none) await writeFile(join(path, "cgroup.procs"), "");
  }
  await writeFile(join(v2, "cgroup.subtree_control"), "cpu memory pids\n");
  assert.deepEqual(await findCgroups(v1, own), {
    kind: "v1",
    memory: `${v1}/memory/app`,
    pids: `${v1}/pids`,
  });
  assert.deepEqual(await findCgroups(v2, own), { kind: "v2", root: v2 });
  assert.equal(await findCgroups(none, own), null);

  const settings = { openFilesCeiling: 64, clock: systemClock };
  const limiter = await createLimiter({ kind: "v2", root: v2 }, "group", LIMITS, settings);
  assert.equal(limiter.enforcement.memory, "cgroup v2");
  assert.equal(await readFile(join(v2, "group/memory.max"), "utf8"), String(LIMITS.memoryBytes));
  await writeFile(join(v2, "group/memory.events"), "low 0\noom 3\noom_kill 2\n");
  assert.equal(await limiter.memoryKills(), 2);
  const weaker = await createLimiter(null, "group", LIMITS, settings);
  assert.equal(weaker.memoryIsBounded, false);
  assert.ok(weaker.rlimits.includes("--nofile=64"), "an ordinary user cannot raise the hard limit");
  assert.ok(
    !weaker.rlimits.some((option) => option.startsWith("--as")),
    "address space must stay unlimited for Node",
  );
});

// The same promises are sampled by the conformance suite.
testPart(0.2)("the doctor's lines hold here, and the check leaves nothing", async () => {
  await using dir = await tempDir();
  const lines = await createBubblewrap(options(dir.path)).probe();
  const broken = lines.filter(
    (line) => !line.holds && line.name !== "control groups" && line.name !== "ripgrep",
  );
  assert.deepEqual(broken, []);
  assert.ok(lines.length >= 40);
  assert.deepEqual(await readdir(join(dir.path, "runs")), []);
});

test("auto never becomes none: without bubblewrap it says what to install", async () => {
  await using dir = await tempDir();
  const works = await chooseSandbox("auto", options(dir.path));
  assert.equal(works.ok && works.value.name, "bubblewrap");
  assert.deepEqual(await readdir(join(dir.path, "runs")), []);

  const old = join(dir.path, "bin");
  await mkdir(old);
  await writeFile(join(old, "bwrap"), "#!/bin/sh\necho bubblewrap 0.7.0\n");
  await chmod(join(old, "bwrap"), 0o755);
  const refused = await chooseSandbox("auto", { ...options(dir.path), hostPath: `${old}:${SYSTEM_PATH}` });
  assert.ok(!refused.ok);
  assert.match(refused.error.message, /0\.7\.0 is too old.*SANDBOX=auto does not run commands without/);
});

test("none refuses to run as root, and warns otherwise", async () => {
  await using dir = await tempDir();
  const chosen = await chooseSandbox("none", options(dir.path));
  if (process.getuid?.() === 0) {
    assert.ok(!chosen.ok);
    assert.match(chosen.error.message, /never runs commands as root/);
  } else {
    assert.ok(chosen.ok && chosen.value.warning !== null);
  }
});

test("a toolchain below /tmp is left out with a note, also behind a link", async () => {
  await using dir = await tempDir();
  const real = join(dir.path, "sdk/bin");
  await mkdir(real, { recursive: true });
  await mkdir(join(dir.path, "sdk/lib"));
  await symlink(dirname(real), join(dir.path, "current"));
  const found = await resolveToolchains([join(dir.path, "current/bin")], hostFiles(false), DATA);
  assert.deepEqual(found.directories, []);
  assert.match(found.notes.join(), /has its own files at that path/);
});
