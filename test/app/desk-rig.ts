/** The GitHub edge with the lease holder behind it in one process: runs are put into a state by the store, what is said to them is decided and answered for real, and no step of the work is driven. */

import assert from "node:assert/strict";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";
import { err, ok } from "#src/base/result.ts";
import { githubConversation } from "#src/fix/github-conversation.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { formatMarker, type MarkerKind, parseMarker } from "#src/gate/marker.ts";
import type { CommentView } from "#src/github/sim/issue-controls.ts";
import type { Published } from "#src/publish/publish.ts";
import { createEmbeddedQueue } from "#src/queue/embedded.ts";
import type { Queue } from "#src/queue/queue.ts";
import { isEnded, placeOf, type RunEvent, type RunRequest } from "#src/run/run.ts";
import { reduce } from "#src/run/transition.ts";
import { openTrace } from "#src/trace/jsonl.ts";
import { createWorker } from "#src/worker/worker.ts";
import { OPERATOR, withoutTheRest } from "#test/fix/rig.ts";
import { sampleIntent, samplePendingIntent, samplePlan, sampleProposal } from "#test/run/sample.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

export interface DeskRig extends AppRig {
  /** What publishing comes to; null: GitHub gives no answer, so that the run stays where it is. */
  published: Published | null;
  /** Appends to a run's log as its lease holder, and has the run looked at. */
  put(runId: string, ...events: readonly RunEvent[]): Promise<void>;
  /** Posts the run's plan or intent as the app; the events to put, which leave the run waiting for its approval. */
  offer(request: RunRequest, kind: "plan" | "intent", baseSha?: string): Promise<readonly RunEvent[]>;
  events(runId: string): Promise<readonly RunEvent[]>;
  /** The app's comments on an issue or pull request that carry a marker of that kind, or answer that comment. */
  said(place: number, by: { readonly kind: MarkerKind } | { readonly to: number }): readonly CommentView[];
}

/** Plans are made for a base commit that is there, so that a check of the base finds it where it was. */
export async function deskRig(): Promise<DeskRig> {
  const desk = createDesk();
  const rig = await appRig({ commits: true, queue: desk.queue });
  const dir = await tempDir("desk-");
  const state: { published: Published | null } = { published: null };
  const { clock, redactor, store, hub } = rig;
  const ports: FixPorts = withoutTheRest({
    ...{ store, clock, ids: systemIds, log: silentLog, redactor, operator: OPERATOR },
    openTrace: (runId) => openTrace({ dir: dir.path, runId, clock, redactor, log: silentLog }),
    converse: (request, signal) => githubConversation({ app: rig.app, request, clock, signal }),
    workspaces: {
      leftovers: async () => [],
      remove: async () => undefined,
    } as unknown as FixPorts["workspaces"],
    sandbox: { sweep: async () => undefined } as unknown as FixPorts["sandbox"],
    publish: async () =>
      state.published === null
        ? err({ code: "github_failed", certain: false, message: "no answer" })
        : ok(state.published),
  });
  const worker = createWorker({ ports, queue: desk.queue, name: "desk", alone: false });
  await worker.start();
  const events = async (runId: string) => (await store.events(runId)).map(({ event }) => event);
  const put: DeskRig["put"] = async (runId, ...more) => {
    const run = reduce([...(await events(runId)), ...more]);
    assert.ok(run.ok, JSON.stringify(run));
    const lease = await store.claim(runId, "test", 60_000);
    assert.ok(lease !== null, "the run is being looked at");
    await store.append(lease, more, { state: run.value.state, ended: isEnded(run.value) });
    await store.release(lease);
    await desk.queue.push(runId, "desk");
    await desk.idle();
  };
  const settled = async () => {
    do {
      await rig.settled();
      await desk.idle();
      await rig.settled();
    } while (!desk.isIdle());
  };
  return {
    ...rig,
    get published() {
      return state.published;
    },
    set published(value) {
      state.published = value;
    },
    events,
    put,
    settled,
    offer: (request, kind, baseSha = rig.headSha) => offered(rig, request, { kind, baseSha }),
    said: (place, by) =>
      hub.comments(REPO, place).filter(({ body, login }) => {
        const marker = login.endsWith("[bot]") ? parseMarker(body) : null;
        if (marker === null) return false;
        return "kind" in by ? marker.kind === by.kind : marker.forComment === by.to;
      }),
    [Symbol.asyncDispose]: async () => {
      await worker.stop(5_000);
      await rig[Symbol.asyncDispose]();
      await dir.remove();
    },
  };
}

async function offered(
  rig: AppRig,
  request: RunRequest,
  { kind, baseSha }: { readonly kind: "plan" | "intent"; readonly baseSha: string },
): Promise<readonly RunEvent[]> {
  const { runId, repository, issue } = request;
  const marker = formatMarker({ runId, kind, seq: 1, forComment: null });
  const posted = await rig.github("discuss").createComment(placeOf(request), `${marker}\nThe ${kind}`);
  assert.ok(posted.ok);
  const { id: commentId, createdAt } = posted.value;
  const effect = `${kind}-comment`;
  const done = { id: String(commentId), url: null };
  const shown: RunEvent[] = [
    { type: "effect_intended", effect },
    { type: "effect_done", effect, result: done },
  ];
  const whose = { repositoryId: repository.id, issue: issue.number, runId };
  if (kind === "intent") {
    const intent = sampleIntent({ ...whose, baseSha });
    return [
      ...shown,
      { type: "intended", ...samplePendingIntent({ intent, commentId, commentAt: createdAt }) },
    ];
  }
  const proposal = sampleProposal({
    ...whose,
    baseSha,
    targetBranch: request.pullRequest?.branch ?? "main",
  });
  const place = { planCommentId: commentId, planCommentAt: createdAt };
  return [...shown, { type: "proposed", ...samplePlan({ proposal, ...place }) }];
}

interface Desk {
  readonly queue: Queue;
  isIdle(): boolean;
  /** Resolves when no run is being looked at and none waits for it. */
  idle(): Promise<void>;
}

/** The real queue, but what is pushed to the lane of work stays there: nobody works. */
function createDesk(): Desk {
  const real = createEmbeddedQueue({ concurrency: { work: 1, desk: 4 }, clock: systemClock, log: silentLog });
  const work = new Set<string>();
  const waiting: (() => void)[] = [];
  let busy = 0;
  const isIdle = () => busy === 0 && real.waiting("desk").length === 0;
  const tell = () => {
    if (isIdle()) for (const resolve of waiting.splice(0)) resolve();
  };
  const queue: Queue = {
    ...real,
    push: async (runId, lane) => {
      if (lane === "work") work.add(runId);
      else await real.push(runId, lane);
    },
    drop: async (runId, lane) => {
      if (lane === "work") work.delete(runId);
      else await real.drop(runId, lane);
    },
    waiting: (lane) => (lane === "work" ? [...work] : real.waiting(lane)),
    start: (handle) =>
      real.start(async (runId, lane, attention) => {
        busy++;
        try {
          await handle(runId, lane, attention);
        } finally {
          busy--;
          setImmediate(tell);
        }
      }),
  };
  return {
    queue,
    isIdle,
    idle: async () => {
      if (!isIdle()) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
