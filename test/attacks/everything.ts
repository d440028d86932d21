/** The whole list of attacks, of every kind, for the documentation. */

import type { Group, Listed } from "#test/attacks/attack.ts";
import { FORGERIES } from "#test/attacks/list/forgeries.ts";
import { GIT } from "#test/attacks/list/git.ts";
import { SLOW } from "#test/attacks/list/slow.ts";
import { COMMAND_ATTACKS } from "#test/attacks/list.ts";

type Parts = Pick<Listed, "name" | "holds" | "fault" | "notStopped">;

function listed(group: Group, { name, holds, fault, notStopped }: Parts): Listed {
  return {
    ...{ name, group, holds },
    ...(fault === undefined ? {} : { fault }),
    ...(notStopped === undefined ? {} : { notStopped }),
  };
}

export const ATTACKS: readonly Listed[] = [
  ...COMMAND_ATTACKS.map((attack) => listed(attack.group, attack)),
  ...GIT.map((attack) => listed("git", attack)),
  ...FORGERIES.map((forgery) => listed("forgery", { ...forgery, holds: "the verdict is not `proven`" })),
  ...SLOW.map((attack) => listed("slow", attack)),
];
