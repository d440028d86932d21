/** Deliveries: each once, none lost by a failure of ours, none believed without its signature over the raw bytes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import type { Receipt, Store } from "#src/store/store.ts";
import { WEBHOOK_SECRET } from "#test/support/github.ts";
import { type AppRig, appRig, REPO, signatureOf } from "./rig.ts";

function labelled(rig: AppRig): number {
  const number = rig.hub.openIssue(REPO, "ravi", { title: "Cents", body: "x" });
  rig.hub.label(REPO, number, "maya", LABEL);
  return number;
}

function lastDelivery(rig: AppRig, action = "labeled") {
  const delivery = rig.hub.webhooks.deliveries().findLast((one) => one.action === action);
  assert.ok(delivery !== undefined);
  return delivery;
}

test("F01: a delivery that comes again, at once or later, is one run", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  rig.hub.webhooks.release((held) => [...held, ...held]);
  await rig.settled();
  const delivery = lastDelivery(rig);
  rig.hub.webhooks.redeliver(delivery.id);
  await rig.settled();
  assert.equal((await rig.runs()).length, 1);
  assert.equal(rig.pushed.length, 1);
  await rig.endRun();
  rig.hub.webhooks.redeliver(delivery.id);
  await rig.settled();
  assert.equal((await rig.runs()).length, 1, "a redelivery after the end starts nothing");
  for (const one of rig.hub.webhooks.deliveries().filter(({ event }) => event === "issues"))
    assert.equal(one.statusCode, 200);
});

test("F01: the same body under a new id is the same delivery, however it is spaced", async () => {
  await using rig = await appRig();
  labelled(rig);
  await rig.settled();
  await rig.endRun();
  const { body } = lastDelivery(rig);
  for (const same of [body, JSON.stringify(JSON.parse(body), null, 2)])
    assert.equal((await rig.post(same)).status, 200);
  assert.equal((await rig.runs()).length, 1);
});

test("F01: twenty copies at the same time are one run and are all answered", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  const { body } = lastDelivery(rig);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      rig.post(body, { "x-github-delivery": index % 2 ? "same" : `x${index}` }),
    ),
  );
  rig.hub.webhooks.release(() => []);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal((await rig.runs()).length, 1);
});

/** A store that cannot record for the first `times` times. */
function failing(times: number, hits: (receipt: Receipt) => boolean): (store: Store) => Store {
  let left = times;
  return (store) => ({
    ...store,
    receive: async (delivery, receipt) => {
      if (hits(receipt) && left-- > 0) throw new Error("the disk is full");
      return store.receive(delivery, receipt);
    },
  });
}

test("a delivery that cannot be recorded is answered with 500, and taken when it comes again", async () => {
  await using rig = await appRig({ wrapStore: failing(1, () => true) });
  labelled(rig);
  await rig.settled();
  const delivery = lastDelivery(rig);
  assert.equal(delivery.statusCode, 500);
  assert.deepEqual(await rig.runs(), []);
  rig.hub.webhooks.redeliver(delivery.id);
  await rig.settled();
  assert.equal(lastDelivery(rig).statusCode, 200);
  assert.equal((await rig.runs()).length, 1);
  assert.equal(rig.pushed.length, 1);
});

test("a command whose record fails is taken when it comes again, and is one fact", async () => {
  await using rig = await appRig({ wrapStore: failing(1, ({ kind }) => kind === "facts") });
  const number = labelled(rig);
  await rig.settled();
  rig.hub.comment(REPO, number, "maya", "/cancel");
  await rig.settled();
  assert.deepEqual(await rig.facts(), []);
  const delivery = lastDelivery(rig, "created");
  for (let time = 0; time < 3; time++) rig.hub.webhooks.redeliver(delivery.id);
  await rig.settled();
  assert.equal((await rig.facts()).length, 1);
});

test("a hint that was lost with its delivery is given by the next one", async () => {
  await using rig = await appRig();
  const number = labelled(rig);
  await rig.settled();
  const [run] = await rig.runs();
  await rig.clock.advance(5_000);
  rig.hub.unlabel(REPO, number, "maya", LABEL);
  await rig.clock.advance(5_000);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  assert.deepEqual(rig.pushed.at(-1), { runId: run?.runId, lane: "desk" });
});

test("F15: the signature is checked over the raw bytes: escapes, number forms and spacing do not matter", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  const payload = JSON.parse(lastDelivery(rig).body);
  rig.hub.webhooks.release(() => []);
  const forms = [
    (text: string) => text.replace('"Cents"', '"caf\\u00e9 \\ud83d\\ude00 \\/ \\u003c"'),
    (text: string) => text.replace(/"number":(\d+)/, '"number": $1.0'),
    (text: string) => `\n  ${text.replaceAll('","', '" ,\t"')}\r\n`,
    (text: string) => text.replace('"Cents"', '"naïve 日本 😀\u2028"'),
    (text: string) => text.replace(/"number":(\d+)/, '"number":$1e0,"extra":12345678901234567890'),
  ];
  for (const [index, form] of forms.entries()) {
    payload.issue.number = 100 + index;
    const body = form(JSON.stringify(payload));
    assert.equal((await rig.post(body)).status, 200, body.slice(0, 80));
  }
  const runs = await rig.runs();
  assert.deepEqual(runs.map(({ request }) => request.issue.number).toReversed(), [100, 101, 102, 103, 104]);
  assert.ok(runs.some(({ request }) => request.issue.title === "café 😀 / <"));
});

test("F15: a body that is not exactly what was signed is refused and logged with its delivery, and nothing happens", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  const { body } = lastDelivery(rig);
  rig.hub.webhooks.release(() => []);
  const reserialised = JSON.stringify(JSON.parse(body), null, 1);
  const bad: readonly (readonly [string, Record<string, string>])[] = [
    [body, { "x-hub-signature-256": signatureOf(reserialised) }],
    [`${body} `, { "x-hub-signature-256": signatureOf(body) }],
    [body, { "x-hub-signature-256": signatureOf(body, "another secret") }],
    [body, { "x-hub-signature-256": signatureOf(body, "development") }],
    [body, { "x-hub-signature-256": "" }],
    [body, { "x-hub-signature-256": "sha256=" }],
    [body, { "x-hub-signature-256": signatureOf(body).toUpperCase() }],
    [body, { "x-hub-signature-256": WEBHOOK_SECRET }],
  ];
  for (const [index, [text, headers]] of bad.entries()) {
    const answer = await rig.post(text, { ...headers, "x-github-delivery": `bad-${index}` });
    assert.equal(answer.status, 400, JSON.stringify(answer));
  }
  assert.deepEqual(await rig.runs(), []);
  assert.ok(
    rig.logged.some((line) => JSON.stringify(line).includes("bad-0")),
    "the log names the delivery",
  );
  assert.ok(!JSON.stringify(rig.logged).includes(WEBHOOK_SECRET));
  assert.equal((await rig.post(body)).status, 200, "the delivery itself is still taken");
  assert.equal((await rig.runs()).length, 1);
});

test("a payload that lacks what it should hold is answered, logged and ignored", async () => {
  await using rig = await appRig();
  rig.hub.webhooks.hold();
  labelled(rig);
  const payload = JSON.parse(lastDelivery(rig).body);
  rig.hub.webhooks.release(() => []);
  for (const broken of [
    { ...payload, installation: undefined },
    { ...payload, issue: null },
    { ...payload, repository: { ...payload.repository, id: "7" } },
    { ...payload, sender: undefined },
    { ...payload, label: 5 },
  ])
    assert.ok((await rig.post(JSON.stringify(broken))).status < 300);
  assert.deepEqual(await rig.runs(), []);
  assert.ok(rig.logged.some(({ msg }) => String(msg).includes("lacks what it should hold")));
});

test("events nobody asked for are answered and ignored", async () => {
  await using rig = await appRig();
  for (const event of ["ping", "push", "star", "check_run"]) {
    const answer = await rig.post(JSON.stringify({ action: "created", zen: "x" }), {
      "x-github-event": event,
    });
    assert.ok(answer.status < 300, `${event}: ${answer.status}`);
  }
  assert.deepEqual(await rig.runs(), []);
});
