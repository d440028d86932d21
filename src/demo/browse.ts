/** The demo in a browser: the embedded GitHub shows its pages, and whoever visits them plays the maintainer and the reporter. */

import { readTrace } from "#src/trace/read.ts";
import { createPages } from "./page/pages.ts";
import { MAINTAINER, REPORTER, REPOSITORY, type Stage } from "./stage.ts";
import type { Terminal } from "./terminal.ts";
import { appComments, tellEvent } from "./watch.ts";

export interface BrowseParts {
  readonly stage: Stage;
  readonly terminal: Terminal;
  readonly tracePath: (runId: string) => string;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** Shows the pages until the signal is aborted; they have no end of their own, hence null. */
export async function browse({ stage, terminal, tracePath, signal }: BrowseParts): Promise<null> {
  const { github, issue } = stage;
  github.servePages(
    createPages({
      github,
      repository: REPOSITORY,
      people: [
        { login: MAINTAINER, mayWrite: true },
        { login: REPORTER, mayWrite: false },
      ],
      label: "agent-fix",
      stepsOf: (number) => stepsOf(stage, tracePath, number),
    }),
  );
  terminal.heading("Open this page; you are the maintainer");
  terminal.step(`${github.url}/${REPOSITORY}/issues/${issue}`);
  terminal.detail(
    "Set the label agent-fix, watch, read the plan, and answer it with /approve, /revise <text> or /cancel.",
  );
  terminal.detail("Ctrl-C ends the demo.");
  if (signal.aborted) return null;
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null), { once: true }));
}

async function stepsOf(
  { github }: Stage,
  tracePath: (runId: string) => string,
  number: number,
): Promise<readonly string[]> {
  const runId = appComments(github, number).findLast((comment) => comment.runId !== null)?.runId ?? null;
  if (runId === null) return [];
  const trace = await readTrace(tracePath(runId));
  return trace.ok ? trace.value.events.flatMap((event) => tellEvent(event) ?? []) : [];
}
