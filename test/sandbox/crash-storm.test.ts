/** The app is killed again and again at random moments under load: the next start leaves no process, mount, container, control group or file of it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { sha256 } from "#src/base/canonical-json.ts";
import { systemClock } from "#src/base/clock.ts";
import { findCgroups } from "#src/sandbox/command/limits.ts";
import { withArgument, withEnvironment } from "#src/sandbox/command/processes.ts";
import { listSessionFiles } from "#src/sandbox/command/session-files.ts";
import { identityOf } from "#src/sandbox/container/container.ts";
import { DATA_LABEL } from "#src/sandbox/container/context.ts";
import { callEngine, engineEnvironment } from "#src/sandbox/container/engine.ts";
import { FORWARDER_VARIABLE } from "#src/sandbox/container/forwarder.ts";
import { type Backend, backendsHere, createRig, SYSTEM_PATH } from "#test/sandbox/rig.ts";
import { FULL, skipUnless, testPart } from "#test/support/tier.ts";

const KILLS = FULL ? 50 : 2;
/** From the start of the process, most of it while sessions are opened, used and closed. */
const LATEST_MS = { host: 2_500, image: 6_000 };

interface Place {
  readonly dataDir: string;
  /** Home and tmp of the app: what it writes outside the data directory would be here. */
  readonly outside: string;
  readonly seconds: string;
}

/** Starts the stand-in, which sweeps first and then works without end, and kills it after a random time. */
async function startAndKill(backend: Backend, place: Place): Promise<void> {
  const workspace = join(place.dataDir, "workspace");
  await mkdir(workspace, { recursive: true });
  const program = join(import.meta.dirname, "crash-app.ts");
  const args = [program, place.dataDir, workspace, `seconds=${place.seconds}`, backend.name, "many"];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "pipe"],
    cwd: join(import.meta.dirname, "../.."),
    env: { PATH: SYSTEM_PATH, HOME: place.outside, TMPDIR: place.outside },
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
  });
  const exited = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  const cancel = systemClock.timer(randomInt(200, LATEST_MS[backend.system]), () => child.kill("SIGKILL"));
  const code = await exited;
  cancel();
  assert.equal(code, null, `the app ended by itself: ${said}`);
}

/** Everything that could have been left, by kind. */
async function leftOf({ dataDir, outside, seconds }: Place) {
  const identity = await identityOf(dataDir);
  const families = [`agent-fix-${sha256(resolve(dataDir)).slice(0, 12)}.`, `agent-fix-${identity}.`];
  const processes = await Promise.all([seconds, ...families].map(withArgument));
  const forwarders = await withEnvironment(`${FORWARDER_VARIABLE}=${families[1]}`);
  const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n");
  const home = await findCgroups();
  const parents = home === null ? [] : home.kind === "v1" ? [home.memory, home.pids] : [home.root];
  const groups = (await Promise.all(parents.map((parent) => readdir(parent)))).flat();
  return {
    processes: [...processes.flat(), ...forwarders],
    mounts: mounts.filter((line) => line.includes(dataDir)),
    groups: groups.filter((name) => families.some((family) => name.startsWith(family))),
    containers: await containersOf(identity),
    sessions: await listSessionFiles(dataDir),
    outside: await readdir(outside),
  };
}

async function containersOf(identity: string): Promise<readonly string[]> {
  const engine = { program: "/usr/bin/podman", env: engineEnvironment({ PATH: SYSTEM_PATH, HOME: "/root" }) };
  const filter = ["--filter", `label=${DATA_LABEL}=${identity}`, "--format", "{{.Names}}"];
  const listed = await callEngine(engine, ["ps", "--all", ...filter]);
  return listed.stdout.split("\n").filter(Boolean);
}

for (const backend of await backendsHere()) {
  const skip = skipUnless(backend.missing === null, backend.missing ?? "");
  testPart(0.5)(
    `${backend.name}: after ${KILLS} kills at random moments the next start leaves nothing`,
    {
      skip,
    },
    async (context: TestContext) => {
      const rig = await createRig(backend.make);
      const place: Place = {
        dataDir: rig.dataDir,
        outside: join(rig.dataDir, "../outside"),
        seconds: String(900_000 + randomInt(90_000)),
      };
      try {
        await mkdir(place.outside);
        for (let round = 0; round < KILLS; round++) await startAndKill(backend, place);
        await rig.sandbox.sweep();
        const nothing = { processes: [], mounts: [], groups: [], containers: [], sessions: [], outside: [] };
        assert.deepEqual(await leftOf(place), nothing);
        assert.equal((await (await rig.open()).sh("echo works")).text, "works\n");
      } finally {
        await rig.sandbox.sweep();
        await rig.close();
        context.diagnostic(`${KILLS} kills`);
      }
    },
  );
}
