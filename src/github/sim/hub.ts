/** What the parts of the embedded GitHub share: its state, its repositories, its clock, and how an event is announced. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import { organizationShape, type Urls, userShape } from "./account-shapes.ts";
import type { GitRepository } from "./git-objects.ts";
import { type JsonObject, nodeId } from "./json.ts";
import { repositoryShape } from "./repository-shapes.ts";
import { type Account, type App, findInstallation, type Repository, type State } from "./state.ts";
import type { Webhooks } from "./webhooks.ts";

export interface Hub {
  readonly state: State;
  readonly urls: Urls;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly webhooks: Webhooks;
  /** Directory of the bare repositories. */
  readonly gitRoot: string;
  /** By repository id. */
  readonly git: Map<number, GitRepository>;
  /** How long an installation token lives. */
  tokenLifetimeMs: number;
}

/** Who does something: an account, by an app's token or by hand. */
export interface Actor {
  readonly account: Account;
  readonly app: App | null;
}

/** Sends the event to every app that is installed on the repository, with what each payload carries besides `payload`. */
export function announce(
  hub: Hub,
  repository: Repository,
  actor: Actor,
  event: { readonly name: string; readonly action: string | null; readonly payload: JsonObject },
): void {
  const { state, urls } = hub;
  for (const installation of findInstallation(state, repository)) {
    hub.webhooks.emit({
      app: installation.app,
      event: event.name,
      action: event.action,
      installationId: installation.id,
      repositoryId: repository.id,
      payload: {
        // A few kinds of events have none.
        ...(event.action === null ? {} : { action: event.action }),
        ...event.payload,
        repository: repositoryShape(urls, repository),
        ...(repository.owner.type === "Organization"
          ? { organization: organizationShape(urls, repository.owner) }
          : {}),
        sender: userShape(urls, actor.account),
        installation: { id: installation.id, node_id: nodeId("Integration", installation.id) },
      },
    });
  }
}

/** Throws when the repository has no git directory, which is a fault of the embedded GitHub itself. */
export function gitOf(hub: Hub, repository: Repository): GitRepository {
  const found = hub.git.get(repository.id);
  if (found === undefined) throw new Error(`repository ${repository.name} has no git directory`);
  return found;
}
