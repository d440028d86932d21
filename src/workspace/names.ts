/** Which addresses, branches, paths and directory names are let in; pure. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { GitFailure } from "./workspace.ts";

export type AllowedUrl = { readonly url: string; readonly protocol: "https" | "http" | "file" };

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

function refused(message: string): Result<never, GitFailure> {
  return err({ code: "refused_url", message });
}

/**
 * Lets in https on a configured host, http on a configured loopback host, and `file:` for directories named in advance
 * (`agent-fix run` on a local checkout). `hosts` holds names with or without a port. An address with a user part is refused.
 */
export function allowUrl(
  cloneUrl: string,
  hosts: readonly string[],
  localRepositories: readonly string[],
): Result<AllowedUrl, GitFailure> {
  const shown = cloneUrl.replace(/\/\/[^/]*@/, "//***@").slice(0, 200);
  if (!URL.canParse(cloneUrl)) return refused(`The clone address ${JSON.stringify(shown)} is not a URL.`);
  const url = new URL(cloneUrl);
  if (url.protocol === "file:") {
    const path = decodeURIComponent(url.pathname);
    return url.host === "" && localRepositories.includes(path)
      ? ok({ url: `file://${path}`, protocol: "file" })
      : refused(`The local repository ${JSON.stringify(path)} was not named when the app was started.`);
  }
  if (url.username !== "" || url.password !== "")
    return refused(`The clone address ${shown} carries credentials; give it without a user part.`);
  if (url.search !== "" || url.hash !== "" || url.pathname === "/")
    return refused(`The clone address ${shown} is not that of a repository.`);
  const configured = hosts.map((host) => host.toLowerCase());
  const known =
    configured.includes(url.host) ||
    ((url.port === "" || LOOPBACK.has(url.hostname)) && configured.includes(url.hostname));
  if (!known) return refused(`The host ${url.host} is not the configured GitHub host (GHE_HOST).`);
  if (url.protocol === "https:") return ok({ url: url.href, protocol: "https" });
  if (url.protocol === "http:" && LOOPBACK.has(url.hostname)) return ok({ url: url.href, protocol: "http" });
  return refused(`The clone address ${shown} must use https.`);
}

/** Git's own rules for a branch name (`git check-ref-format`), so that a name is never read as anything else. */
export function isBranchName(branch: string): boolean {
  if (branch === "" || branch === "@" || branch.startsWith("/") || branch.endsWith("/")) return false;
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(branch)) return false;
  if (branch.includes("..") || branch.includes("@{") || branch.includes("//") || branch.endsWith("."))
    return false;
  return branch.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock"));
}

export function isCommitId(sha: string): boolean {
  return /^[0-9a-f]{40}$/.test(sha);
}

/** Names of directories and ids of runs become path components: letters, digits, `.`, `_`, `-`, not starting with a dot. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name);
}

/** Code points that Apple's file system ignores inside a name. */
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** A component that some file system takes for `.git`: a tree with it would be refused, or would attack whoever clones it. */
function isDotGit(component: string): boolean {
  const plain = component.replace(IGNORED_BY_HFS, "").toLowerCase();
  return /^(\.git|git~1)[ .]*(:.*)?$/.test(plain);
}

/** A path from the root of a repository that may stand in a tree: relative, normal, and without any spelling of `.git`. */
export function isTreePath(path: string): boolean {
  return (
    path !== "" &&
    !path.includes("\0") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    !path.split(/[/\\]/).some(isDotGit)
  );
}
