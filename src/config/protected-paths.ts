/** Which paths a pull request of ours may never change: default globs, the operator's exceptions, the repository's additions. */

import { matchesGlob } from "./glob.ts";
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
  const added = protectedPaths.added.find((glob) => matchesGlob(glob, path));
  if (added !== undefined) return added;
  const byDefault = DEFAULT_PROTECTED.find((glob) => matchesGlob(glob, path));
  if (byDefault === undefined) return null;
  return protectedPaths.except.some((glob) => matchesGlob(glob, path)) ? null : byDefault;
}
