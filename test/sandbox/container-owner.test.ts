/** Containers that nobody owns any more: found whatever data directory they were made for, and never one whose maker lives. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { startTime } from "#src/sandbox/command/processes.ts";
import { DATA_LABEL } from "#src/sandbox/container/context.ts";
import { callEngine, engineEnvironment } from "#src/sandbox/container/engine.ts";
import { startForwarder } from "#src/sandbox/container/forwarder.ts";
import {
  isLeftover,
  OWNER_LABEL,
  type Owner,
  ownerText,
  parseListed,
  thisOwner,
} from "#src/sandbox/container/owner.ts";
import { containerBackend, createRig, SYSTEM_PATH, TEST_IMAGE } from "#test/sandbox/rig.ts";
import { FULL, skipUnless } from "#test/support/tier.ts";

const HOUR_MS = 3_600_000;

/** A process that has ended, as its containers name it. */
async function deadOwner(here: Owner): Promise<Owner> {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const pid = child.pid ?? 0;
  const started = (await startTime(pid)) ?? "";
  child.kill("SIGKILL");
  await once(child, "exit");
  return { ...here, pid, started };
}

test("the label is read from what docker prints and from what podman prints, and nothing else counts", async () => {
  const owner = { place: "0a1b2c3d4e5f", pid: 77, started: "12345" };
  const label = ownerText(owner, 9_000.5);
  const text = [
    `agent-fix-a.1.x.0\tCreated\tmap[agent-fix.data:aaa agent-fix.owner:${label} io.buildah.version:1]`,
    `agent-fix-b.1.x.0\trunning\tio.x=1,agent-fix.data=bbb,agent-fix.owner=${label}`,
    "agent-fix-c.1.x.0\trunning\tagent-fix.data=ccc",
    `agent-fix-d.1.x.0\texited\tagent-fix.data=ddd,agent-fix.owner=${owner.place}.x.1.2`,
    `other\texited\tmap[agent-fix.data:aaa agent-fix.owner:${label}]`,
    "",
  ].join("\n");
  const read = { ...owner, madeMs: 9_000 };
  assert.deepEqual(parseListed(text, DATA_LABEL), [
    { name: "agent-fix-a.1.x.0", state: "created", data: "aaa", owner: read },
    { name: "agent-fix-b.1.x.0", state: "running", data: "bbb", owner: read },
    { name: "agent-fix-c.1.x.0", state: "running", data: "ccc", owner: null },
    { name: "agent-fix-d.1.x.0", state: "exited", data: "ddd", owner: null },
  ]);
});

test("a leftover is what its maker cannot want any more; where that cannot be known, what was never started", async () => {
  const here = await thisOwner();
  const now = 10 * HOUR_MS;
  const of = (owner: Owner | null, state: string, madeMs = now) =>
    isLeftover(
      { name: "n", data: "d", state, owner: owner === null ? null : { ...owner, madeMs } },
      here,
      now,
    );
  for (const state of ["created", "running", "exited"]) {
    assert.equal(await of(here, state, 0), false, `${state}: its maker lives`);
    assert.equal(await of(await deadOwner(here), state), true, `${state}: its maker is dead`);
    assert.equal(await of({ ...here, started: "1" }, state), true, `${state}: the number is another's now`);
    assert.equal(await of(null, state, 0), false, `${state}: it says nothing of its maker`);
  }
  const elsewhere = { ...here, place: "ffffffffffff" };
  assert.equal(await of(elsewhere, "created"), false, "it may just be starting");
  assert.equal(await of(elsewhere, "created", now - HOUR_MS - 1), true);
  assert.equal(await of(elsewhere, "running", 0), false, "it ends with its maker, wherever that is");
});

test("a forwarder whose container has ended is told of, and nothing of it stays", async () => {
  const { pid } = await deadOwner(await thisOwner());
  const seconds = "812345";
  const said = await startForwarder({
    ...{ pid, socket: "/tmp/none.sock", socat: seconds, nsenter: "-c", marker: "test" },
    // Stands for nsenter, which would end by itself: it gets all further words as its arguments.
    prefix: ["/bin/sh", "-c", `exec sleep ${seconds}`, "sh"],
    clock: { ...systemClock, sleep: async () => undefined },
  });
  assert.equal(typeof said, "string");
});

async function whyNot(): Promise<string | false> {
  if (!FULL) return "containers take seconds to be made: npm run test:full tries it";
  if (process.getuid?.() !== 0) return skipUnless(false, "podman is tried as root");
  const { missing } = await containerBackend();
  return skipUnless(missing === null, missing ?? "");
}

test("F17: a start removes containers of a dead maker that never started, whatever their data directory, and no others", {
  skip: await whyNot(),
}, async (context: TestContext) => {
  const engine = { program: "/usr/bin/podman", env: engineEnvironment({ PATH: SYSTEM_PATH, HOME: "/root" }) };
  const here = await thisOwner();
  const dead = await deadOwner(here);
  const now = systemClock.now();
  const elsewhere = { ...dead, place: "ffffffffffff" };
  const cases: readonly (readonly [name: string, owner: string, stays: boolean])[] = [
    ["dead", ownerText(dead, now), false],
    ["living", ownerText(here, 0), true],
    ["elsewhere-new", ownerText(elsewhere, now), true],
    ["elsewhere-old", ownerText(elsewhere, now - 2 * HOUR_MS), false],
  ];
  const nameOf = (name: string) => `agent-fix-0123456789ab.${process.pid}.${name}`;
  const rig = await createRig((await containerBackend()).make);
  try {
    for (const [name, owner] of cases) {
      const labels = ["--label", `${DATA_LABEL}=0123456789ab`, "--label", `${OWNER_LABEL}=${owner}`];
      const made = await callEngine(engine, [
        "create",
        "--name",
        nameOf(name),
        ...labels,
        TEST_IMAGE,
        "true",
      ]);
      assert.equal(made.code, 0, made.stderr);
    }
    const session = await rig.open();
    await rig.sandbox.sweep();
    for (const [name, , stays] of cases) {
      const found = await callEngine(engine, ["container", "exists", nameOf(name)]);
      assert.equal(found.code === 0, stays, name);
    }
    assert.equal((await session.sh("echo works")).text, "works\n", "the sweep hit a session that is in use");
  } finally {
    await callEngine(engine, ["rm", "--force", "--time", "0", ...cases.map(([name]) => nameOf(name))]);
    await rig.close();
    context.diagnostic(`${cases.length} containers`);
  }
});
