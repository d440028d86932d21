/** Which run a branch is named after, as `publish/publish.ts` names them. */

const OUR_BRANCH = /^agent-fix\/issue-\d+-([0-9a-z]+)$/;

/** Null: no branch of ours. Anybody can name a branch so, hence the run's own log must confirm it. */
export function runOfBranch(branch: string): string | null {
  return OUR_BRANCH.exec(branch)?.[1] ?? null;
}
