/** The demo's story: an issue is labelled, the app works and shows its plan, a maintainer answers, and the result is shown. */

import type { Clock } from "#src/base/clock.ts";
import type { RunEvent } from "#src/run/run.ts";
import { MAINTAINER, REPOSITORY, type Stage } from "./stage.ts";
import { colourDiff, type Terminal } from "./terminal.ts";
import { appComments, createTraceTail, type SeenComment, tellEvent, until } from "./watch.ts";

export interface StoryParts {
  readonly stage: Stage;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly tracePath: (runId: string) => string;
  /** Asks the person at the keyboard for the maintainer's next comment; null: the demo approves by itself. */
  readonly ask: (() => Promise<string>) | null;
  readonly output: NodeJS.WriteStream;
  /** How long a run may take: scripted models are quick, real ones are not. */
  readonly limitMs: number;
}

const PHASES: Readonly<Record<string, string>> = {
  preparing: "clones through the mirror cache, sets up, runs the baseline",
  awaiting_intent: "posts what it intends and waits for a maintainer",
  solving: "lets the model work in the sandbox",
  verifying: "checks the result in fresh copies the agent never touched",
  awaiting_approval: "posts its plan and waits for a maintainer",
  rechecking: "checks again, since the base has moved",
  publishing: "opens the pull request",
};

/** How the story ended, for the exit code. */
export type StoryEnd = "published" | "refused" | "cancelled";

export async function tell(parts: StoryParts): Promise<StoryEnd> {
  const { stage, terminal } = parts;
  const { github, issue } = stage;
  terminal.heading(`The issue: ${REPOSITORY}#${issue} "${github.issue(REPOSITORY, issue).title}"`);
  terminal.step(`${MAINTAINER}, a maintainer, sets the label agent-fix`);
  github.label(REPOSITORY, issue, MAINTAINER, "agent-fix");
  const answered = new Set<number>();
  for (;;) {
    const shown = await watchRun(parts, answered);
    if (shown.kind === "ended") return conclude(parts, shown.comment);
    answered.add(shown.comment.id);
    terminal.finish();
    terminal.heading("The plan, as posted on the issue");
    terminal.block(forTerminal(shown.comment.body));
    const end = await answerPlan(parts, shown.comment);
    if (end !== null) return end;
  }
}

interface Shown {
  readonly kind: "plan" | "ended";
  readonly comment: SeenComment;
}

/** Follows the newest run until it shows a new plan or ends without one. */
async function watchRun(parts: StoryParts, answered: ReadonlySet<number>): Promise<Shown> {
  const { stage, terminal, clock, signal, limitMs } = parts;
  const tail = createTraceTail(parts.tracePath);
  return until({ clock, signal, limitMs }, "the app's plan", async (): Promise<Shown | null> => {
    const comments = appComments(stage.github, stage.issue);
    const runId = comments.findLast((comment) => comment.kind === "status")?.runId ?? null;
    if (runId !== null) for (const event of await tail(runId)) showEvent(terminal, event);
    const plan = comments.find((comment) => comment.kind === "plan" && !answered.has(comment.id));
    if (plan !== undefined) return { kind: "plan", comment: plan };
    const result = comments.find((comment) => comment.body.includes("\n\n## No pull request"));
    return result === undefined ? null : { kind: "ended", comment: result };
  });
}

function showEvent(terminal: Terminal, event: Parameters<typeof tellEvent>[0]): void {
  if (event.type === "state") {
    const phase = PHASES[String((event.data as Extract<RunEvent, object> & { to?: string }).to)];
    if (phase !== undefined) terminal.step(`The app ${phase}`);
    return;
  }
  const line = tellEvent(event);
  if (line !== null) terminal.detail(line);
}

/** The maintainer's turn; null when a revision or retry brings another plan. */
async function answerPlan(parts: StoryParts, plan: SeenComment): Promise<StoryEnd | null> {
  const { stage, terminal } = parts;
  const { github, issue } = stage;
  terminal.heading("The maintainer's answer");
  const words = parts.ask === null ? "/approve" : await parts.ask();
  terminal.step(`${MAINTAINER} comments: ${words.split("\n")[0]}`);
  const comment = github.comment(REPOSITORY, issue, MAINTAINER, words);
  const outcome = await until(
    { clock: parts.clock, signal: parts.signal, limitMs: parts.limitMs },
    "the app's answer",
    () => outcomeOf(stage, plan, comment),
  );
  if (outcome === "pull_request") {
    terminal.finish("The pull request is open");
    return showPullRequest(parts, plan);
  }
  if (outcome === "new_run") return null;
  if (outcome === "cancelled") {
    terminal.finish("The run was cancelled; nothing was written to the repository");
    return "cancelled";
  }
  const asked = /^\/(help|status)\b/.test(words);
  terminal.finish(asked ? "The app answers:" : "The app refuses, and says why:", !asked);
  terminal.block(forTerminal(outcome.answer));
  if (parts.ask !== null) return answerPlan(parts, plan);
  terminal.step(`${MAINTAINER} comments: /cancel`);
  github.comment(REPOSITORY, issue, MAINTAINER, "/cancel");
  await until({ clock: parts.clock, signal: parts.signal, limitMs: 30_000 }, "the run's end", () =>
    stage.github.comments(REPOSITORY, issue).some((one) => one.body.includes("was cancelled")) ? true : null,
  );
  terminal.finish("The run was cancelled; there is no pull request");
  return "refused";
}

type Outcome = "pull_request" | "cancelled" | "new_run" | { readonly answer: string };

function outcomeOf(stage: Stage, plan: SeenComment, commentId: number): Outcome | null {
  const { github, issue } = stage;
  const comments = appComments(github, issue);
  const answer = comments.find(({ body }) => body.startsWith("<!--") && body.includes(` for=${commentId} `));
  if (answer !== undefined) return { answer: answer.body };
  const status = comments.findLast((one) => one.kind === "status");
  if (status !== undefined && status.runId !== plan.runId) return "new_run";
  if (/done: pull request #\d+/.test(status?.body ?? "")) return "pull_request";
  if (/was cancelled by/.test(status?.body ?? "")) return "cancelled";
  const failed = comments.find((one) => one.body.includes("## No pull request"));
  return failed === undefined ? null : { answer: failed.body };
}

async function showPullRequest(parts: StoryParts, plan: SeenComment): Promise<StoryEnd> {
  const { stage, terminal, output } = parts;
  const { github } = stage;
  const pull = github.pullRequests(REPOSITORY)[0];
  if (pull?.pull === undefined || pull.pull === null) throw new Error("the pull request is not there");
  const git = github.git(REPOSITORY);
  const diff = await git.diff(pull.pull.base, pull.pull.headSha);
  terminal.heading(`Pull request #${pull.number}: ${pull.title}`);
  terminal.block(colourDiff(diff.trimEnd(), output));
  terminal.heading("Its description");
  terminal.block(forTerminal(pull.body ?? ""));
  if (plan.runId !== null) terminal.block(`\nIts trace: bin/agent-fix trace ${plan.runId}`);
  return "published";
}

function conclude(parts: StoryParts, comment: SeenComment): StoryEnd {
  const { terminal } = parts;
  terminal.finish("The app refuses to offer a pull request", true);
  terminal.heading("What it posted on the issue");
  terminal.block(forTerminal(comment.body));
  if (comment.runId !== null) terminal.block(`\nIts trace: bin/agent-fix trace ${comment.runId}`);
  return "refused";
}

/** Comments are Markdown with a hidden first line and folded parts; a terminal shows neither. */
function forTerminal(body: string): string {
  return body
    .replace(/^<!--.*?-->\n*/s, "")
    .replace(/<details><summary>(.*?)<\/summary>/g, "[$1]")
    .replaceAll("</details>", "")
    .replaceAll("\u200b", "")
    .replace(/\n{3,}/g, "\n\n")
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
