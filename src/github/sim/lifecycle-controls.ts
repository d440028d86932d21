/** What becomes of repositories, issues and the app's reach in the embedded GitHub: renamed, transferred, archived, deleted, added, removed. */

import { installationShape, userShape } from "./account-shapes.ts";
import { announceIssue } from "./announcements.ts";
import { announce, type Hub } from "./hub.ts";
import { newIssue } from "./issue-actions.ts";
import { person, repositoryNamed } from "./issue-controls.ts";
import { issueShape } from "./issue-shapes.ts";
import { type JsonObject, nodeId } from "./json.ts";
import { repositoryShape } from "./repository-shapes.ts";
import { addAccount, findRepository, type Repository } from "./state.ts";

/** `repo` is `owner/name`, `by` a login. */
export interface LifecycleControls {
  renameRepository(repo: string, name: string, by: string): void;
  /** To another account; installations of the former owner lose it, as on GitHub. */
  transferRepository(repo: string, owner: string, by: string): void;
  setArchived(repo: string, archived: boolean, by: string): void;
  deleteRepository(repo: string, by: string): void;
  addToInstallation(installation: number, repo: string): void;
  removeFromInstallation(installation: number, repo: string): void;
  /** Returns the issue's number there. */
  transferIssue(repo: string, issue: number, to: string, by: string): number;
}

export function createLifecycleControls(hub: Hub): LifecycleControls {
  const { state } = hub;
  const tell = (repository: Repository, by: string, action: string, payload: JsonObject = {}) =>
    announce(hub, repository, person(hub, by), { name: "repository", action, payload });
  const move = (repository: Repository, change: { readonly name?: string; readonly owner?: string }) => {
    state.formerNames.set(fullName(repository).toLowerCase(), repository.id);
    if (change.name !== undefined) repository.name = change.name;
    if (change.owner !== undefined) repository.owner = addAccount(state, change.owner, "User");
  };
  return {
    renameRepository: (repo, name, by) => {
      const repository = repositoryNamed(hub, repo);
      const from = repository.name;
      if (findRepository(state, repository.owner.login, name) !== null) throw new Error(`${name} is taken`);
      move(repository, { name });
      tell(repository, by, "renamed", { changes: { repository: { name: { from } } } });
    },
    transferRepository: (repo, owner, by) => {
      const repository = repositoryNamed(hub, repo);
      const changes = { owner: { from: { user: userShape(hub.urls, repository.owner) } } };
      move(repository, { owner });
      tell(repository, by, "transferred", { changes });
      for (const installation of state.installations.values())
        if (installation.account !== repository.owner) takeAway(hub, installation.id, repository);
    },
    setArchived: (repo, archived, by) => {
      const repository = repositoryNamed(hub, repo);
      repository.archived = archived;
      tell(repository, by, archived ? "archived" : "unarchived");
    },
    deleteRepository: (repo, by) => {
      const repository = repositoryNamed(hub, repo);
      tell(repository, by, "deleted");
      state.repositories.delete(repository.id);
      for (const { repositoryIds } of state.installations.values()) repositoryIds.delete(repository.id);
    },
    addToInstallation: (id, repo) => {
      const repository = repositoryNamed(hub, repo);
      state.installations.get(id)?.repositoryIds.add(repository.id);
      announceReach(hub, id, "added", repository);
    },
    removeFromInstallation: (id, repo) => takeAway(hub, id, repositoryNamed(hub, repo)),
    transferIssue: (repo, number, to, by) => {
      const issue = repositoryNamed(hub, repo).issues.get(number);
      if (issue === undefined) throw new Error(`${repo} has no issue #${number}`);
      const target = repositoryNamed(hub, to);
      const { title, body, author } = issue;
      const moved = newIssue(hub, target, { account: author, app: null }, { title, body, pull: null });
      announceIssue(hub, issue, person(hub, by), {
        action: "transferred",
        changes: {
          new_issue: issueShape(hub.urls, moved),
          new_repository: repositoryShape(hub.urls, target),
        },
      });
      issue.deleted = true;
      return moved.number;
    },
  };
}

function fullName({ owner, name }: Repository): string {
  return `${owner.login}/${name}`;
}

function takeAway(hub: Hub, id: number, repository: Repository): void {
  if (hub.state.installations.get(id)?.repositoryIds.delete(repository.id) === true)
    announceReach(hub, id, "removed", repository);
}

function announceReach(hub: Hub, id: number, action: "added" | "removed", repository: Repository): void {
  const installation = hub.state.installations.get(id);
  if (installation === undefined) throw new Error(`there is no installation ${id}`);
  const short = {
    id: repository.id,
    node_id: nodeId("Repository", repository.id),
    name: repository.name,
    full_name: fullName(repository),
    private: repository.private,
  };
  hub.webhooks.emit({
    app: installation.app,
    event: "installation_repositories",
    action,
    installationId: id,
    repositoryId: null,
    payload: {
      action,
      installation: installationShape(hub.urls, installation),
      repository_selection: "selected",
      repositories_added: action === "added" ? [short] : [],
      repositories_removed: action === "removed" ? [short] : [],
      requester: null,
      sender: userShape(hub.urls, installation.account),
    },
  });
}
