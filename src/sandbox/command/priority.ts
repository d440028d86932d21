/** Gives way to the app: what a repository's commands take of the processor must not keep webhooks waiting. */

import { setPriority } from "node:os";

/** Of 19; whatever runs at 0 gets nine times as much of a processor that both want. */
export const NICENESS = 10;

/** Lowers the priority of a program that was just started, and with it of all that it starts; one that has ended needs none. */
export function giveWay(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICENESS);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_SYSTEM_ERROR") throw error;
  }
}
