/** The request of a local run, from a checkout and a file that holds the issue. */

import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import type { RunRequest } from "#src/run/run.ts";

/** Rejects with a sentence when the file holds no issue or the directory is no checkout on a branch. */
export async function readRequest(directory: string, issueFile: string): Promise<RunRequest> {
  const text = await readFile(issueFile, "utf8").catch(() => {
    throw new Error(`the issue file ${issueFile} cannot be read`);
  });
  const [first = "", ...rest] = text.trimStart().split("\n");
  const title = first.replace(/^#+\s*/, "").trim();
  if (title === "") throw new Error(`${issueFile} is empty: its first line is the title of the issue`);
  return {
    runId: systemIds.runId(systemClock.now()),
    repository: await localRepository(directory),
    installationId: 0,
    issue: { number: 1, title, body: rest.join("\n").trim(), author: "local", updatedAt: 0 },
    askedBy: "local",
    trigger: "local",
    parent: null,
    budgetUsd: null,
  };
}

/** The checkout as a repository; rejects with a sentence when the directory is no checkout on a branch. */
export async function localRepository(directory: string): Promise<RunRequest["repository"]> {
  return {
    // Any stable number will do: it keys the mirror of this checkout.
    id: createHash("sha256").update(directory).digest().readUInt32BE(0),
    owner: "local",
    name: basename(directory),
    cloneUrl: pathToFileURL(directory).href,
    defaultBranch: await currentBranch(directory),
    private: true,
  };
}

/** Read from the files, since no git runs in a directory that others may have prepared. */
async function currentBranch(directory: string): Promise<string> {
  const dotGit = join(directory, ".git");
  const kind = await stat(dotGit).catch(() => null);
  if (kind === null) throw new Error(`${directory} is no git checkout: it has no .git`);
  const gitDir = kind.isDirectory()
    ? dotGit
    : resolve(directory, (await readFile(dotGit, "utf8")).replace(/^gitdir:\s*/, "").trim());
  const head = (await readFile(join(gitDir, "HEAD"), "utf8")).trim();
  const branch = /^ref: refs\/heads\/(.+)$/.exec(head)?.[1];
  if (branch === undefined)
    throw new Error(`${directory} is on no branch: check one out (git switch -c work)`);
  return branch;
}
