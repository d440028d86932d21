/** What other people and programs do around our work: pull requests of theirs, teams, check runs that came out. */

import { checkSuiteShape } from "./check-shapes.ts";
import { announce, gitOf, type Hub } from "./hub.ts";
import { person, repositoryNamed } from "./issue-controls.ts";
import { openPull } from "./pull-actions.ts";
import { type CheckRun, type CommitStatus, takeId } from "./state.ts";
import { statusEventShape } from "./status-shapes.ts";

export interface RelatedControls {
  /** Of a branch that exists; returns the number. */
  openPullRequest(
    repo: string,
    by: string,
    content: { readonly title: string; readonly body: string | null; readonly branch: string },
  ): Promise<number>;
  /** Active members of `org/team`. */
  setTeam(team: string, logins: readonly string[]): void;
  /** A check suite of one run that came out so; sends `check_suite.completed` to apps that ask for it. */
  checkRan(
    repo: string,
    sha: string,
    outcome: Pick<CheckRun, "name" | "conclusion"> &
      Partial<Pick<CheckRun, "title" | "summary" | "annotations">>,
  ): Promise<void>;
  /** A program says how a commit does; sends `status` to apps that ask for it. */
  setStatus(
    repo: string,
    sha: string,
    said: Pick<CommitStatus, "context" | "state"> & Partial<Pick<CommitStatus, "description" | "targetUrl">>,
  ): Promise<void>;
}

type SetStatus = RelatedControls["setStatus"];

export function createRelatedControls(hub: Hub): RelatedControls {
  return {
    openPullRequest: async (repo, by, { branch, ...content }) => {
      const repository = repositoryNamed(hub, repo);
      const git = gitOf(hub, repository);
      const base = repository.defaultBranch;
      const [headSha, baseSha] = await Promise.all(
        [branch, base].map((name) => git.refSha(`refs/heads/${name}`)),
      );
      if (!headSha || !baseSha) throw new Error(`${repo} lacks ${branch} or ${base}`);
      const ends = { headBranch: branch, headSha, baseBranch: base, baseSha };
      const opened = { ...content, ...ends, draft: false };
      return (await openPull(hub, repository, person(hub, by), opened)).number;
    },
    setTeam: (team, logins) =>
      void hub.state.teams.set(team.toLowerCase(), new Set(logins.map((login) => login.toLowerCase()))),
    setStatus: (...said) => setStatus(hub, ...said),
    checkRan: async (repo, sha, outcome) => {
      const repository = repositoryNamed(hub, repo);
      const commit = await gitOf(hub, repository).readCommit(sha);
      if (commit === null) throw new Error(`${repo} has no commit ${sha}`);
      const run: CheckRun = {
        ...{ id: takeId(hub.state), suiteId: takeId(hub.state), repositoryId: repository.id, sha },
        ...{ title: null, summary: null, annotations: [], at: hub.clock.now() },
        ...outcome,
      };
      hub.state.checkRuns.push(run);
      const pulls = [...repository.issues.values()].filter(({ pull }) => pull?.headSha === sha);
      const [app] = hub.state.apps.values();
      if (app === undefined) return;
      const suite = checkSuiteShape(hub.urls, repository, { run, commit, pulls, app });
      announce(hub, repository, person(hub, "ci"), {
        ...{ name: "check_suite", action: "completed", payload: { check_suite: suite } },
      });
    },
  };
}

async function setStatus(hub: Hub, ...[repo, sha, said]: Parameters<SetStatus>): Promise<void> {
  const repository = repositoryNamed(hub, repo);
  const git = gitOf(hub, repository);
  const commit = await git.readCommit(sha);
  if (commit === null) throw new Error(`${repo} has no commit ${sha}`);
  const status: CommitStatus = {
    ...{ id: takeId(hub.state), repositoryId: repository.id, sha, at: hub.clock.now() },
    ...{ description: null, targetUrl: null },
    ...said,
  };
  hub.state.statuses.push(status);
  const heads = [...(await git.refs())].filter(
    ([ref, head]) => ref.startsWith("refs/heads/") && head === sha,
  );
  const branches = heads.map(([ref]) => ref.slice("refs/heads/".length));
  const payload = statusEventShape(hub.urls, repository, { status, commit, branches });
  announce(hub, repository, person(hub, "ci"), { name: "status", action: null, payload });
}
