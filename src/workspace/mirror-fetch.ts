/** Talks to the remote: fetches a branch, the default branch and tags into a mirror, with a token that is renewed once. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "#src/base/canonical-json.ts";
import type { Redactor } from "#src/base/redact.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { HostGitFailure } from "./failure.ts";
import type { HostGit, StreamOutput } from "./git.ts";
import { tokenHeader } from "./git-settings.ts";
import type { Held } from "./lock.ts";
import { type AllowedUrl, isCommitId } from "./names.ts";
import type { GitFailure, GitToken, RepositorySource } from "./workspace.ts";

const FETCH_TIMEOUT_MS = 30 * 60_000;

export interface Fetching {
  readonly git: HostGit;
  readonly redactor: Redactor;
  readonly source: RepositorySource;
  readonly url: AllowedUrl;
  /** The mirror. */
  readonly path: string;
  readonly branch: string;
  readonly token: GitToken;
  readonly signal: AbortSignal;
  /** The lock that the caller holds on the mirror. */
  readonly held: Held;
}

/** Branch names may be longer or odder than file names, and `a` may become `a/b`: the mirror keeps each under a hash. */
function mirrorRef(branch: string): string {
  return `refs/agent-fix/${sha256(branch).slice(0, 32)}`;
}

async function tokenFor(fetching: Fetching, renew: boolean): Promise<Result<string | null, HostGitFailure>> {
  try {
    const token = await fetching.token(renew);
    if (token !== null) fetching.redactor.add(token);
    return ok(token);
  } catch (error) {
    const why = fetching.redactor.redact(messageOf(error));
    return err({
      code: "unreachable",
      message: `GitHub gave no token for this repository: ${why}. Try again, and check that the app is installed on it.`,
      tokenRefused: false,
    });
  }
}

/** Runs a network command with the token in its environment; once more with a new token after a 401. */
async function withToken(
  fetching: Fetching,
  args: readonly string[],
): Promise<Result<StreamOutput, HostGitFailure>> {
  const { url, held } = fetching;
  const attempt = async (renew: boolean): Promise<Result<StreamOutput, HostGitFailure>> => {
    const token = await tokenFor(fetching, renew);
    if (!token.ok) return token;
    const notes: Promise<unknown>[] = [];
    const result = await fetching.git.stream({
      args,
      gitDir: fetching.path,
      protocol: url.protocol,
      signal: fetching.signal,
      timeoutMs: FETCH_TIMEOUT_MS,
      // Settled here, since it may fail (on a full disk) long before git has ended; null: noted.
      onStart: (pid) =>
        notes.push(
          held
            .working(pid)
            .then(() => null)
            .catch((error: unknown) => error),
        ),
      ...(token.value === null ? {} : { config: [tokenHeader(url.url, token.value)] }),
    });
    const problem = (await Promise.all(notes)).find((note) => note !== null);
    if (problem !== undefined) throw problem;
    return result;
  };
  const first = await attempt(false);
  return !first.ok && first.error.tokenRefused ? attempt(true) : first;
}

/** The commit of a ref, read without starting git; null when it is no plain ref. A bare repository keeps refs in files or packed. */
async function commitAt(path: string, ref: string): Promise<string | null> {
  const loose = (await missingIsEmpty(readFile(join(path, ref), "utf8"))).trim();
  if (isCommitId(loose)) return loose;
  if (loose !== "") return null;
  const packed = await missingIsEmpty(readFile(join(path, "packed-refs"), "utf8"));
  const sha = packed
    .split("\n")
    .find((line) => line.slice(41) === ref)
    ?.slice(0, 40);
  return sha !== undefined && isCommitId(sha) ? sha : null;
}

async function missingIsEmpty(text: Promise<string>): Promise<string> {
  try {
    return await text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** Fetches, and checks that the newest tree is whole, unless it is among `whole`, which were found to be before. */
export async function fetchRefs(
  fetching: Fetching,
  whole: readonly string[],
): Promise<Result<{ readonly headSha: string }, HostGitFailure>> {
  const { git, path } = fetching;
  const ref = mirrorRef(fetching.branch);
  const branchSpec = `+refs/heads/${fetching.branch}:${ref}`;
  const specs = ["+HEAD:refs/agent-fix/default", branchSpec, "+refs/tags/*:refs/tags/*"];
  const fetchArgs = (list: readonly string[]) => [
    "fetch",
    "--quiet",
    "--no-tags",
    "--prune",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--",
    fetching.url.url,
    ...list,
  ];
  let fetched = await withToken(fetching, fetchArgs(specs));
  // A default branch that does not exist yet must not hide a branch that does.
  if (!fetched.ok && /remote ref HEAD/.test(fetched.error.message))
    fetched = await withToken(fetching, fetchArgs(specs.slice(1)));
  if (!fetched.ok) return fetched;
  const headSha = await commitAt(path, ref);
  if (headSha === null)
    return err({ code: "git_failed", message: `git fetch left no ${ref} behind.`, tokenRefused: false });
  if (whole.includes(headSha)) return ok({ headSha });
  // Walks the whole newest tree: a mirror with a lost pack fails here, not in the middle of a run.
  const walked = await git.stream({
    args: ["rev-list", "--objects", "-1", "--quiet", headSha, "--"],
    gitDir: path,
  });
  return walked.ok ? ok({ headSha }) : walked;
}

/** Says why a branch was not there: no commits at all, or another name. */
export async function explainMissing(fetching: Fetching, failure: GitFailure): Promise<GitFailure> {
  if (failure.code !== "not_found" || !/remote ref/.test(failure.message)) return failure;
  const heads = await withToken(fetching, ["ls-remote", "--heads", "--", fetching.url.url]);
  if (!heads.ok) return heads.error;
  if (heads.value.stdout.length === 0)
    return {
      code: "empty_repository",
      message: "The repository has no commits yet: push a first commit, then try again.",
    };
  return {
    code: "not_found",
    message: `The repository has no branch ${JSON.stringify(fetching.branch)}: it may have been renamed or deleted.`,
  };
}
