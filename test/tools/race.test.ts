/** A process in the sandbox exchanges paths for links as fast as it can, while every file tool works on them. */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createFiles } from "#src/tools/files.ts";
import { FULL } from "#test/support/tier.ts";
import { openWorkspace } from "./fixture.ts";

const DURATION_MS = FULL ? 30_000 : 300;
/** It goes on until both are reached. */
const LEAST_TRIES = FULL ? 10_000 : 100;
const SECRET = "TOP SECRET of the host";

/** Exchanges are atomic (renameat2), so there is always something at the path: a folder or a link, a file, a link, a pipe or a folder. */
const SWAP = `python3 - "$1" <<'PY'
import ctypes, os, sys
libc = ctypes.CDLL(None)
outside = sys.argv[1].encode()
os.makedirs("dir/inner", exist_ok=True)
open("dir/file", "w").write("inside")
open("dir/inner/file", "w").write("inside")
os.symlink(outside, "away")
open("file", "w").write("inside")
os.symlink(outside + b"/file", "link")
os.mkfifo("pipe")
os.mkdir("folder")
os.symlink(outside + b"/inner", "dir/link")
def exchange(one, other): libc.renameat2(-100, one, -100, other, 2)
open("ready", "w").close()
while not os.path.exists("stop"):
    for _ in range(200):
        exchange(b"dir", b"away"); exchange(b"file", b"link"); exchange(b"dir/inner", b"dir/link")
        exchange(b"file", b"pipe"); exchange(b"dir", b"away"); exchange(b"file", b"folder")
        exchange(b"away/inner", b"away/link"); exchange(b"file", b"link")
PY`;

test("C05: no read and no write of any file tool lands outside while a process swaps paths for links", async (context) => {
  await using space = await openWorkspace();
  mkdirSync(join(space.outside, "inner"));
  for (const name of ["file", "inner/file"])
    writeFileSync(join(space.outside, name), SECRET, { mode: 0o666 });
  const before = lookAt(space.outside);
  const swapping = space.session.exec({
    argv: ["bash", "-c", SWAP, "swap", space.outside],
    timeoutMs: DURATION_MS + 180_000,
    outputBytes: 4_096,
    signal: new AbortController().signal,
  });
  const files = createFiles(space.directory, space.owner);
  const end = await started(() => files.kind(["ready"]).then((found) => found.ok));
  const seen = { tries: 0, done: 0, refused: 0 };
  const note = (good: boolean, text: string) => {
    assert.ok(!text.includes(SECRET), text.slice(0, 200));
    seen.tries += 1;
    seen[good ? "done" : "refused"] += 1;
  };
  let toolsAt = 0;
  const bytes = Buffer.from("inside, written");
  while (performance.now() < end || seen.tries < LEAST_TRIES) {
    const round = seen.tries;
    const results = await Promise.all([
      ...[["file"], ["dir", "file"], ["dir", "inner", "file"], ["away", "file"]].flatMap((names) => [
        files.read(names),
        files.replace(names, bytes),
        files.kind(names),
        files.list(names.slice(0, -1)),
        files.create([...names.slice(0, -1), `new-${round}`], bytes),
      ]),
      files.create(["dir", `made-${round}`, "deep", "file"], bytes),
    ]);
    for (const result of results)
      note(result.ok, result.ok ? JSON.stringify(result.value, text) : result.error.message);
    if (seen.tries < toolsAt) continue;
    toolsAt = seen.tries + 5_000;
    for (const [name, args] of TOOLS) {
      const result = await space.run(name, args);
      note(result.status === "ok", result.text);
    }
  }
  await space.write("stop", "");
  const swapped = await swapping;
  assert.deepEqual(swapped.end, { kind: "exited", code: 0 }, swapped.stderr.head);
  assert.deepEqual(lookAt(space.outside), before, "the outside has changed");
  context.diagnostic(JSON.stringify(seen));
  assert.ok(seen.done > 0 && seen.refused > 0, JSON.stringify(seen));
});

const TOOLS = [
  ["read_file", { path: "file" }],
  ["read_file", { path: "dir/inner/file" }],
  ["list_dir", { path: "dir" }],
  ["list_dir", {}],
  ["search", { pattern: "SECRET|inside" }],
  ["search", { pattern: "SECRET", path: "dir" }],
  ["find_definition", { symbol: "SECRET" }],
  ["edit_file", { path: "dir/file", old: "inside", new: "inside too" }],
  ["edit_file", { path: "dir/inner/made", old: "", new: "x" }],
] as const;

/** Waits until the helper is at work; the time at which to stop. */
async function started(isReady: () => Promise<boolean>): Promise<number> {
  const latest = performance.now() + 30_000;
  while (!(await isReady())) assert.ok(performance.now() < latest, "the helper did not start");
  return performance.now() + DURATION_MS;
}

/** Buffers as text, so that a secret in them is seen. */
function text(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("data" in value)) return value;
  return Buffer.from(value.data as number[]).toString("latin1");
}

function lookAt(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const facts = statSync(join(directory, name));
      return `${name} ${facts.mode} ${facts.isFile() ? readFileSync(join(directory, name), "utf8") : ""}`;
    });
}
