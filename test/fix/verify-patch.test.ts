/** What `verifyPatchFile` asks of its ports before anything is run: base, commands and the files that say whose tests are meant. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { err, ok } from "#src/base/result.ts";
import { type PatchRequest, verifyPatchFile } from "#src/fix/verify-patch.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import type { Detected, DetectOverrides } from "#src/verify/verify.ts";
import { changesOf } from "#test/verify/facts.ts";

type Ports = Parameters<typeof verifyPatchFile>[0];

const HEAD = { head: "", tail: "", totalBytes: 0, droppedBytes: 0 };
const SHA = "1".repeat(40);
const NO_TESTS: Detected = { setup: null, test: null, notes: ["nothing was found"] };

interface Wanted {
  readonly commands?: PatchRequest["commands"];
  readonly detected?: Detected;
  readonly changed?: readonly string[];
  readonly settings?: string | null;
  readonly apply?: string | null;
  readonly files?: readonly string[];
}

async function verifyWith(wanted: Wanted = {}) {
  const asked: DetectOverrides[] = [];
  const begun: string[] = [];
  const texts = Object.fromEntries(
    (wanted.changed ?? ["packages/a/src/x.js"]).map((path) => [path, ["a", "b"] as const]),
  );
  const session = {
    exec: async ({ argv }: { readonly argv: readonly string[] }) => {
      const refused = (wanted.apply ?? null) !== null && (argv[2] ?? "").includes("git apply");
      const end = { kind: "exited", code: refused ? 1 : 0 };
      return {
        end,
        stdout: HEAD,
        stderr: { ...HEAD, head: refused ? (wanted.apply ?? "") : "" },
        durationMs: 1,
      };
    },
    close: async () => undefined,
    enforcement: {},
  };
  const ports = {
    operator: { limits: {}, setupTimeoutMs: 1_000, suiteTimeoutMs: 1_000, parallelSuites: 1 },
    redactor: { redact: (text: string) => text },
    sandbox: { name: "bubblewrap", open: async () => ok(session) },
    readSettings: (text: string | null) =>
      text === null
        ? ok({ setup: null, test: "make all-tests", workingDirectory: null, checks: {}, networkAllow: [] })
        : err([`unknown key ${text}`]),
    detect: async (_: unknown, overrides: DetectOverrides) => {
      asked.push(overrides);
      return wanted.detected ?? NO_TESTS;
    },
    verifyPatch: createVerifyPatch(async () => assert.fail("no suite is known")),
    workspaces: {
      fetch: async () => ok({ headSha: SHA }),
      files: () => ({
        list: async () => (wanted.files ?? ["a"]).map((path) => ({ path, mode: "100644" })),
        read: async () => (wanted.settings == null ? null : Buffer.from(wanted.settings)),
      }),
      checkout: async () => ok("/data/patched"),
      dirtyPaths: async () => ok(Object.keys(texts)),
      buildTree: async () => ok({ treeId: "2".repeat(40), changes: changesOf(texts), diff: "", leftOut: [] }),
      readTreeFile: async () => Buffer.from("b"),
      withCache: async (_run: string, _id: number, work: (cache: string) => Promise<unknown>) =>
        work("/cache"),
    },
  } as unknown as Ports;
  const result = await verifyPatchFile(ports, {
    runId: "run1",
    repository: { id: 7, cloneUrl: "file:///repo" },
    branch: "main",
    base: null,
    patch: "diff",
    commands: wanted.commands ?? { setup: null, test: null },
    signal: new AbortController().signal,
    begin: (what) => void begun.push(what),
    observe: () => undefined,
  });
  return { result, asked, begun };
}

test("G10: the files that the patch changes say in a monorepo whose tests are asked", async () => {
  const { asked, result } = await verifyWith({
    changed: ["packages/a/src/x.js", "packages/a/test/x.test.js"],
  });
  assert.deepEqual(asked[0]?.near, ["packages/a/src/x.js", "packages/a/test/x.test.js"]);
  assert.equal(asked[0]?.test, "make all-tests", "the repository file is not overruled by nobody");
  assert.equal(result.ok && result.value.verdict.class, "unproven");
  assert.equal(
    result.ok && result.value.verdict.class === "unproven" && result.value.verdict.reason,
    "no_tests",
  );
});

test("commands that the caller names win over the repository's", async () => {
  const { asked } = await verifyWith({ commands: { test: "node --test test/one.test.js", setup: "" } });
  assert.deepEqual([asked[0]?.test, asked[0]?.setup], ["node --test test/one.test.js", ""]);
});

test("what keeps a patch from being verified is told before anything runs", async () => {
  const told = async (wanted: Wanted) => {
    const { result, asked } = await verifyWith(wanted);
    assert.equal(asked.length, 0);
    return result.ok ? "" : result.error;
  };
  assert.match(await told({ files: [] }), /is no commit of the branch main with files in it \(it is empty\)/);
  assert.match(await told({ settings: "color" }), /\.github\/agent-fix\.yml: unknown key color/);
  assert.match(
    await told({ apply: "error: patch failed: a:1" }),
    /does not apply to the base: error: patch failed/,
  );
  assert.equal(await told({ changed: [] }), "the patch changes nothing");
});
