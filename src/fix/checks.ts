/** How the checks of our pull request came out: what the log has of it, and what a revision is given of those that failed. */

import { headOf } from "#src/base/cut-text.ts";
import type { FailedCheckRun } from "#src/github/surroundings.ts";
import type { FailedCheck, RunEvent } from "#src/run/run.ts";
import type { RunContext } from "./run-context.ts";

const MOST_CHECKS = 8;
const MOST_ANNOTATIONS = 10;
const LONGEST = { name: 100, title: 200, summary: 2_000, annotation: 300, path: 200 };

/** What a request keeps of failed checks: few and short, since it is stored and read by a model. Pure. */
export function boundedChecks(runs: readonly FailedCheckRun[]): readonly FailedCheck[] {
  return runs.slice(0, MOST_CHECKS).map(({ name, conclusion, title, summary, annotations }) => ({
    name: headOf(name, LONGEST.name),
    conclusion: headOf(conclusion, LONGEST.name),
    summary: [headOf(title, LONGEST.title), headOf(summary, LONGEST.summary)]
      .filter((text) => text !== "")
      .join("\n"),
    annotations: annotations
      .slice(0, MOST_ANNOTATIONS)
      .map(
        ({ path, line, message }) =>
          `${headOf(path, LONGEST.path)}:${line}: ${headOf(message, LONGEST.annotation)}`,
      ),
  }));
}

/** As the agent reads it, inside a fence of its own. Pure. */
export function checksText(checks: readonly FailedCheck[]): string {
  return checks
    .map(({ name, conclusion, summary, annotations }) =>
      [`Check ${JSON.stringify(name)}: ${conclusion}`, summary, ...annotations]
        .filter((text) => text !== "")
        .join("\n"),
    )
    .join("\n\n");
}

type ChecksConcluded = Extract<RunEvent, { type: "checks_concluded" }>;

/** The newest outcome of each suite on the commit that the run pushed. */
export function checksOf({ events, run }: Pick<RunContext, "events" | "run">): readonly ChecksConcluded[] {
  const state = run();
  if (state.state !== "published") return [];
  const newest = new Map<string, ChecksConcluded>();
  for (const { event } of events())
    if (event.type === "checks_concluded" && event.headSha === state.commitSha) newest.set(event.name, event);
  return [...newest.values()];
}

/** How many outcomes are on record, told or not. */
export function checksRecorded({ events }: Pick<RunContext, "events">): number {
  return events().filter(({ event }) => event.type === "checks_concluded").length;
}
