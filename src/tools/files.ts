/**
 * Host-side access to workspace files that a process inside cannot lead astray: every directory on the way is opened
 * without following links, relative to the descriptor of the one before, so nothing swapped in between changes the way.
 */

import { constants } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, readdir, readlink, rename, rm } from "node:fs/promises";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { SandboxOwner } from "#src/sandbox/sandbox.ts";
import { showPath } from "./paths.ts";

export type FileCode =
  | "missing"
  | "symlink"
  | "not_a_directory"
  | "is_directory"
  | "not_a_file"
  | "exists"
  | "too_big"
  | "failed";

export interface FileFault {
  readonly code: FileCode;
  /** A sentence for the model. */
  readonly message: string;
}

export interface FileBytes {
  readonly bytes: Buffer;
  /** Permission bits, e.g. 0o755. */
  readonly mode: number;
}

export type EntryKind = "file" | "directory" | "symlink" | "other";

export interface Files {
  /** Contents of a regular file of at most `MOST_BYTES`. */
  read(names: readonly string[]): Promise<Result<FileBytes, FileFault>>;
  /** What stands there, links not followed. */
  kind(names: readonly string[]): Promise<Result<EntryKind, FileFault>>;
  /** Names in a directory, unsorted. */
  list(names: readonly string[]): Promise<Result<readonly string[], FileFault>>;
  /** Replaces an existing regular file in one step, keeping its mode. */
  replace(names: readonly string[], bytes: Uint8Array): Promise<Result<null, FileFault>>;
  /** Makes a file of mode 0644 that does not exist yet, with the directories on its way. */
  create(names: readonly string[], bytes: Uint8Array): Promise<Result<null, FileFault>>;
}

/** Files larger than this are left to commands in the sandbox. */
export const MOST_BYTES = 10 * 1024 * 1024;

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// Without O_NONBLOCK opening a FIFO would wait for a writer for ever.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const DESCRIPTORS = "/proc/self/fd";
const NEW_FILE_MODE = 0o644;
const NEW_DIRECTORY_MODE = 0o755;

/** Carries a fault out of nested steps; never leaves this file. */
class Refused extends Error {
  readonly fault: FileFault;
  constructor(code: FileCode, message: string) {
    super(message);
    this.fault = { code, message };
  }
}

function errno(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The path by which the kernel looks `name` up in an open directory: openat(2) in Node's terms. */
function at(directory: FileHandle, name: string): string {
  return `${DESCRIPTORS}/${directory.fd}/${name}`;
}

async function refusal(
  error: unknown,
  place: { directory: FileHandle; name: string; path: string },
): Promise<Refused> {
  const { path } = place;
  const code = errno(error);
  if (code === "ENOENT") return new Refused("missing", `${path} does not exist.`);
  if (code === "ELOOP" || code === "ENOTDIR") {
    // Only for the wording: what is no link (any more) gives no target.
    const target = await readlink(at(place.directory, place.name)).catch(() => null);
    if (target !== null)
      return new Refused(
        "symlink",
        `${path} is a symbolic link to ${JSON.stringify(target)}. These tools follow no links: use the path of the file itself.`,
      );
    return new Refused("not_a_directory", `${path} is not a directory.`);
  }
  if (code === "ENXIO") return new Refused("not_a_file", `${path} is not a regular file.`);
  if (code === "EEXIST") return new Refused("exists", `${path} exists already.`);
  return new Refused("failed", `${path} could not be opened (${code || messageOf(error)}).`);
}

export function createFiles(root: string, owner: SandboxOwner | null): Files {
  const openRoot = async (): Promise<FileHandle> => {
    const reachable = await access(DESCRIPTORS).then(
      () => true,
      () => false,
    );
    if (!reachable)
      throw new Refused(
        "failed",
        "File tools need /proc, which this machine does not have: agent-fix runs on Linux.",
      );
    return open(root, DIRECTORY);
  };

  const openChild = async (directory: FileHandle, name: string, path: string): Promise<FileHandle> => {
    try {
      return await open(at(directory, name), DIRECTORY);
    } catch (error) {
      throw await refusal(error, { directory, name, path });
    }
  };

  const giveAway = async (handle: FileHandle, mode: number) => {
    if (owner !== null) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(mode);
  };

  const makeChild = async (directory: FileHandle, name: string, path: string): Promise<FileHandle> => {
    const made = await mkdir(at(directory, name), NEW_DIRECTORY_MODE).then(
      () => true,
      (error: unknown) => {
        if (errno(error) === "EEXIST") return false;
        throw error;
      },
    );
    const child = await openChild(directory, name, path);
    if (made) await giveAway(child, NEW_DIRECTORY_MODE);
    return child;
  };

  /** Opens the directory with these names, step by step, and closes every descriptor after `use`. */
  const within = async <T>(
    names: readonly string[],
    makeMissing: boolean,
    use: (directory: FileHandle) => Promise<T>,
  ): Promise<T> => {
    let directory = await openRoot();
    try {
      for (const [depth, name] of names.entries()) {
        const path = showPath(names.slice(0, depth + 1));
        const step = makeMissing ? makeChild : openChild;
        const next = await step(directory, name, path);
        await directory.close();
        directory = next;
      }
      return await use(directory);
    } finally {
      await directory.close();
    }
  };

  return assembleFiles(within, giveAway);
}

type Within = <T>(
  names: readonly string[],
  makeMissing: boolean,
  use: (directory: FileHandle) => Promise<T>,
) => Promise<T>;
type GiveAway = (handle: FileHandle, mode: number) => Promise<void>;

async function asResult<T>(names: readonly string[], work: () => Promise<T>): Promise<Result<T, FileFault>> {
  try {
    return ok(await work());
  } catch (error) {
    if (error instanceof Refused) return err(error.fault);
    return err({ code: "failed", message: `${showPath(names)}: ${errno(error) || messageOf(error)}.` });
  }
}

/** Permission bits and size of an open regular file; anything else is refused. */
async function regularFacts(
  handle: FileHandle,
  path: string,
): Promise<{ readonly mode: number; readonly size: number }> {
  const facts = await handle.stat();
  if (facts.isDirectory()) throw new Refused("is_directory", `${path} is a directory. Use list_dir.`);
  if (!facts.isFile())
    throw new Refused("not_a_file", `${path} is not a regular file (a pipe, socket or device).`);
  return { mode: facts.mode & 0o777, size: facts.size };
}

async function readWhole(handle: FileHandle, path: string): Promise<FileBytes> {
  const facts = await regularFacts(handle, path);
  const room = Buffer.allocUnsafe(Math.min(facts.size, MOST_BYTES) + 1);
  let filled = 0;
  // A file that grows while it is read is cut at what it was, or refused above the limit.
  while (filled < room.length) {
    const { bytesRead } = await handle.read(room, filled, room.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  if (filled > MOST_BYTES)
    throw new Refused(
      "too_big",
      `${path} has ${facts.size.toLocaleString("en-US")} bytes, more than the file tools take. Use search, or run_command with sed -n or head -c.`,
    );
  return { bytes: room.subarray(0, filled), mode: facts.mode };
}

function splitLast(names: readonly string[]): { readonly parents: readonly string[]; readonly name: string } {
  const name = names.at(-1);
  if (name === undefined)
    throw new Refused("is_directory", "That is the repository root, a directory. Use list_dir.");
  return { parents: names.slice(0, -1), name };
}

/** Opens, uses and closes one file of a directory. */
async function withFile<T>(
  directory: FileHandle,
  name: string,
  options: { readonly path: string; readonly flags: number },
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  let file: FileHandle;
  try {
    file = await open(at(directory, name), options.flags, NEW_FILE_MODE);
  } catch (error) {
    throw await refusal(error, { directory, name, path: options.path });
  }
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

function assembleFiles(within: Within, giveAway: GiveAway): Files {
  const write = (
    directory: FileHandle,
    name: string,
    path: string,
    content: { bytes: Uint8Array; mode: number },
  ) =>
    withFile(directory, name, { path, flags: CREATE }, async (file) => {
      try {
        await file.writeFile(content.bytes);
        await giveAway(file, content.mode);
      } catch (error) {
        // A full disk must not leave half a file behind.
        await rm(at(directory, name), { force: true });
        throw error;
      }
    });

  /** Written beside and moved over: a full disk leaves the old file whole, and a link put there is replaced, not followed. */
  const writeOver = async (
    directory: FileHandle,
    name: string,
    path: string,
    content: { bytes: Uint8Array; mode: number },
  ) => {
    const scratch = `.agent-fix-${process.pid}.tmp`;
    // One that a killed predecessor left; nothing else has this name.
    await rm(at(directory, scratch), { force: true });
    await write(directory, scratch, path, content);
    try {
      await rename(at(directory, scratch), at(directory, name));
    } catch (error) {
      await rm(at(directory, scratch), { force: true });
      throw error;
    }
  };

  return {
    read: (names) =>
      asResult(names, async () => {
        const { parents, name } = splitLast(names);
        const path = showPath(names);
        return within(parents, false, (directory) =>
          withFile(directory, name, { path, flags: READ }, (file) => readWhole(file, path)),
        );
      }),
    kind: (names) =>
      asResult(names, async () => {
        if (names.length === 0) return "directory";
        const { parents, name } = splitLast(names);
        return within(parents, false, async (directory) => {
          const facts = await lstat(at(directory, name)).catch(async (error: unknown) => {
            throw await refusal(error, { directory, name, path: showPath(names) });
          });
          if (facts.isSymbolicLink()) return "symlink";
          if (facts.isDirectory()) return "directory";
          return facts.isFile() ? "file" : "other";
        });
      }),
    list: (names) =>
      asResult(names, () => within(names, false, (directory) => readdir(`${DESCRIPTORS}/${directory.fd}`))),
    replace: (names, bytes) =>
      asResult(names, async () => {
        const { parents, name } = splitLast(names);
        const path = showPath(names);
        return within(parents, false, async (directory) => {
          const mode = await withFile(
            directory,
            name,
            { path, flags: READ },
            async (file) => (await regularFacts(file, path)).mode,
          );
          await writeOver(directory, name, path, { bytes, mode });
          return null;
        });
      }),
    create: (names, bytes) =>
      asResult(names, async () => {
        const { parents, name } = splitLast(names);
        return within(parents, true, async (directory) => {
          await write(directory, name, showPath(names), { bytes, mode: NEW_FILE_MODE });
          return null;
        });
      }),
  };
}
