/** How long people wait: from the label to the first sign, and from `/approve` to the pull request, with GitHub's own time known. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { systemClock } from "#src/base/clock.ts";
import { LABEL, MAINTAINER, type Outside } from "#test/support/outside.ts";
import { SMALL_FILES } from "#test/support/small-job.ts";
import { median, type Row } from "./row.ts";

const TIMES = 5;
const POLL_MS = 5;
const SIGN_TARGET_MS = 1_000;
const PULL_TARGET_MS = 2_000;

interface Wait {
  readonly totalMs: number;
  /** Of it, while the embedded GitHub was answering at least one request. */
  readonly gitHubMs: number;
  readonly calls: number;
}

export async function waitRows(world: Outside): Promise<readonly Row[]> {
  const { github } = world;
  const watch = watchGitHub(github.host);
  const sign: Wait[] = [];
  const pull: Wait[] = [];
  for (let time = 0; time < TIMES; time++) {
    const { fullName: repo } = await world.addRepository({ name: `waits-${time}`, files: SMALL_FILES });
    const issue = world.openIssue({}, repo);
    const signed = () =>
      github.issue(repo, issue).reactions.length > 0 || github.comments(repo, issue).length > 0;
    sign.push(await watch.wait(() => github.label(repo, issue, MAINTAINER, LABEL), signed));
    await world.untilState(issue, "awaiting_approval", repo);
    const opened = () => github.pullRequests(repo).length > 0;
    const approve = () => github.comment(repo, issue, MAINTAINER, "/approve unverified");
    pull.push(await watch.wait(approve, opened));
  }
  watch.stop();
  return [
    {
      name: "webhooks",
      what: "from the label to the first visible sign, a reaction or a comment",
      unit: "ms",
      values: sign.map(({ totalMs }) => totalMs),
      target: SIGN_TARGET_MS,
      note: noteOf(sign),
    },
    {
      name: "webhooks",
      what: "from `/approve` to the pull request, the base unmoved, less GitHub's own time",
      unit: "ms",
      values: pull.map(({ totalMs, gitHubMs }) => totalMs - gitHubMs),
      target: PULL_TARGET_MS,
      note: noteOf(pull),
    },
  ];
}

function noteOf(waits: readonly Wait[]): string {
  const of = (part: (wait: Wait) => number) => median(waits.map(part)).toFixed(0);
  return `${of(({ totalMs }) => totalMs)} ms in all, of which the embedded GitHub took ${of(({ gitHubMs }) => gitHubMs)} ms over ${of(({ calls }) => calls)} requests of REST and git`;
}

interface Span {
  readonly from: number;
  to: number | null;
}

/** Node tells of every request that a server of this process takes; those to other ports are the model's. */
function watchGitHub(host: string): {
  wait(begin: () => unknown, until: () => boolean): Promise<Wait>;
  stop(): void;
} {
  const spans = new Map<IncomingMessage, Span>();
  const onStart = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    if (request.headers.host === host) spans.set(request, { from: performance.now(), to: null });
  };
  const onFinish = (message: unknown) => {
    const span = spans.get((message as { readonly request: IncomingMessage }).request);
    if (span !== undefined) span.to = performance.now();
  };
  subscribe("http.server.request.start", onStart);
  subscribe("http.server.response.finish", onFinish);
  return {
    wait: async (begin, until) => {
      spans.clear();
      const from = performance.now();
      begin();
      while (!until()) await systemClock.sleep(POLL_MS);
      const to = performance.now();
      return { totalMs: to - from, gitHubMs: covered([...spans.values()], to), calls: spans.size };
    },
    stop: () => {
      unsubscribe("http.server.request.start", onStart);
      unsubscribe("http.server.response.finish", onFinish);
    },
  };
}

/** The time that the spans, which began in order, cover together before `end`. */
function covered(spans: readonly Span[], end: number): number {
  let sum = 0;
  let until = 0;
  for (const { from, to } of spans) {
    const last = Math.min(to ?? end, end);
    sum += Math.max(0, last - Math.max(from, until));
    until = Math.max(until, last);
  }
  return sum;
}
