/** Comments of ours that people edit or delete, and issues that they lock: what is on record decides, whoever approves is told, and the status is right again. */

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { shortDigest } from "#src/run/proposal.ts";
import type { RunEvent, RunRequest } from "#src/run/run.ts";
import { type DeskRig, deskRig } from "./desk-rig.ts";
import { REPO } from "./rig.ts";

let rig: DeskRig;

before(async () => {
  rig = await deskRig();
});

afterEach(() => rig.hub.clearFaults());

after(async () => {
  const violations = rig.violations();
  await rig[Symbol.asyncDispose]();
  assert.deepEqual(violations, []);
});

const FORGED = "0123456789ab";

interface Offered {
  readonly request: RunRequest;
  readonly digest: string;
  readonly kind: "plan" | "intent";
  readonly comment: number;
}

async function offered(kind: Offered["kind"]): Promise<Offered> {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents are wrong", body: "2.5 for 205" });
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  const run = await rig.store.latestRun(rig.repo.id, number);
  assert.ok(run !== null);
  const phases = (["preparing", "solving", "verifying"] as const).map(
    (phase): RunEvent => ({ type: "phase_entered", phase }),
  );
  const offer = await rig.offer(run.request, kind);
  await keepBody(run.request, kind, number);
  await rig.put(run.runId, ...(kind === "plan" ? phases : phases.slice(0, 1)), ...offer);
  const event = offer.find(({ type }) => type === "proposed" || type === "intended");
  assert.ok(event?.type === "proposed" || event?.type === "intended");
  const comment = rig.said(number, { kind })[0]?.id ?? 0;
  await rig.clock.advance(120_000);
  return { request: run.request, digest: event.digest, kind, comment };
}

/** As the step that posts it keeps it, without the marker. */
async function keepBody({ runId }: RunRequest, kind: Offered["kind"], number: number): Promise<void> {
  const body = rig.said(number, { kind })[0]?.body ?? "";
  const lease = await rig.store.claim(runId, "test", 60_000);
  assert.ok(lease !== null);
  await rig.store.putBlob(lease, `${kind}-body`, Buffer.from(body.slice(body.indexOf("\n") + 1)));
  await rig.store.release(lease);
}

async function say({ request }: Offered, words: string): Promise<string> {
  const { number } = request.issue;
  const comment = rig.hub.comment(REPO, number, "maya", words);
  await rig.settled();
  return rig
    .said(number, { to: comment })
    .map(({ body }) => body.split("\n")[1])
    .join();
}

async function approvals({ request }: Offered): Promise<readonly string[]> {
  return (await rig.events(request.runId)).flatMap((event) =>
    event.type === "approved" || event.type === "intent_approved" ? [event.digest] : [],
  );
}

for (const kind of ["plan", "intent"] as const) {
  test(`H03: a ${kind} that somebody edited to show another digest approves nothing by that digest, and by no digest either; it is put back, and the digest on record counts`, async () => {
    const at = await offered(kind);
    const body = rig.said(at.request.issue.number, { kind })[0]?.body ?? "";
    rig.hub.editComment(REPO, at.comment, "eve", `${body.split("\n")[0]}\n\nHarmless. Digest: \`${FORGED}\``);
    await rig.settled();
    assert.match(
      await say(at, "/approve"),
      /was edited after I posted it.*put it back; please read it again/,
    );
    assert.match(rig.said(at.request.issue.number, { kind })[0]?.body ?? "", new RegExp(`The ${kind}$`));
    assert.match(await say(at, `/approve ${FORGED}`), new RegExp(`is not the newest ${kind}'s`));
    assert.deepEqual(await approvals(at), []);
    await say(at, `/approve ${shortDigest(at.digest)}`);
    assert.deepEqual(await approvals(at), [at.digest]);
  });

  test(`H03: a ${kind} that somebody deleted is not approved by the bare word; its digest counts`, async () => {
    const at = await offered(kind);
    rig.hub.deleteComment(REPO, at.comment, "eve");
    await rig.settled();
    assert.match(
      await say(at, "/approve"),
      new RegExp(`The ${kind} was deleted.*/approve ${shortDigest(at.digest)}`),
    );
    assert.deepEqual(await approvals(at), []);
    await say(at, `/approve ${shortDigest(at.digest)}`);
    assert.deepEqual(await approvals(at), [at.digest]);
  });

  test(`an untouched ${kind} is approved by the bare word`, async () => {
    const at = await offered(kind);
    await say(at, "/approve");
    assert.deepEqual(await approvals(at), [at.digest]);
  });
}

test("without an answer of GitHub's on how the plan stands, the bare word approves nothing", async () => {
  const at = await offered("plan");
  const path = /issues\/comments\/\d+$/;
  rig.hub.fault({ method: "GET", path, times: 9, fault: { kind: "status", status: 502 } });
  assert.match(await say(at, "/approve"), /could not look whether the plan still stands/);
  rig.hub.clearFaults();
  await say(at, "/approve");
  assert.deepEqual(await approvals(at), [at.digest]);
});

test("whoever may not approve learns nothing of it, and GitHub is not asked", async () => {
  const at = await offered("plan");
  rig.hub.editComment(REPO, at.comment, "eve", "edited");
  await rig.settled();
  const before = rig.hub.calls().length;
  rig.hub.comment(REPO, at.request.issue.number, "ravi", "/approve");
  await rig.settled();
  const asked = rig.hub.calls().slice(before);
  assert.ok(!asked.some(({ method, path }) => method === "GET" && /issues\/comments\/\d+$/.test(path)));
  assert.equal(
    rig.hub.comments(REPO, at.request.issue.number).find(({ id }) => id === at.comment)?.body,
    "edited",
  );
});

test("a status comment that somebody edited or deleted says the truth again at the next change, and there is one", async () => {
  const at = await offered("plan");
  const { number } = at.request.issue;
  const status = () => rig.said(number, { kind: "status" });
  rig.hub.editComment(REPO, status()[0]?.id ?? 0, "eve", "**agent-fix** · all is published");
  await rig.settled();
  assert.deepEqual(status(), [], "its marker is gone");
  await say(at, "/cancel");
  assert.equal(status().length, 1);
  assert.match(status()[0]?.body ?? "", /cancelled by maya/);
  const other = await offered("plan");
  const theirs = () => rig.said(other.request.issue.number, { kind: "status" });
  rig.hub.deleteComment(REPO, theirs()[0]?.id ?? 0, "eve");
  await rig.settled();
  await say(other, "/cancel");
  assert.equal(theirs().length, 1);
  assert.match(theirs()[0]?.body ?? "", /cancelled by maya/);
});

test("on a locked issue a command is decided and acknowledged by its reaction; the answer that GitHub refuses is asked for once, and the run goes on", async () => {
  const at = await offered("plan");
  const { number } = at.request.issue;
  rig.hub.lock(REPO, number, "maya");
  const refused = rig.hub.comment(REPO, number, "maya", `/approve ${FORGED}`);
  await rig.settled();
  assert.deepEqual(rig.said(number, { to: refused }), []);
  const reactions = (id: number) => rig.hub.comments(REPO, number).find((one) => one.id === id)?.reactions;
  assert.deepEqual(reactions(refused), ["confused"]);
  const tries = rig.hub
    .calls()
    .filter(({ method, path }) => method === "POST" && path.endsWith(`/${number}/comments`));
  assert.equal(tries.filter(({ status }) => status === 403).length, 1);
  await say(at, "/cancel");
  assert.equal((await rig.store.run(at.request.runId))?.state, "cancelled");
  assert.match(rig.said(number, { kind: "status" })[0]?.body ?? "", /cancelled by maya/, "edits are taken");
  assert.match(rig.said(number, { kind: "plan" })[0]?.body ?? "", /Withdrawn/);
});
