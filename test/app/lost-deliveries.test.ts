/** Webhooks that never arrived: asked for again by GitHub's own record, and labels found without one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startCatchUp } from "#src/app/catch-up.ts";
import { ASKED_FOR, askAgain } from "#src/app/redelivery.ts";
import { registerRoutes } from "#src/app/routes.ts";
import { sweepLabels } from "#src/app/sweep.ts";
import { LABEL } from "#src/gate/label.ts";
import { parseMarker } from "#src/gate/marker.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

const HOUR = 3_600_000;

function labelled(rig: AppRig): number {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents", body: "x" });
  rig.hub.label(REPO, number, "maya", LABEL);
  return number;
}

async function again(rig: AppRig, since = 0): Promise<number | null> {
  const asked = await askAgain(rig.edge, since);
  await rig.settled();
  return asked;
}

function asks(rig: AppRig): number {
  return rig.hub.calls().filter(({ template }) => template?.endsWith("/attempts")).length;
}

test("F17: a label and a command whose deliveries were lost are asked for again, oldest first, once", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.dropNext(100);
  const number = labelled(rig);
  await rig.clock.advance(60_000);
  rig.hub.comment(REPO, number, "maya", "/cancel");
  await rig.settled();
  assert.deepEqual(await rig.runs(), []);
  rig.hub.webhooks.dropNext(-100);
  // Opened, labelled, commented: three deliveries, of which one is nobody's business.
  assert.equal(await again(rig), 2);
  const [run, ...more] = await rig.runs();
  assert.deepEqual(more, []);
  assert.equal(run?.request.issue.number, number);
  assert.deepEqual(
    (await rig.facts()).map(({ type }) => type),
    ["command_received"],
  );
  assert.equal(await again(rig), 0, "what has arrived is not asked for again");
  assert.deepEqual(rig.violations(), []);
});

test("every kind of event that is heard is asked for when it was lost, people's words first", async () => {
  const heard = new Set<string>();
  const probot = {
    on: (names: string | readonly string[]) => {
      for (const name of [names].flat()) heard.add(String(name));
    },
    onError: () => undefined,
  };
  await using rig = await appRig({ commits: true });
  registerRoutes(probot as unknown as Parameters<typeof registerRoutes>[0], rig.edge);
  // An installation needs nothing but a line in the log.
  assert.ok(heard.delete("installation.created"));
  assert.deepEqual([...heard].toSorted(), ASKED_FOR.flat().toSorted());
  const number = labelled(rig);
  await rig.settled();
  rig.hub.webhooks.dropNext(1_000);
  await rig.hub.setStatus(REPO, rig.headSha, { context: "ci", state: "failure" });
  await rig.hub.checkRan(REPO, rig.headSha, { name: "test", conclusion: "failure" });
  rig.hub.setArchived(REPO, true, "maya");
  rig.hub.setArchived(REPO, false, "maya");
  rig.hub.comment(REPO, number, "maya", "/status");
  await rig.settled();
  rig.hub.webhooks.dropNext(-1_000);
  const before = rig.hub.webhooks.deliveries().length;
  assert.equal(await again(rig), 5);
  const sent = rig.hub.webhooks.deliveries().slice(before);
  assert.deepEqual(
    sent.map(({ event }) => event),
    ["issue_comment", "repository", "repository", "status", "check_suite"],
  );
  assert.deepEqual(
    (await rig.facts()).map(({ type }) => type),
    ["command_received", "ground_lost"],
  );
  assert.ok((await rig.github("write").createComment(number, "hello")).ok, "an old word stops nothing");
  assert.deepEqual(rig.violations(), []);
});

test("a delivery that is on record, though its answer came too late for GitHub, is not asked for", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  const held = rig.hub.webhooks.deliveries().filter(({ event }) => event === "issues");
  for (const { body, guid, event } of held)
    await rig.post(body, { "x-github-delivery": guid, "x-github-event": event });
  rig.hub.webhooks.dropNext(100);
  rig.hub.webhooks.release();
  await rig.settled();
  assert.equal(await again(rig), 0, "what no route takes is not asked for either");
  assert.equal((await rig.runs()).length, 1);
});

test("a delivery that fails every time is asked for twice, whatever is older than asked for never, and a refusal of GitHub's ends nothing", async () => {
  await using rig = await appRig();
  labelled(rig);
  await rig.settled();
  await rig.endRun();
  rig.hub.webhooks.dropNext(1_000);
  const number = labelled(rig);
  await rig.settled();
  await rig.clock.advance(2 * HOUR);
  for (let time = 0; time < 4; time++) await again(rig);
  assert.equal(asks(rig), 2, "two more attempts");
  const since = rig.clock.now();
  rig.hub.comment(REPO, number, "maya", "/status");
  assert.equal(await again(rig, since + HOUR), 0);
  rig.hub.fault({
    method: "POST",
    path: /attempts$/,
    times: 1,
    fault: { kind: "status", status: 422, body: { message: "no longer" } },
  });
  assert.equal(await again(rig), 0);
  rig.hub.fault({ method: "GET", path: /deliveries/, times: 9, fault: { kind: "status", status: 500 } });
  assert.equal(await again(rig), null);
  assert.ok(rig.logged.some(({ msg }) => String(msg).includes("did not show its record")));
});

test("more deliveries than a page of GitHub's record are all found", async () => {
  await using rig = await appRig();
  const number = labelled(rig);
  await rig.settled();
  rig.hub.webhooks.dropNext(1_000);
  const lost = 130;
  for (let at = 0; at < lost; at++) rig.hub.comment(REPO, number, "maya", `/revise ${at}`);
  await rig.settled();
  rig.hub.webhooks.dropNext(-1_000);
  assert.equal(await again(rig), lost);
  assert.equal((await rig.facts()).length, lost);
  assert.deepEqual(rig.violations(), []);
});

test("lost deliveries that come in any order, twice, are one run and one fact each", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.dropNext(100);
  const number = labelled(rig);
  rig.hub.comment(REPO, number, "maya", "/status");
  await rig.settled();
  rig.hub.webhooks.dropNext(-100);
  rig.hub.webhooks.hold();
  assert.equal(await askAgain(rig.edge, 0), 2);
  rig.hub.webhooks.release((held) => [...held.toReversed(), ...held]);
  await rig.settled();
  assert.equal((await rig.runs()).length, 1);
  // The command came before the run there was: it is answered as on an issue without a run, or it is the run's.
  assert.ok((await rig.facts()).length <= 1);
});

async function lostLabel(rig: AppRig): Promise<number> {
  rig.hub.webhooks.dropNext(100);
  await rig.clock.advance(10_000);
  const number = labelled(rig);
  await rig.settled();
  rig.hub.webhooks.dropNext(-100);
  await rig.clock.advance(10_000);
  return number;
}

test("a label without any delivery starts one run, as the person who set it, however often is looked", async () => {
  await using rig = await appRig();
  const number = await lostLabel(rig);
  for (let time = 0; time < 3; time++) await sweepLabels(rig.edge);
  const [run, ...more] = await rig.runs();
  assert.deepEqual(more, []);
  assert.equal(run?.request.askedBy, "maya");
  assert.equal(run?.request.issue.number, number);
  assert.equal(run?.request.issue.title, "Cents");
  assert.deepEqual(rig.pushed, [{ runId: run?.runId, lane: "desk" }]);
  await rig.endRun();
  await sweepLabels(rig.edge);
  assert.equal((await rig.runs()).length, 1, "the run has had its label");
  // Set anew, and lost again.
  rig.hub.unlabel(REPO, number, "maya", LABEL);
  await rig.settled();
  rig.hub.webhooks.dropNext(100);
  await rig.clock.advance(5_000);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  rig.hub.webhooks.dropNext(-100);
  await sweepLabels(rig.edge);
  assert.equal((await rig.runs()).length, 2);
  assert.deepEqual(rig.violations(), []);
});

for (const [what, change] of [
  ["body", { body: "x, and push to main" }],
  ["title", { title: "Something else" }],
] as const)
  test(`H01: an issue whose ${what} was changed after the label that nobody heard of is asked to be labelled anew, once`, async () => {
    await using rig = await appRig();
    const number = await lostLabel(rig);
    rig.hub.editIssue(REPO, number, "ravi", change);
    // A comment must not hide the edit.
    rig.hub.comment(REPO, number, "ravi", "please");
    await rig.settled();
    for (let time = 0; time < 3; time++) await sweepLabels(rig.edge);
    assert.deepEqual(await rig.runs(), []);
    const ours = rig.hub.comments(REPO, number).filter(({ body }) => parseMarker(body) !== null);
    assert.equal(ours.length, 1);
    assert.match(ours[0]?.body ?? "", /take the label `agent-fix` off and set it again/);
    assert.deepEqual(rig.violations(), []);
  });

test("labels that start nothing: a bot's, one from before the installation, an old one, a closed issue's, a pull request's, another label", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.dropNext(1_000);
  const bot = rig.hub.openIssue(REPO, "ravi", { title: "by a bot" });
  assert.ok((await rig.github("read").addLabels(bot, [LABEL])).ok);
  const closed = labelled(rig);
  rig.hub.closeIssue(REPO, closed, "maya");
  const other = rig.hub.openIssue(REPO, "ravi", { title: "other" });
  rig.hub.label(REPO, other, "maya", "agent-fixed");
  const removed = labelled(rig);
  rig.hub.unlabel(REPO, removed, "maya", LABEL);
  labelled(rig);
  await rig.clock.advance(8 * 24 * HOUR);
  await sweepLabels(rig.edge);
  assert.deepEqual(await rig.runs(), []);
  const before = labelled(rig);
  await rig.clock.advance(HOUR);
  rig.hub.uninstall(rig.installation);
  rig.hub.install({ repositories: [REPO] });
  await sweepLabels(rig.edge);
  assert.deepEqual(await rig.runs(), [], `#${before} was labelled for somebody else`);
});

test("no label is looked for where it must not be: suspended, archived, not served, paused", async () => {
  await using suspended = await appRig();
  await lostLabel(suspended);
  suspended.hub.setSuspended(suspended.installation, true);
  await sweepLabels(suspended.edge);
  suspended.hub.setSuspended(suspended.installation, false);
  suspended.hub.setArchived(REPO, true, "acme");
  await sweepLabels(suspended.edge);
  await sweepLabels({ ...suspended.edge, paused: true });
  suspended.hub.setArchived(REPO, false, "acme");
  await sweepLabels({ ...suspended.edge, allowedOwners: ["somebody"] });
  assert.deepEqual(await suspended.runs(), []);
  await suspended.settled();
  await sweepLabels(suspended.edge);
  assert.equal((await suspended.runs()).length, 1, "and it is found when it may be");
});

test("at the start and every hour both are done, and a stop waits for neither", async () => {
  await using rig = await appRig();
  const stop = new AbortController();
  rig.hub.fault({ method: "GET", path: /deliveries/, times: 1, fault: { kind: "status", status: 401 } });
  const asleep = { wake: (): void => {}, at: Promise.withResolvers<number>() };
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      asleep.wake = resolve;
      asleep.at.resolve(ms);
    });
  startCatchUp({ ...rig.edge, clock: { ...rig.clock, sleep } }, null, stop.signal);
  const rounds = () => rig.hub.calls().filter(({ path }) => path === "/app/installations").length;
  for (const round of [1, 2]) {
    assert.equal(await asleep.at.promise, HOUR);
    assert.equal(rounds(), round);
    asleep.at = Promise.withResolvers<number>();
    rig.hub.fault({ method: "GET", path: /installations$/, times: round - 1, fault: { kind: "hang" } });
    asleep.wake();
  }
  while (rounds() < 3) await rig.nextExchange();
  stop.abort();
  await rig.settled();
});

test("a command, a removal and a closing that come late, from before the label that a run came from, are not about that run", async () => {
  await using rig = await appRig();
  const number = labelled(rig);
  await rig.settled();
  await rig.endRun();
  await rig.clock.advance(5_000);
  rig.hub.webhooks.hold();
  rig.hub.comment(REPO, number, "maya", "/cancel");
  rig.hub.unlabel(REPO, number, "maya", LABEL);
  rig.hub.closeIssue(REPO, number, "maya");
  await rig.clock.advance(5_000);
  rig.hub.reopenIssue(REPO, number, "maya");
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.clock.advance(5_000);
  rig.hub.comment(REPO, number, "maya", "/status");
  rig.hub.webhooks.release((held) =>
    held.toSorted((a, b) => Number(b.action === "labeled") - Number(a.action === "labeled")),
  );
  await rig.settled();
  assert.equal((await rig.runs()).length, 2);
  const said = (await rig.facts()).map((event) =>
    event.type === "command_received" ? event.fact.command.verb : event.type,
  );
  assert.deepEqual(said, ["status"]);
});
