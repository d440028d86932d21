/** Every attack that runs as a command in a session. */

import type { Attack, CommandAttack, Group } from "#test/attacks/attack.ts";
import { ESCAPE } from "#test/attacks/list/escape.ts";
import { EXHAUSTION } from "#test/attacks/list/exhaustion.ts";
import { NETWORK } from "#test/attacks/list/network.ts";
import { POISON } from "#test/attacks/list/poison.ts";
import { SECRETS } from "#test/attacks/list/secrets.ts";
import { WRITES } from "#test/attacks/list/writes.ts";

function grouped(group: Group, attacks: readonly CommandAttack[]): readonly Attack[] {
  return attacks.map((attack) => ({ ...attack, group }));
}

export const COMMAND_ATTACKS: readonly Attack[] = [
  ...grouped("secrets", SECRETS),
  ...grouped("writes", WRITES),
  ...grouped("network", NETWORK),
  ...grouped("escape", ESCAPE),
  ...grouped("exhaustion", EXHAUSTION),
  ...grouped("poison", POISON),
];
