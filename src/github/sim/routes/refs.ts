/** Routes of the git data API for references. */

import { type Answer, created, NO_CONTENT, notFound, ok, refuse, unprocessable } from "../answers.ts";
import type { GitRepository } from "../git-objects.ts";
import { gitOf } from "../hub.ts";
import { textOf } from "../json.ts";
import { branchMoved } from "../pull-actions.ts";
import { refShape } from "../repository-shapes.ts";
import { param, type RepositoryCall, type Route, repositoryRoute } from "../router.ts";

const READ = [["contents", "read"]] as const;
const WRITE = [["contents", "write"]] as const;

export const refRoutes: readonly Route[] = [
  repositoryRoute("GET", "/repos/{owner}/{repo}/git/ref/{ref}", READ, async (call) => {
    await filledGit(call);
    const ref = `refs/${param(call, "ref")}`;
    const sha = (await gitOf(call.hub, call.repository).refs()).get(ref);
    if (sha === undefined) throw notFound();
    return ok(refShape(call.hub.urls, call.repository, ref, sha));
  }),
  repositoryRoute("POST", "/repos/{owner}/{repo}/git/refs", WRITE, createRef),
  repositoryRoute("PATCH", "/repos/{owner}/{repo}/git/refs/{ref}", WRITE, updateRef),
  repositoryRoute("DELETE", "/repos/{owner}/{repo}/git/refs/{ref}", WRITE, async (call) => {
    const git = await filledGit(call);
    const ref = `refs/${param(call, "ref")}`;
    const before = (await git.refs()).get(ref) ?? null;
    if (before === null) throw unprocessable("Reference does not exist");
    await git.updateRef(ref, null, before);
    await announceMove(call, ref, null, before);
    return NO_CONTENT;
  }),
];

/** Every git endpoint refuses while there is no commit at all. */
export async function filledGit(call: RepositoryCall): Promise<GitRepository> {
  const git = gitOf(call.hub, call.repository);
  if (await git.isEmpty()) throw refuse(409, "Git Repository is empty.");
  return git;
}

async function createRef(call: RepositoryCall): Promise<Answer> {
  const git = await filledGit(call);
  const ref = textOf(call.body, "ref") ?? "";
  const sha = textOf(call.body, "sha") ?? "";
  if (!ref.startsWith("refs/") || ref.split("/").length < 3)
    throw unprocessable("Reference name must start with 'refs/' and have at least two slashes");
  if (!(await git.validRefName(ref))) throw unprocessable(`${ref} is not a valid ref name.`);
  if ((await git.objectType(sha)) !== "commit") throw unprocessable("Object does not exist");
  if ((await git.refs()).has(ref)) throw unprocessable("Reference already exists");
  if (!(await git.updateRef(ref, sha, null))) throw unprocessable("Reference update failed");
  await announceMove(call, ref, sha, null);
  return created(refShape(call.hub.urls, call.repository, ref, sha));
}

async function updateRef(call: RepositoryCall): Promise<Answer> {
  const git = await filledGit(call);
  const ref = `refs/${param(call, "ref")}`;
  const sha = textOf(call.body, "sha") ?? "";
  const before = (await git.refs()).get(ref);
  if (before === undefined) throw unprocessable("Reference does not exist");
  if ((await git.objectType(sha)) !== "commit") throw unprocessable("Object does not exist");
  if (call.body.force !== true && !(await git.isAncestor(before, sha)))
    throw unprocessable("Update is not a fast forward");
  if (!(await git.updateRef(ref, sha, before))) throw refuse(409, "Reference was changed meanwhile");
  await announceMove(call, ref, sha, before);
  return ok(refShape(call.hub.urls, call.repository, ref, sha));
}

async function announceMove(
  call: RepositoryCall,
  ref: string,
  sha: string | null,
  before: string | null,
): Promise<void> {
  if (!ref.startsWith("refs/heads/")) return;
  const name = ref.slice("refs/heads/".length);
  await branchMoved(call.hub, call.repository, call.actor, { name, sha, before });
}
