/** Routes of the git data API for blobs, trees and commits, over the real objects of a bare repository. */

import type { Json } from "#src/base/canonical-json.ts";
import { allows } from "../access.ts";
import { type Answer, created, notAccessible, notFound, ok, unprocessable } from "../answers.ts";
import type { GitRepository, Signature, TreeChange } from "../git-objects.ts";
import type { Actor } from "../hub.ts";
import { isObject, type JsonObject, listOf, nodeId, textOf } from "../json.ts";
import { emailOf } from "../pull-actions.ts";
import { commitShape, repositoryApi } from "../repository-shapes.ts";
import { param, type RepositoryCall, type Route, repositoryRoute } from "../router.ts";
import { filledGit } from "./refs.ts";

const READ = [["contents", "read"]] as const;
const WRITE = [["contents", "write"]] as const;
const GIT = "/repos/{owner}/{repo}/git";
const MODES: readonly string[] = ["100644", "100755", "040000", "160000", "120000"];
/** GitHub's own name and address on what it commits for others. */
const GITHUB = { name: "GitHub", email: "noreply@github.com" };

export const gitDataRoutes: readonly Route[] = [
  repositoryRoute("POST", `${GIT}/blobs`, WRITE, createBlob),
  repositoryRoute("GET", `${GIT}/blobs/{file_sha}`, READ, async (call) => {
    const sha = param(call, "file_sha");
    const content = await (await filledGit(call)).readBlob(sha);
    if (content === null) throw notFound();
    return ok({
      sha,
      node_id: nodeId(`Blob:${sha}`, call.repository.id),
      size: content.length,
      url: blobUrl(call, sha),
      content: content.toString("base64").replace(/.{60}/g, "$&\n"),
      encoding: "base64",
    });
  }),
  repositoryRoute("POST", `${GIT}/trees`, WRITE, createTree),
  repositoryRoute("GET", `${GIT}/trees/{tree_sha}`, READ, async (call) => {
    const git = await filledGit(call);
    const named = param(call, "tree_sha");
    const sha = await git.refSha(`${named}^{tree}`);
    if (sha === null) throw notFound();
    return ok(await treeShape(call, git, sha, call.query.has("recursive")));
  }),
  repositoryRoute("POST", `${GIT}/commits`, WRITE, createCommit),
  repositoryRoute("GET", `${GIT}/commits/{commit_sha}`, READ, async (call) => {
    const git = await filledGit(call);
    const sha = param(call, "commit_sha");
    const commit = (await git.objectType(sha)) === "commit" ? await git.readCommit(sha) : null;
    if (commit === null) throw notFound();
    return ok(commitShape(call.hub.urls, call.repository, commit, commit.committer.name === GITHUB.name));
  }),
];

async function createBlob(call: RepositoryCall): Promise<Answer> {
  const git = await filledGit(call);
  const content = textOf(call.body, "content");
  if (content === null) throw unprocessable('Invalid request.\n\n"content" wasn\'t supplied.');
  const encoding = textOf(call.body, "encoding") ?? "utf-8";
  if (encoding === "base64" && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content))
    throw unprocessable("content is not valid Base64");
  const bytes = Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
  const sha = await git.writeBlob(bytes);
  return created({ sha, url: blobUrl(call, sha) });
}

async function createTree(call: RepositoryCall): Promise<Answer> {
  const git = await filledGit(call);
  const baseName = textOf(call.body, "base_tree");
  const base = baseName === null ? null : await git.refSha(`${baseName}^{tree}`);
  if (baseName !== null && base === null) throw unprocessable("base_tree is not a valid tree oid");
  const changes: TreeChange[] = [];
  for (const entry of listOf(call.body, "tree")) changes.push(await treeChange(git, entry));
  refuseWorkflows(call, changes);
  const paths = (base === null ? [] : await git.readTree(base, true))?.map((item) => item.path) ?? [];
  if (deletesAbsent(paths, changes)) throw unprocessable("GitRPC::BadObjectState");
  const sha = await git.writeTree(base, changes);
  if (sha === null) throw unprocessable("tree.path contains a malformed path component");
  return created(await treeShape(call, git, sha, false));
}

/** Entries are taken one after another, as an index takes them: what an entry puts in place of a file or a directory cannot be deleted after it. */
function deletesAbsent(paths: readonly string[], changes: readonly TreeChange[]): boolean {
  const there = new Set(paths);
  for (const { path, sha } of changes) {
    if (sha === null) {
      if (!there.delete(path)) return true;
      continue;
    }
    for (const other of there)
      if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) there.delete(other);
    there.add(path);
  }
  return false;
}

async function treeChange(git: GitRepository, entry: Json): Promise<TreeChange> {
  if (!isObject(entry)) throw unprocessable("Must supply a valid tree entry");
  const path = textOf(entry, "path") ?? "";
  const mode = textOf(entry, "mode") ?? "";
  if (path === "" || path.startsWith("/") || path.split("/").includes(".git"))
    throw unprocessable("tree.path contains a malformed path component");
  if (!MODES.includes(mode)) throw unprocessable("Must supply a valid tree.mode");
  if (entry.sha === null) return { path, mode, sha: null };
  const content = textOf(entry, "content");
  const sha = content === null ? (textOf(entry, "sha") ?? "") : await git.writeBlob(Buffer.from(content));
  if ((await git.objectType(sha)) === null)
    throw unprocessable(`tree.sha ${sha} is not a valid ${textOf(entry, "type") ?? "blob"}`);
  return { path, mode, sha };
}

/** Workflow files need a permission of their own, whatever a token may write otherwise. */
function refuseWorkflows(call: RepositoryCall, changes: readonly TreeChange[]): void {
  if (call.caller.kind !== "installation") return;
  if (!changes.some((change) => change.path.startsWith(".github/workflows/"))) return;
  if (!allows(call.caller.token.permissions, "workflows", "write"))
    throw notAccessible("contents=write,workflows=write");
}

/** Without an author the app's bot is the author and GitHub signs; with one, nobody signs. */
async function createCommit(call: RepositoryCall): Promise<Answer> {
  const git = await filledGit(call);
  const message = textOf(call.body, "message");
  const tree = textOf(call.body, "tree") ?? "";
  const parents = listOf(call.body, "parents").map(String);
  if (message === null || message === "") throw unprocessable("message cannot be blank");
  if ((await git.objectType(tree)) !== "tree") throw unprocessable("Tree SHA does not exist");
  for (const parent of parents)
    if ((await git.objectType(parent)) !== "commit")
      throw unprocessable("Parent SHA does not exist or is not a commit object");
  const now = Math.floor(call.hub.clock.now() / 1000) * 1000;
  const author = call.body.author;
  const byApp = !isObject(author);
  const sha = await git.writeCommit({
    tree,
    parents,
    message,
    author: byApp ? signatureOf(call.actor, now) : givenSignature(author, now),
    committer: byApp ? { ...GITHUB, at: now } : givenSignature(author, now),
  });
  const commit = await git.readCommit(sha);
  if (commit === null) throw new Error(`commit ${sha} was written but cannot be read`);
  return created(commitShape(call.hub.urls, call.repository, commit, byApp));
}

function signatureOf(actor: Actor, at: number): Signature {
  return { name: actor.account.login, email: emailOf(actor), at };
}

function givenSignature(author: JsonObject, now: number): Signature {
  const date = Date.parse(textOf(author, "date") ?? "");
  return {
    name: textOf(author, "name") ?? "unknown",
    email: textOf(author, "email") ?? "unknown@localhost",
    at: Number.isNaN(date) ? now : date,
  };
}

function blobUrl(call: RepositoryCall, sha: string): string {
  return `${repositoryApi(call.hub.urls, call.repository)}/git/blobs/${sha}`;
}

async function treeShape(
  call: RepositoryCall,
  git: GitRepository,
  sha: string,
  recursive: boolean,
): Promise<JsonObject> {
  const api = `${repositoryApi(call.hub.urls, call.repository)}/git`;
  const items = (await git.readTree(sha, recursive)) ?? [];
  return {
    sha,
    url: `${api}/trees/${sha}`,
    tree: items.map((item) => ({
      path: item.path,
      mode: item.mode,
      type: item.type,
      sha: item.sha,
      ...(item.size === null ? {} : { size: item.size }),
      url: `${api}/${item.type}s/${item.sha}`,
    })),
    truncated: false,
  };
}
