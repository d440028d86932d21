/** The backends that attacks are played on in this tier: all in the full one; in the quick one a dear backend only at times. */

import { type Backend, backendsHere } from "#test/sandbox/rig.ts";
import { FULL, SEED } from "#test/support/tier.ts";

export async function attackedBackends(): Promise<readonly Backend[]> {
  const all = await backendsHere();
  return FULL ? all : all.filter(({ share = 1 }) => (SEED % 100) / 100 < share);
}
