/** Which paths a pull request of ours may never change: default globs, the operator's exceptions, the repository's additions. */

import picomatch from "picomatch";
import type { RepositorySettings } from "./repository-file.ts";

/** What decides how code is built, checked and released elsewhere, and what git itself reads. */
export const DEFAULT_PROTECTED: readonly string[] = [
  ".github/**",
  "**/.git*",
  ".gitlab/**",
  ".circleci/**",
  ".buildkite/**",
  ".woodpecker/**",
  ".woodpecker.{yml,yaml}",
  ".travis.yml",
  ".drone.yml",
  ".appveyor.yml",
  "appveyor.yml",
  "azure-pipelines.{yml,yaml}",
  "bitbucket-pipelines.yml",
  "**/Jenkinsfile",
];

/** The glob that protects the path (from the repository root, forward slashes), or null when it may be changed. */
export function protectingGlob(
  path: string,
  protectedPaths: RepositorySettings["protectedPaths"],
): string | null {
  const added = protectedPaths.added.find((glob) => matches(glob, path));
  if (added !== undefined) return added;
  const byDefault = DEFAULT_PROTECTED.find((glob) => matches(glob, path));
  if (byDefault === undefined) return null;
  return protectedPaths.except.some((glob) => matches(glob, path)) ? null : byDefault;
}

/** Case does not matter, since it does not on every disk the file may land on; extended globs are off, since they can be made to run for ever. */
function matches(glob: string, path: string): boolean {
  const options = { dot: true, nocase: true, noextglob: true, nonegate: true };
  // A glob that names a directory protects what is in it.
  const below = glob.endsWith("/") ? `${glob}**` : `${glob}/**`;
  return picomatch([glob.replace(/\/+$/, ""), below], options)(path);
}
