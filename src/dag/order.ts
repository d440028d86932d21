/** Checks a step graph and puts it into an order in which every step comes after its needs. */

import type { Step } from "./dag.ts";

/** The steps with needs first, otherwise in the order given; throws a TypeError that names what is wrong with the graph. */
export function inOrder(steps: readonly Step[]): readonly Step[] {
  const byName = new Map<string, Step>();
  for (const step of steps) {
    if (byName.has(step.name)) throw new TypeError(`two steps are named "${step.name}"`);
    byName.set(step.name, step);
  }
  for (const step of steps) checkStep(step, byName);

  const ordered = new Set<Step>();
  while (ordered.size < steps.length) {
    const next = steps.find(
      (step) => !ordered.has(step) && step.needs.every((need) => ordered.has(byName.get(need) as Step)),
    );
    if (next === undefined) {
      const stuck = steps.filter((step) => !ordered.has(step)).map((step) => step.name);
      throw new TypeError(`the needs of these steps form a cycle: ${stuck.join(", ")}`);
    }
    ordered.add(next);
  }
  return [...ordered];
}

function checkStep(step: Step, byName: ReadonlyMap<string, Step>): void {
  for (const need of step.needs) {
    if (!byName.has(need))
      throw new TypeError(`step "${step.name}" needs "${need}", and there is no such step`);
  }
  if (!Number.isInteger(step.attempts) || step.attempts < 1) {
    throw new TypeError(`step "${step.name}" must have at least 1 attempt, not ${step.attempts}`);
  }
  if (!(step.timeLimitMs > 0)) {
    throw new TypeError(`step "${step.name}" must have a time limit above 0 ms, not ${step.timeLimitMs}`);
  }
}
