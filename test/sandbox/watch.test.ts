/** The watcher of a session's disk: bytes and numbers of files, measured anew only when the free rest of the file system falls. */

import assert from "node:assert/strict";
import { chmod, mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createWatch, type Space, WATCH_INTERVAL_MS, type WatchOptions } from "#src/sandbox/command/watch.ts";
import { createManualClock } from "#test/support/manual-clock.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const KIB = 1024;

/** A watch over an empty directory, with a limit of 400 KiB and so of 100 files. */
async function watched(path: string, change: Partial<WatchOptions> = {}) {
  const clock = createManualClock();
  const breaches: string[] = [];
  let tell: () => void = () => undefined;
  const problems: unknown[] = [];
  let used = 0;
  const watch = createWatch({
    ...{ clock, directories: [path], diskBytes: 400 * KIB, du: ["/usr/bin/du"] },
    processes: async () => [],
    memory: {
      limitBytes: 1_000,
      usedBytes: async (nameless) => {
        tell();
        return used + nameless;
      },
    },
    onBreach: (reason) => void breaches.push(reason),
    onProblem: (error) => void problems.push(error),
    ...change,
  });
  watch.started();
  return {
    watch,
    problems,
    setMemory: (bytes: number) => {
      used = bytes;
    },
    /** What one look says: it asks for memory last. */
    look: async () => {
      breaches.length = 0;
      const looked = new Promise<void>((resolve) => {
        tell = resolve;
      });
      await clock.advance(WATCH_INTERVAL_MS);
      await looked;
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(problems, []);
      return [...breaches];
    },
  };
}

test("too many files end a command although they are empty, and removing them makes room again", async () => {
  await using dir = await tempDir();
  const { look, watch } = await watched(dir.path);
  await mkdir(join(dir.path, "many"));
  await Promise.all(Array.from({ length: 150 }, (_, n) => writeFile(join(dir.path, "many", String(n)), "")));
  assert.deepEqual(await look(), ["disk"]);
  assert.deepEqual(await look(), ["disk"], "it is measured again as long as it is too much");
  await rm(join(dir.path, "many"), { recursive: true });
  assert.deepEqual(await look(), []);
  watch.ended();
});

test("bytes on disk and memory end a command each for itself", async () => {
  await using dir = await tempDir();
  const { look, watch, setMemory } = await watched(dir.path);
  await writeFile(join(dir.path, "big"), Buffer.alloc(500 * KIB, 1));
  assert.deepEqual(await look(), ["disk"]);
  await rm(join(dir.path, "big"));
  setMemory(1_001);
  assert.deepEqual(await look(), ["memory"]);
  watch.ended();
});

test("what lies there over the limit may be tidied up, and when more comes beyond twice the limit nothing starts", async () => {
  await using dir = await tempDir();
  const { look, watch, problems } = await watched(dir.path);
  const write = (name: string, kib: number) => writeFile(join(dir.path, name), Buffer.alloc(kib * KIB, 1));
  await write("first", 450);
  assert.deepEqual(await look(), ["disk"]);
  watch.ended();
  assert.equal(await watch.ready(), null);
  watch.started();
  assert.deepEqual(await look(), [], "a command that adds nothing goes on");
  await write("second", 60);
  assert.deepEqual(await look(), ["disk"]);
  watch.ended();
  await write("third", 500);
  assert.equal(await watch.ready(), null, "one look came too late: it may be tidied up");
  await write("fourth", 500);
  assert.match((await watch.ready()) ?? "", /twice as many bytes or files as the disk limit allows/);
  await rm(join(dir.path, "fourth"));
  assert.equal(await watch.ready(), null);
  assert.deepEqual(problems, []);
});

test("commands that end before they are looked at cannot fill the disk one after the other", async () => {
  await using dir = await tempDir();
  const { watch } = await watched(dir.path);
  watch.ended();
  let refused: number | null = null;
  for (let n = 0; n < 40 && refused === null; n++) {
    if ((await watch.ready()) !== null) refused = n;
    watch.started();
    await writeFile(join(dir.path, String(n)), Buffer.alloc(200 * KIB, 1));
    watch.ended();
  }
  // At the eighth, or later when others free as much on the same file system at the same time.
  assert.ok(refused !== null, "forty commands left twenty times the limit");
});

test("files that were deleted while they are open count, on disk and in memory", async () => {
  await using dir = await tempDir();
  await using shm = await tempDir("nameless-", "/dev/shm");
  const { look, watch } = await watched(dir.path, { processes: async () => [process.pid, 4_000_000] });
  assert.deepEqual(await look(), []);
  const nameless = async (directory: string, kib: number) => {
    const path = join(directory, "deleted");
    const file = await open(path, "w");
    await file.writeFile(Buffer.alloc(kib * KIB, 1));
    await rm(path);
    return file;
  };
  const onDisk = await nameless(dir.path, 500);
  assert.deepEqual(await look(), ["disk"]);
  await onDisk.close();
  assert.deepEqual(await look(), []);
  const inMemory = await nameless(shm.path, 8);
  assert.deepEqual(await look(), ["memory"]);
  await inMemory.close();
  assert.deepEqual(await look(), []);
  watch.ended();
});

test("closed directories by the thousand do not end the count", async () => {
  await using dir = await tempDir();
  const script = join(dir.path, "du");
  const real = "/usr/bin/du";
  // Complains as du does to a user who may not look in, two megabytes of it, and ends as du does then.
  await writeFile(
    script,
    `#!/bin/bash\nyes "du: cannot read directory 'x': Permission denied" | head -c 2M >&2\n${real} "$@"\nexit 1\n`,
  );
  await chmod(script, 0o755);
  await mkdir(join(dir.path, "used"));
  await writeFile(join(dir.path, "used", "big"), Buffer.alloc(500 * KIB, 1));
  const { look, watch } = await watched(join(dir.path, "used"), { du: [script] });
  assert.deepEqual(await look(), ["disk"]);
  watch.ended();
});

test("whatever hides what commands write, the last of the disk is not theirs", async () => {
  await using dir = await tempDir();
  let free = 10_000;
  const spaceIn = async (): Promise<Space> => ({
    ...{ bsize: KIB, blocks: 100_000, files: 1_000, ffree: 1_000, bavail: free },
  });
  const { look, watch } = await watched(dir.path, { spaceIn });
  assert.deepEqual(await look(), []);
  free = 200;
  assert.deepEqual(await look(), [], "more than a quarter of the limit is left");
  free = 90;
  assert.deepEqual(await look(), ["disk"]);
  watch.ended();
  const late = await watched(dir.path, { spaceIn });
  assert.deepEqual(await late.look(), [], "a disk that was full before is not this session's doing");
  late.watch.ended();
});
