/** A backend that is asked for and not able says exactly why, and the run does not start; `auto` never becomes `none`. */

import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { chooseSandbox } from "#src/sandbox/choose.ts";
import type { EngineName } from "#src/sandbox/container/argv.ts";
import { options, SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const PODMAN = "false v2 5.4.0";
const DOCKER = "[] 2 28.2.2";
const IMAGES = ["node:24"];

/** A stand-in for an engine's program: what it answers to `info`, and what every other call fails with. */
async function refusalOf(
  name: EngineName,
  engine: { readonly info?: string; readonly fails: string },
  images: readonly string[] = IMAGES,
): Promise<string> {
  await using dir = await tempDir();
  const bin = join(dir.path, "bin");
  await mkdir(bin);
  const answer = engine.info === undefined ? "" : `[ "$1" = info ] && { echo '${engine.info}'; exit 0; }`;
  const script = `#!/bin/sh\n${answer}\ncat >&2 <<'END'\n${engine.fails}\nEND\nexit 125\n`;
  await writeFile(join(bin, name), script, { mode: 0o755 });
  const settings = { ...options(dir.path), hostPath: `${bin}:${SYSTEM_PATH}`, images };
  const chosen = await chooseSandbox(name, { ...settings, engineEnv: { PATH: SYSTEM_PATH } });
  assert.equal(chosen.ok, false, "a sandbox was opened");
  assert.deepEqual(await readdir(join(dir.path, "runs")), [], "the trial left files behind");
  return chosen.ok ? "" : chosen.error.message;
}

test("each reason why an engine cannot be used is said with its remedy", async () => {
  const table: readonly (readonly [EngineName, { info?: string; fails: string }, RegExp])[] = [
    [
      "docker",
      { fails: "permission denied while trying to connect to the Docker daemon socket at unix:///run" },
      /group `docker`/,
    ],
    [
      "docker",
      { fails: "Cannot connect to the Docker daemon at unix:///x. Is it running?" },
      /systemctl start docker/,
    ],
    ["docker", { info: '["name=seccomp","name=rootless"] 2 28.2.2', fails: "" }, /rootless.*use podman/],
    ["docker", { info: DOCKER, fails: "Error: No such image: node:24" }, /node:24.*docker pull/],
    ["podman", { info: "true v1 4.3.1", fails: "" }, /version 1.*unified_cgroup_hierarchy/],
    ["podman", { info: "false v2 3.4.4", fails: "" }, /3\.4\.4 is too old/],
    ["podman", { info: PODMAN, fails: "Error: node:24: image not known" }, /node:24.*podman pull/],
    [
      "podman",
      { fails: "cannot clone: Operation not permitted; user namespaces are not enabled" },
      /switched off/,
    ],
    ["podman", { fails: 'exec: "newuidmap": executable file not found' }, /uidmap/],
  ];
  for (const [name, engine, reason] of table) {
    assert.match(await refusalOf(name, engine), reason, `${engine.info} ${engine.fails}`);
  }
});

test("containers without a list of images are refused by the setting's name", async () => {
  assert.match(await refusalOf("podman", { info: PODMAN, fails: "" }, []), /IMAGES_ALLOWED/);
});

test("auto tries containers only after bubblewrap and only with images, says all reasons, and is never without", async () => {
  await using dir = await tempDir();
  const bin = join(dir.path, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "bwrap"), "#!/bin/sh\necho bubblewrap 0.3.1\n", { mode: 0o755 });
  for (const name of ["podman", "docker"])
    await writeFile(join(bin, name), "#!/bin/sh\necho no service >&2\nexit 1\n", { mode: 0o755 });
  const settings = { ...options(dir.path), hostPath: `${bin}:${SYSTEM_PATH}` };
  const alone = await chooseSandbox("auto", settings);
  assert.match(alone.ok ? "" : alone.error.message, /0\.3\.1 is too old[^;]*does not run commands without/);
  const all = await chooseSandbox("auto", { ...settings, images: IMAGES });
  assert.match(
    all.ok ? "" : all.error.message,
    /bubblewrap: .*too old.*; podman: .*no service.*; docker: .*no service/,
  );
});
