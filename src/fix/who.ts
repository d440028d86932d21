/** Asks GitHub what the gate must know of a person: their permission now and, where the repository lists teams, their membership. */

import {
  type Approvers,
  type Deed,
  EVERYONE_WHO_WRITES,
  type KnownPermission,
  mayDecide,
  type WhoFacts,
} from "#src/gate/who.ts";
import { preparedOf } from "./intents.ts";
import type { RunContext } from "./run-context.ts";

/** Who approves by the repository file at the base commit; before a run is prepared, whoever writes. */
export function approversOf(context: Pick<RunContext, "stepLog">): Approvers {
  const settings = preparedOf(context)?.settings;
  if (settings === undefined) return EVERYONE_WHO_WRITES;
  // Runs that an earlier version prepared know no least permission.
  return { least: settings.approverPermission ?? "write", listed: settings.approvers };
}

export async function factsAbout(context: RunContext, login: string, deed: Deed): Promise<WhoFacts> {
  const permission = await context.conversation.permission(login);
  const approvers = approversOf(context);
  const asked = deed === "approve" ? await teamsOf(context, login, permission) : [];
  return { login, permission, approvers, teams: asked };
}

/** Asked only when it decides: one membership is enough. */
async function teamsOf(
  context: RunContext,
  login: string,
  permission: KnownPermission,
): Promise<readonly string[]> {
  const { listed } = approversOf(context);
  if (listed === null || !mayDecide(permission) || listed.includes(login.toLowerCase())) return [];
  for (const team of listed.filter((name) => name.includes("/")))
    if (await context.conversation.isMember(team, login)) return [team];
  return [];
}
