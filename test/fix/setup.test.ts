/** What the set-up session is opened with, and what becomes of a set-up that fails. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { err, ok } from "#src/base/result.ts";
import type { Proving } from "#src/fix/proving.ts";
import { buildSetUp, setupStands } from "#src/fix/steps/setup.ts";
import type { ExecEnd, SessionSpec } from "#src/sandbox/sandbox.ts";

const HEAD = { head: "", tail: "", totalBytes: 0, droppedBytes: 0 };

/** Ports that record the session asked for; `end` is how the command ends in it. */
async function setUpWith(networkAllow: readonly string[], end: ExecEnd, opens = true) {
  const specs: SessionSpec[] = [];
  const traced: [string, unknown][] = [];
  const ports = {
    operator: { limits: {}, setupTimeoutMs: 1_000 },
    redactor: { redact: (text: string) => text.replaceAll("secret", "***") },
    workspaces: {
      checkout: async () => ok("/data/runs/run1/base"),
      dirtyPaths: async () => ok(["node_modules"]),
      withCache: async (_run: string, _id: number, work: (cache: string) => Promise<unknown>) =>
        work("/data/caches/7"),
    },
    sandbox: {
      open: async (spec: SessionSpec) => {
        specs.push(spec);
        if (!opens) return err({ code: "unavailable", message: "no socat" });
        if (spec.network.kind === "allow")
          for (const told of [true, true, false])
            spec.network.onHost(told ? "pypi.org" : "evil.example", told);
        return ok({
          exec: async () => ({
            end,
            stdout: HEAD,
            stderr: { ...HEAD, head: "secret: no package x" },
            durationMs: 5,
          }),
          close: async () => undefined,
          enforcement: {},
        });
      },
    },
  };
  const context = {
    ...{ runId: "run1", request: { repository: { id: 7 } }, ports },
    trace: { emit: (type: string, data: unknown) => void traced.push([type, data]) },
  } as unknown as Proving;
  const prepared = {
    baseSha: "1".repeat(40),
    detected: { setup: { command: "make deps", directory: ".", because: "" }, test: null, notes: [] },
    settings: { networkAllow },
  } as unknown as Parameters<typeof buildSetUp>[1];
  const built = await buildSetUp(context, prepared, "base", new AbortController().signal);
  return { built, spec: specs[0], traced };
}

const GOOD: ExecEnd = { kind: "exited", code: 0 };

test("set-up reaches what the merged settings allow and not one host more, and each is traced once per verdict", async () => {
  const { spec, traced, built } = await setUpWith(["pypi.org"], GOOD);
  assert.deepEqual(spec?.network.kind === "allow" && spec.network.hosts, ["pypi.org"]);
  assert.deepEqual(
    traced.filter(([type]) => type === "network").map(([, data]) => data),
    [
      { host: "pypi.org", allowed: true },
      { host: "evil.example", allowed: false },
    ],
  );
  assert.deepEqual(spec?.mounts, [{ source: "/data/caches/7", target: "/cache", mode: "rw" }]);
  assert.ok(built.ok && built.value.cache === "/data/caches/7" && built.value.failure === null);
});

test("an empty list means no network at all", async () => {
  assert.equal((await setUpWith([], GOOD)).spec?.network.kind, "none");
});

test("a set-up that fails, is stopped or cannot start is a result with its log, without secrets", async () => {
  const ends: readonly (readonly [ExecEnd, RegExp])[] = [
    [{ kind: "exited", code: 3 }, /`make deps` ended with exit code 3: .*no package x/],
    [{ kind: "killed", reason: "timeout" }, /was stopped \(timeout\)/],
    [{ kind: "killed", reason: "disk" }, /was stopped \(disk\)/],
    [{ kind: "not_started", message: "no bash" }, /could not start: no bash/],
  ];
  for (const [end, wanted] of ends) {
    const { built } = await setUpWith(["pypi.org"], end);
    assert.ok(built.ok);
    assert.match(built.value.failure ?? "", wanted);
    assert.doesNotMatch(built.value.failure ?? "", /secret/);
  }
});

test("a sandbox that does not open fails the step and names why", async () => {
  const { built } = await setUpWith(["pypi.org"], GOOD, false);
  assert.ok(!built.ok && built.outcome.kind === "failed" && built.outcome.code === "sandbox_unavailable");
});

test("a stored set-up counts only while its directory and its cache are there", async () => {
  assert.equal(await setupStands({ directory: "/", cache: null }), true);
  assert.equal(await setupStands({ directory: "/", cache: "/nowhere" }), false);
  assert.equal(await setupStands({ directory: "/nowhere" }), false);
});
