/** The calls of the git data API on one repository: branches, blobs, trees and commits. */

import { ok } from "#src/base/result.ts";
import { type CallContext, nothing } from "./calls.ts";
import type { GitHub, TreeEntry } from "./github.ts";

type GitCalls = Pick<
  GitHub,
  | "branchSha"
  | "createBlob"
  | "createTree"
  | "commitTree"
  | "createCommit"
  | "createBranch"
  | "forwardBranch"
  | "deleteBranch"
>;

export function gitCalls(context: CallContext): GitCalls {
  return { ...branchCalls(context), ...objectCalls(context) };
}

function branchCalls(
  context: CallContext,
): Pick<GitHub, "branchSha" | "createBranch" | "forwardBranch" | "deleteBranch"> {
  const { octokit, repo, read, write } = context;
  return {
    branchSha: async (branch) => {
      const found = await read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/git/ref/{ref}", {
            ...repo,
            ref: `heads/${branch}`,
            ...send,
          }),
        // Older servers answer with refs that merely begin with the name.
        (answer) => (answer.ref === `refs/heads/${branch}` ? answer.object.sha : null),
      );
      // 409 is GitHub's answer for a repository without any commit.
      const absent = !found.ok && (found.error.status === 404 || found.error.status === 409);
      return absent ? ok(null) : found;
    },
    createBranch: (branch, sha) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/git/refs", {
            ...repo,
            ref: `refs/heads/${branch}`,
            sha,
            ...send,
          }),
        nothing,
      ),
    forwardBranch: (branch, sha) =>
      write(
        (send) =>
          octokit.request("PATCH /repos/{owner}/{repo}/git/refs/{ref}", {
            ...repo,
            ref: `heads/${branch}`,
            sha,
            force: false,
            ...send,
          }),
        nothing,
      ),
    deleteBranch: async (branch) => {
      const deleted = await write(
        (send) =>
          octokit.request("DELETE /repos/{owner}/{repo}/git/refs/{ref}", {
            ...repo,
            ref: `heads/${branch}`,
            ...send,
          }),
        nothing,
      );
      const gone =
        !deleted.ok && deleted.error.status === 422 && /does not exist/i.test(deleted.error.message);
      return gone ? ok(null) : deleted;
    },
  };
}

function objectCalls(
  context: CallContext,
): Pick<GitHub, "createBlob" | "createTree" | "commitTree" | "createCommit"> {
  const { octokit, repo, read, write } = context;
  return {
    createBlob: (content) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/git/blobs", {
            ...repo,
            content: Buffer.from(content).toString("base64"),
            encoding: "base64",
            ...send,
          }),
        (blob) => blob.sha,
      ),
    createTree: (baseTree, entries) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/git/trees", {
            ...repo,
            base_tree: baseTree,
            tree: entries.map(toTreeItem),
            ...send,
          }),
        (tree) => tree.sha,
      ),
    commitTree: (sha) =>
      read(
        (send) =>
          octokit.request("GET /repos/{owner}/{repo}/git/commits/{commit_sha}", {
            ...repo,
            commit_sha: sha,
            ...send,
          }),
        (commit) => ({
          treeSha: commit.tree.sha,
          parents: commit.parents.map((parent) => parent.sha),
        }),
      ),
    // No author: GitHub then takes the app and signs, so the commit is shown as verified.
    createCommit: (message, tree, parent) =>
      write(
        (send) =>
          octokit.request("POST /repos/{owner}/{repo}/git/commits", {
            ...repo,
            message,
            tree,
            parents: [parent],
            ...send,
          }),
        (commit) => commit.sha,
      ),
  };
}

function toTreeItem(entry: TreeEntry) {
  return { path: entry.path, mode: entry.mode, type: "blob" as const, sha: entry.sha };
}
