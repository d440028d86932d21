/** A temporary directory that is gone when its block ends: `await using dir = await tempDir()`. */

import { chmod, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TempDir {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** Removes the directory and all in it; safe to call twice. */
  remove(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Mode 0755, since sandboxed commands of another user must be able to pass through it. */
export async function tempDir(prefix = "test-", below = tmpdir()): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(below, prefix)));
  await chmod(path, 0o755);
  const remove = () => rm(path, { recursive: true, force: true, maxRetries: 3 });
  return { path, remove, [Symbol.asyncDispose]: remove };
}
