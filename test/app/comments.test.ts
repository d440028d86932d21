/** Comments to facts: whose are heard, which are commands, and the one answer on an issue that never had a run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LABEL } from "#src/gate/label.ts";
import { parseMarker } from "#src/gate/marker.ts";
import { HELP, NO_RUN_YET } from "#src/gate/status-comment.ts";
import { branchName } from "#src/publish/publish.ts";
import { type AppRig, appRig, REPO } from "./rig.ts";

const ISSUE = { title: "/approve", body: "/approve\n" };

async function rigWithRun(commits = false): Promise<AppRig & { readonly number: number }> {
  const rig = await appRig({ commits });
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  rig.hub.label(REPO, number, "maya", LABEL);
  await rig.settled();
  return { ...rig, number };
}

test("a command is recorded once as a fact with who, where and the issue as it stood, whoever wrote it", async () => {
  await using rig = await rigWithRun();
  await rig.clock.advance(1_000);
  rig.hub.editIssue(REPO, rig.number, "ravi", { title: "Edited", body: "new text" });
  const id = rig.hub.comment(REPO, rig.number, "ravi", "/approve 0123456789ab\r\n");
  await rig.settled();
  const approve = { verb: "approve", digest: "0123456789ab", unverified: false };
  const issue = { title: "Edited", body: "new text" };
  const [run] = await rig.runs();
  const from = { repository: run?.request.repository, installationId: rig.installation };
  const at = rig.clock.now();
  assert.deepEqual(await rig.facts(), [
    { type: "command_received", fact: { command: approve, by: "ravi", commentId: id, at, from, issue } },
  ]);
  assert.equal(rig.pushed.at(-1)?.lane, "desk");
  // The edge itself answers nothing while there is a run.
  assert.equal(rig.hub.comments(REPO, rig.number).length, 1);
});

test("comments that are no command, and a title that looks like one, are not heard", async () => {
  await using rig = await rigWithRun();
  for (const body of [
    "> /approve",
    "```\n/approve\n```",
    "please do not /approve yet",
    "hello",
    "<!-- /approve -->",
  ])
    rig.hub.comment(REPO, rig.number, "maya", body);
  await rig.settled();
  assert.deepEqual(await rig.facts(), []);
});

test("edited comments are not heard, not even when they become a command", async () => {
  await using rig = await rigWithRun();
  const id = rig.hub.comment(REPO, rig.number, "maya", "looks good");
  rig.hub.editComment(REPO, id, "maya", "/approve");
  rig.hub.deleteComment(REPO, id, "maya");
  await rig.settled();
  assert.deepEqual(await rig.facts(), []);
});

test("F05: commands by bots, through apps and by the app itself are not heard", async () => {
  await using rig = await rigWithRun();
  const id = rig.hub.comment(REPO, rig.number, "maya", "/cancel");
  await rig.settled();
  const delivery = rig.hub.webhooks.deliveries().findLast(({ event }) => event === "issue_comment");
  const variants: readonly ((payload: Record<string, Record<string, unknown>>) => void)[] = [
    (payload) => Object.assign(payload.sender ?? {}, { type: "Bot", login: "other[bot]" }),
    (payload) =>
      Object.assign(payload.comment ?? {}, { user: { login: "agent-fix-test[bot]", type: "Bot" } }),
    (payload) => Object.assign(payload.comment ?? {}, { performed_via_github_app: { id: 99 } }),
  ];
  for (const [index, change] of variants.entries()) {
    const payload = JSON.parse(delivery?.body ?? "");
    payload.comment.id = id + 1_000 + index;
    change(payload);
    assert.equal(
      (await rig.post(JSON.stringify(payload), { "x-github-event": "issue_comment" })).status,
      200,
    );
  }
  assert.equal((await rig.facts()).length, 1);
  const posted = await rig.github("read").createComment(rig.number, "/approve is what you would say");
  assert.ok(posted.ok);
  await rig.settled();
  assert.equal((await rig.facts()).length, 1);
});

test("a comment on a pull request is another conversation", async () => {
  await using rig = await rigWithRun();
  rig.hub.comment(REPO, rig.number, "maya", "/status");
  await rig.settled();
  const delivery = rig.hub.webhooks.deliveries().findLast(({ event }) => event === "issue_comment");
  const payload = JSON.parse(delivery?.body ?? "");
  payload.comment.id += 5_000;
  payload.issue.pull_request = { url: "x", html_url: "x", diff_url: "x", patch_url: "x" };
  await rig.post(JSON.stringify(payload), { "x-github-event": "issue_comment" });
  assert.equal((await rig.facts()).length, 1);
});

test("after its end a run still gets the commands, which its lease holder answers", async () => {
  await using rig = await rigWithRun();
  await rig.endRun();
  rig.hub.comment(REPO, rig.number, "maya", "/retry budget=5");
  await rig.settled();
  assert.deepEqual(
    (await rig.facts()).map(({ type }) => type),
    ["cancelled", "command_received"],
  );
});

test("without a run a command is answered once: help to everybody, the rest to those with rights", async () => {
  await using rig = await appRig();
  rig.hub.setPermission(REPO, "tina", "triage");
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  const said = [
    ["ravi", "/help", HELP],
    ["ravi", "/status", NO_RUN_YET],
    ["tina", "/approve", NO_RUN_YET],
    ["maya", "/aprove", "`/approve`"],
    ["ravi", "/approve", null],
    ["stranger", "/cancel", null],
  ] as const;
  for (const [login, body, expected] of said) {
    const id = rig.hub.comment(REPO, number, login, body);
    await rig.settled();
    const answers = rig.hub
      .comments(REPO, number)
      .filter((comment) => parseMarker(comment.body)?.forComment === id);
    assert.equal(answers.length, expected === null ? 0 : 1, `${login} ${body}`);
    if (expected !== null) assert.ok(answers[0]?.body.includes(expected), answers[0]?.body);
    const reaction = rig.hub.comments(REPO, number).find((comment) => comment.id === id)?.reactions;
    assert.deepEqual(reaction, [body === "/help" || body === "/status" ? "+1" : "confused"]);
  }
  assert.deepEqual(await rig.runs(), []);
  assert.deepEqual(rig.pushed, []);
  assert.deepEqual(rig.violations(), []);
});

test("an answer without a run that GitHub refuses is logged, and the webhook is answered all the same", async () => {
  await using rig = await appRig();
  const number = rig.hub.openIssue(REPO, "ravi", ISSUE);
  const fault = { kind: "status", status: 500 } as const;
  rig.hub.fault({ method: "POST", path: /comments$/, times: Number.POSITIVE_INFINITY, fault });
  rig.hub.comment(REPO, number, "maya", "/help");
  await rig.settled();
  assert.equal(rig.hub.webhooks.deliveries().at(-1)?.statusCode, 200);
  assert.ok(rig.logged.some(({ msg }) => msg === "answer failed"));
});

test("the end of our pull request is a fact of its run; one of a fork's branch of that name is not", async () => {
  await using rig = await rigWithRun(true);
  const [run] = await rig.runs();
  const branch = branchName(rig.number, run?.runId ?? "");
  await rig.hub.pushCommit(REPO, { by: "maya", branch, files: { x: "y" } });
  const github = rig.github("write");
  const opened = await github.createPullRequest({
    title: "x",
    body: "",
    head: branch,
    base: "main",
    draft: false,
  });
  assert.ok(opened.ok);
  await rig.endRun();
  rig.hub.closeIssue(REPO, opened.value.number, "maya");
  await rig.settled();
  const closed = rig.hub.webhooks
    .deliveries()
    .findLast(({ event, action }) => event === "pull_request" && action === "closed");
  interface Payload {
    sender: object;
    readonly repository: { id: number };
    readonly pull_request: { merged: boolean; readonly head: { ref: string; repo: { id: number } | null } };
  }
  const send = async (change: (payload: Payload) => void) => {
    const payload: Payload = JSON.parse(closed?.body ?? "");
    change(payload);
    await rig.post(JSON.stringify(payload), { "x-github-event": "pull_request" });
  };
  await send(({ pull_request }) => {
    pull_request.head.repo = { id: rig.repo.id + 1 };
  });
  await send(({ pull_request }) => {
    pull_request.head.repo = null;
  });
  await send(({ repository }) => {
    repository.id += 1;
  });
  await send(({ pull_request }) => {
    pull_request.head.ref = "agent-fix/issue-1-unknown";
  });
  await send((payload) => {
    payload.sender = { login: "merge-queue[bot]", type: "Bot" };
    payload.pull_request.merged = true;
  });
  assert.deepEqual(
    (await rig.facts()).filter(({ type }) => type === "pull_request_closed"),
    [
      { type: "pull_request_closed", merged: false, by: "maya" },
      { type: "pull_request_closed", merged: true, by: "merge-queue[bot]" },
    ],
  );
});
