/** Set-up with the real package managers in the real sandbox, from a local registry that the host's own files name, and offline afterwards. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fetchedPackages, fillingPackages } from "#src/fix/package-managers.ts";
import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { hostRegistrySettings } from "#src/sandbox/network/registry.ts";
import { CASES, type Case } from "#test/fix/package-cases.ts";
import { assertExit, createRig, options, type Rig, SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { type PackageRegistry, startPackageRegistry } from "#test/support/package-registry.ts";
import { type TempDir, tempDir } from "#test/support/temp-dir.ts";
import { inTurn, skipUnless } from "#test/support/tier.ts";

/** The operator's toolchains, also those below a private home. */
const HOST_PATH = `${homedir()}/.cargo/bin:${homedir()}/.pyenv/shims:${SYSTEM_PATH}`;

const SECRET = "registry-secret-8f3a";
let dir: TempDir;
let registry: PackageRegistry;
let rig: Rig;

before(async () => {
  dir = await tempDir("packages-");
  registry = await startPackageRegistry(dir.path);
  const { host } = registry;
  const home = join(dir.path, "home");
  const files = {
    ".npmrc": `registry=http://user:${SECRET}@${host}/npm/\n//${host}/npm/:_authToken=${SECRET}\n`,
    ".config/pip/pip.conf": `[global]\nindex-url = http://user:${SECRET}@${host}/simple\n`,
    ".cargo/config.toml": `[source.crates-io]\nreplace-with = "ours"\n[source.ours]\nregistry = "sparse+http://user:${SECRET}@${host}/index/"\n`,
    ".cargo/credentials.toml": `[registry]\ntoken = "${SECRET}"\n`,
    ".m2/settings.xml": `<settings><servers><server><id>m</id><password>${SECRET}</password></server></servers><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>http://user:${SECRET}@${host}/maven</url></mirror></mirrors></settings>`,
    ".config/go/env": `GOPROXY=http://user:${SECRET}@${host}/go\nGOSUMDB=off\n`,
    ".bundle/config": `---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "http://user:${SECRET}@${host}/gems-index/"\nBUNDLE_RUBYGEMS__ORG: "user:${SECRET}"\n`,
    ".config/composer/config.json": JSON.stringify({
      repositories: [{ type: "composer", url: `http://user:${SECRET}@${host}/composer` }],
    }),
    ".config/composer/auth.json": JSON.stringify({
      "http-basic": { [host]: { username: "user", password: SECRET } },
    }),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  const settings = await hostRegistrySettings({}, home, join(dir.path, "registry"));
  rig = await createRig((dataDir) =>
    createBubblewrap({ ...options(dataDir), hostPath: HOST_PATH, registry: settings }),
  );
});

after(async () => {
  await rig.close();
  await registry.close();
  await dir.remove();
});

/** Why the case cannot run here; null when its program is there (`/tools` is then what it came in). */
async function toolsFor(one: Case): Promise<{ readonly tools: string | null } | string> {
  if (!one.program.startsWith("npm:")) {
    const found = HOST_PATH.split(":").some((directory) => existsSync(join(directory, one.program)));
    return found ? { tools: null } : `${one.program} is not installed here`;
  }
  const tools = join(dir.path, `tools-${one.name.replaceAll(/\W/g, "")}`);
  await mkdir(tools);
  try {
    // The registry that this machine's own npm is set up with, by files or by this process's environment.
    execFileSync("npm", ["install", "--prefix", tools, "--ignore-scripts", one.program.slice(4)], {
      stdio: "pipe",
    });
    return { tools };
  } catch {
    return `${one.program} could not be fetched from the npm registry`;
  }
}

async function fill(workspace: string, files: Readonly<Record<string, string>>): Promise<void> {
  const { owner } = rig.sandbox;
  const own = async (path: string) => (owner === null ? undefined : chown(path, owner.uid, owner.gid));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    await own(dirname(join(workspace, path)));
    await writeFile(join(workspace, path), text);
    await own(join(workspace, path));
  }
}

async function runCase(one: Case, context: TestContext): Promise<void> {
  const found = await toolsFor(one);
  const missing = skipUnless(typeof found !== "string", String(found));
  if (missing !== false || typeof found === "string") return context.skip(String(missing));
  const cache = join(dir.path, `cache-${one.name.replaceAll(/\W/g, "")}`);
  await mkdir(cache);
  const { owner } = rig.sandbox;
  if (owner !== null) await chown(cache, owner.uid, owner.gid);
  const tools = found.tools === null ? [] : [{ source: found.tools, target: "/tools", mode: "ro" } as const];
  const hosts: string[] = [];
  const setUp = async () => {
    const parts = fillingPackages(cache);
    const opened = await rig.open({
      ...{ phase: "setup", env: parts.env, mounts: [...parts.mounts, ...tools] },
      network: { kind: "allow", hosts: [], onHost: (host, allowed) => void hosts.push(`${host} ${allowed}`) },
    });
    await fill(opened.workspace, one.files(registry.host));
    const result = await opened.sh(one.setup, { timeoutMs: 240_000 });
    assertExit(result, 0);
    return opened;
  };
  const count = () => registry.paths.filter((path) => one.download.test(path)).length;
  const before = count();
  const first = await setUp();
  assert.ok(count() > before, "the package came from the registry that the host's file names");
  assert.ok(hosts.includes("127.0.0.1 true") || hosts.includes("localhost true"));
  const seen = join(first.workspace, "seen.json");
  if (existsSync(seen)) {
    const told = await readFile(seen, "utf8");
    assert.doesNotMatch(told, new RegExp(SECRET), "H11: an install script finds no credential");
    const { home } = JSON.parse(told) as { readonly home: readonly string[] };
    assert.deepEqual(
      home.filter((name) => ![".npm", ".cache", ".config", ".m2", ".yarn", ".yarnrc"].includes(name)),
      [],
    );
  }
  const afterFirst = count();
  await setUp();
  assert.equal(count(), afterFirst, "a second set-up of the repository finds the package in its cache");

  if (one.afterwards === null) return;
  const parts = fetchedPackages(cache);
  const later = await rig.open({ env: parts.env, mounts: [...parts.mounts, ...tools] });
  await cp(first.workspace, later.workspace, { recursive: true, verbatimSymlinks: true });
  if (owner !== null) execFileSync("chown", ["-hR", `${owner.uid}:${owner.gid}`, later.workspace]);
  assertExit(await later.sh(one.afterwards, { timeoutMs: 240_000 }), 0);
  const poison = await later.sh("touch /cache/poison; ls /cache | grep poison; true");
  assert.equal(poison.text, "", "what was fetched cannot be changed by tests or the agent");
}

CASES.forEach((one, index) => {
  if (!inTurn(index, CASES.length)) return;
  test(`${one.name} installs through the proxy from a local registry${one.afterwards === null ? "" : ", and works offline afterwards"}`, (context) =>
    runCase(one, context));
});

test("no client ever sent a credential of the host, whatever its files hold", () => {
  assert.deepEqual(registry.credentials, []);
});
