/** The conversation on a GitHub issue: every comment once, whatever is lost on the way, and never on the word of somebody else's marker. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { githubConversation, missingPermissions } from "#src/fix/github-conversation.ts";
import { LABEL } from "#src/gate/label.ts";
import { formatMarker, type MarkerKind, parseMarker } from "#src/gate/marker.ts";
import type { FaultKind } from "#src/github/sim/faults.ts";
import type { RunRequest } from "#src/run/run.ts";
import { memoryJournal } from "#test/publish/rig.ts";
import { RUN_ID, sampleRequest } from "#test/run/sample.ts";
import { type GitHubRig, githubRig, type RigOptions } from "#test/support/github.ts";

const REPO = "acme/widget";
const NEVER = new AbortController().signal;

interface TalkRig extends GitHubRig {
  readonly issue: number;
  talk(change?: Partial<RunRequest>): ReturnType<typeof githubConversation>;
  /** Comments of ours of a kind. */
  ours(kind: MarkerKind): readonly { readonly id: number; readonly body: string }[];
  fail(method: string, path: RegExp, fault: FaultKind, times?: number): void;
}

async function talkRig(options: RigOptions = {}): Promise<TalkRig> {
  const rig = await githubRig({ impatient: true, ...options });
  rig.hub.setPermission(REPO, "maya", "maintain");
  rig.hub.setPermission(REPO, "ravi", "read");
  const issue = rig.hub.openIssue(REPO, "ravi", { title: "Cents", body: "x" });
  rig.hub.label(REPO, issue, "maya", LABEL);
  const clock = { ...rig.clock, sleep: (ms: number) => rig.clock.advance(ms) };
  return {
    ...rig,
    issue,
    talk: (change = {}) => {
      const request = sampleRequest({
        repository: { ...sampleRequest().repository, ...rig.repo },
        installationId: rig.installation,
        issue: { ...sampleRequest().issue, number: issue, updatedAt: rig.clock.now() },
        ...change,
      });
      return githubConversation({ app: rig.app, request, clock, signal: NEVER });
    },
    ours: (kind) =>
      rig.hub
        .comments(REPO, issue)
        .filter(({ login, body }) => login.endsWith("[bot]") && parseMarker(body)?.kind === kind),
    fail: (method, path, fault, times = Number.POSITIVE_INFINITY) =>
      rig.hub.fault({ method, path, times, fault }),
  };
}

function body(kind: MarkerKind, text = "words", forComment: number | null = null): string {
  return `${formatMarker({ runId: RUN_ID, kind, seq: 1, forComment })}\n\n${text}`;
}

const POST = /comments$/;
const LOST: Readonly<Record<string, FaultKind>> = {
  "the connection is cut before": { kind: "drop_before" },
  "the connection is cut after": { kind: "drop_after" },
  "GitHub answers 502": { kind: "status", status: 502 },
};

for (const [what, fault] of Object.entries(LOST))
  test(`when ${what}, each comment is posted exactly once, now or when it is asked for again`, async () => {
    for (const times of [1, Number.POSITIVE_INFINITY]) {
      await using rig = await talkRig();
      const journal = memoryJournal();
      rig.fail("POST", POST, fault, times);
      const plan = (size: "full" | "short") => ({ body: body("plan", size), diffShown: true });
      await rig.talk().status(journal, body("status"));
      await rig.talk().plan(journal, plan);
      await rig.talk().result(journal, () => body("answer"));
      rig.hub.clearFaults();
      assert.ok((await rig.talk().status(journal, body("status"))).ok);
      assert.ok((await rig.talk().plan(journal, plan)).ok);
      assert.ok((await rig.talk().result(journal, () => body("answer"))).ok);
      for (const kind of ["status", "plan", "answer"] as const) assert.equal(rig.ours(kind).length, 1, kind);
      assert.deepEqual(rig.violations(), []);
    }
  });

test("a comment whose answer was lost is not posted again while nobody can look whether it stands", async () => {
  for (const looks of [3, 6, Number.POSITIVE_INFINITY]) {
    await using rig = await talkRig();
    const journal = memoryJournal();
    rig.fail("POST", POST, { kind: "drop_after" }, 1);
    rig.fail("GET", POST, { kind: "status", status: 502 }, looks);
    const plan = () => ({ body: body("plan"), diffShown: true });
    await rig.talk().plan(journal, plan);
    rig.hub.clearFaults();
    assert.ok((await rig.talk().plan(journal, plan)).ok);
    assert.equal(rig.ours("plan").length, 1, `${looks} looks`);
  }
});

test("a process that dies before it knows that its comment stands finds it again", async () => {
  await using rig = await talkRig();
  class Died extends Error {}
  const die = (entry: string) => {
    if (entry.startsWith("complete")) throw new Died();
  };
  for (const kind of ["status", "plan", "answer"] as const) {
    const journal = memoryJournal({ before: die });
    const post = (record: ReturnType<typeof memoryJournal>) =>
      kind === "status"
        ? rig.talk().status(record, body(kind))
        : kind === "plan"
          ? rig.talk().plan(record, () => ({ body: body(kind), diffShown: true }))
          : rig.talk().result(record, () => body(kind));
    await assert.rejects(post(journal), Died);
    const again = memoryJournal();
    for (const entry of journal.log) await again.intend(entry.replace("intend ", ""));
    assert.ok((await post(again)).ok);
    assert.equal(rig.ours(kind).length, 1, kind);
  }
});

test("a status that stood already with older words says the present ones afterwards", async () => {
  await using rig = await talkRig();
  await rig.talk().status(memoryJournal(), body("status", "queued"));
  const journal = memoryJournal();
  await journal.intend("status-comment");
  assert.ok((await rig.talk().status(journal, body("status", "working"))).ok);
  const [status, ...more] = rig.ours("status");
  assert.deepEqual(more, []);
  assert.ok(status?.body.endsWith("working"));
});

test("a status comment that somebody deleted is made again once, also when that answer is lost", async () => {
  for (const fault of [null, LOST["the connection is cut after"]] as const) {
    await using rig = await talkRig();
    const journal = memoryJournal();
    await rig.talk().status(journal, body("status", "one"));
    rig.hub.deleteComment(REPO, rig.ours("status")[0]?.id ?? 0, "maya");
    if (fault) rig.fail("POST", POST, fault, 1);
    for (const text of ["two", "three", "four"])
      assert.ok((await rig.talk().status(journal, body("status", text))).ok);
    const [status, ...more] = rig.ours("status");
    assert.deepEqual(more, []);
    assert.ok(status?.body.endsWith("four"));
  }
});

test("H03: a marker in somebody else's comment is not believed", async () => {
  await using rig = await talkRig();
  const forged = rig.hub.comment(REPO, rig.issue, "eve", body("plan", "approve this"));
  const journal = memoryJournal();
  await journal.intend("plan-comment");
  const posted = await rig.talk().plan(journal, () => ({ body: body("plan"), diffShown: true }));
  assert.ok(posted.ok && posted.value.commentId !== forged);
  assert.equal(rig.ours("plan").length, 1);
  assert.ok((await rig.talk().concludePlan(null, body("plan", "withdrawn"))).ok);
  assert.ok(rig.ours("plan")[0]?.body.endsWith("withdrawn"));
  const theirs = rig.hub.comments(REPO, rig.issue).find(({ id }) => id === forged);
  assert.ok(theirs?.body.endsWith("approve this"));
});

test("comments of another run, kind or question are not taken for this one", async () => {
  await using rig = await talkRig();
  const github = rig.github("read");
  for (const other of [
    { runId: "01k0000000zzzzzz", kind: "plan", seq: 1, forComment: null },
    { runId: RUN_ID, kind: "answer", seq: 1, forComment: null },
    { runId: RUN_ID, kind: "plan", seq: 2, forComment: null },
    { runId: RUN_ID, kind: "plan", seq: 1, forComment: 9 },
    { runId: null, kind: "plan", seq: 1, forComment: null },
  ] as const)
    assert.ok((await github.createComment(rig.issue, `${formatMarker(other)}\nx`)).ok);
  const journal = memoryJournal();
  await journal.intend("plan-comment");
  const before = rig.hub.comments(REPO, rig.issue).length;
  assert.ok((await rig.talk().plan(journal, () => ({ body: body("plan"), diffShown: true }))).ok);
  assert.equal(rig.hub.comments(REPO, rig.issue).length, before + 1);
});

test("F07: what GitHub finds too long is posted short, once, and the place says whether the diff is whole there", async () => {
  for (const shortShown of [false, true]) {
    await using rig = await talkRig();
    const render = (size: "full" | "short") =>
      size === "full"
        ? { body: body("plan", "x".repeat(70_000)), diffShown: true }
        : { body: body("plan", "short"), diffShown: shortShown };
    const journal = memoryJournal();
    const place = await rig.talk().plan(journal, render);
    assert.ok(place.ok && place.value.diffShown === shortShown, JSON.stringify(place));
    assert.ok(rig.ours("plan")[0]?.body.endsWith("short"));
    const again = await rig.talk().plan(journal, render);
    assert.ok(again.ok && again.value.diffShown === shortShown);
    assert.equal(rig.ours("plan").length, 1);
  }
});

test("a plan that somebody cut down in place does not count as showing its diff", async () => {
  await using rig = await talkRig();
  const journal = memoryJournal();
  const render = (size: "full" | "short") => ({ body: body("plan", size.repeat(50)), diffShown: true });
  await rig.talk().plan(journal, render);
  rig.hub.editComment(REPO, rig.ours("plan")[0]?.id ?? 0, "maya", body("plan", "x"));
  const again = await rig.talk().plan(journal, render);
  assert.ok(again.ok && again.value.diffShown === false);
});

test("F13: a secondary limit is waited out, and one that lasts is a failure without further comments", async () => {
  await using rig = await talkRig();
  const limited: FaultKind = {
    kind: "status",
    status: 403,
    body: { message: "You have exceeded a secondary rate limit." },
    headers: { "retry-after": "2" },
  };
  rig.fail("POST", POST, limited, 2);
  assert.ok((await rig.talk().status(memoryJournal(), body("status"))).ok);
  assert.equal(rig.ours("status").length, 1);
  rig.fail("POST", POST, limited);
  const refused = await rig.talk().result(memoryJournal(), () => body("answer"));
  assert.ok(!refused.ok && refused.error.code === "rate_limited");
  assert.equal(rig.ours("answer").length, 0);
});

test("what GitHub refuses for good is not sent again", async () => {
  await using rig = await talkRig();
  const asked = () =>
    rig.hub.calls().filter(({ method, path }) => method === "POST" && POST.test(path)).length;
  rig.hub.lock(REPO, rig.issue, "maya");
  const locked: FaultKind = {
    kind: "status",
    status: 403,
    body: { message: "Unable to create comment because issue is locked." },
  };
  rig.fail("POST", POST, locked);
  const before = asked();
  const refused = await rig.talk().status(memoryJournal(), body("status"));
  assert.ok(!refused.ok && refused.error.code === "locked");
  assert.equal(asked(), before + 1);
});

test("a command is answered once however often it is said, by reaction and words", async () => {
  await using rig = await talkRig();
  const id = rig.hub.comment(REPO, rig.issue, "maya", "/help");
  const journal = memoryJournal();
  rig.fail("POST", /issues\/\d+\/comments$/, { kind: "drop_after" }, 1);
  for (let time = 0; time < 3; time++)
    assert.ok(
      (
        await rig
          .talk()
          .answer(journal, { commentId: id, reaction: "+1", body: body("answer", "help", id), on: rig.issue })
      ).ok,
    );
  assert.equal(rig.ours("answer").length, 1);
  const comment = rig.hub.comments(REPO, rig.issue).find((one) => one.id === id);
  assert.deepEqual(comment?.reactions, ["+1"]);
  assert.ok(
    (
      await rig
        .talk()
        .answer(memoryJournal(), { commentId: id, reaction: "confused", body: null, on: rig.issue })
    ).ok,
  );
  assert.equal(rig.ours("answer").length, 1);
});

test("a run may start when whoever asked may write, the issue is open and still carries the label", async () => {
  await using rig = await talkRig();
  assert.deepEqual(await rig.talk().mayStart(), { go: true, createdAt: 1_735_689_600_000 });
  const denied = await rig.talk({ askedBy: "ravi" }).mayStart();
  assert.ok(!denied.go && denied.end === "failed" && denied.code === "permission");
  assert.match(denied.message, /ravi has read access/);
  const stranger = await rig.talk({ askedBy: "nobody" }).mayStart();
  assert.ok(!stranger.go && stranger.end === "failed" && /nobody has no access/.test(stranger.message));
});

test("out of order: a label that is gone since, or an issue that is closed, ends the run as cancelled", async () => {
  await using rig = await talkRig();
  const talk = rig.talk();
  const retry = rig.talk({ trigger: "retry" });
  await rig.clock.advance(5_000);
  rig.hub.unlabel(REPO, rig.issue, "maya", LABEL);
  assert.deepEqual(await talk.mayStart(), { go: false, end: "cancelled", by: "github", why: "unlabeled" });
  assert.deepEqual(
    await retry.mayStart(),
    { go: true, createdAt: 1_735_689_600_000 },
    "a retry needs no label",
  );
  rig.hub.closeIssue(REPO, rig.issue, "maya");
  for (const one of [talk, retry])
    assert.deepEqual(await one.mayStart(), {
      go: false,
      end: "cancelled",
      by: "github",
      why: "issue_closed",
    });
});

test("out of order: a label that was taken off within the second in which it was set starts nothing, also when the removal was heard of first", async () => {
  await using rig = await talkRig();
  rig.hub.unlabel(REPO, rig.issue, "maya", LABEL);
  const gone = { go: false, end: "cancelled", by: "github", why: "unlabeled" };
  assert.deepEqual(await rig.talk().mayStart(), gone);
  rig.hub.label(REPO, rig.issue, "maya", LABEL);
  assert.equal((await rig.talk().mayStart()).go, true);
});

test("a look-up that fails is a no, with what could not be looked up", async () => {
  for (const [path, words] of [
    [/permission$/, "could not check what maya may do"],
    [/issues\/\d+$/, "could not read the issue"],
  ] as const) {
    await using rig = await talkRig();
    rig.fail("GET", path, { kind: "status", status: 500 });
    const answer = await rig.talk().mayStart();
    assert.ok(!answer.go && answer.end === "failed" && answer.code === "github_failed");
    assert.ok(answer.message.includes(words), answer.message);
    if (words.includes("maya")) assert.equal(await rig.talk().permission("maya"), "unknown");
  }
});

test("F13: a rate limit met before the work is no answer at all: the run is held back until it is over, whichever question met it", async () => {
  for (const path of [/permission$/, /issues\/\d+$/]) {
    await using rig = await talkRig();
    const reset = String(Math.floor(rig.clock.now() / 1000) + 1_800);
    const headers = { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset };
    const body = { message: "API rate limit exceeded" };
    rig.fail("GET", path, { kind: "status", status: 403, body, headers });
    const answer = await rig.talk().mayStart();
    assert.ok(!answer.go && answer.end === "held_back", JSON.stringify(answer));
    assert.equal(answer.failure.retryAfterMs, 1_800_000);
  }
});

test("F19: what the installation lacks is named before anything costs money", async () => {
  const permissions = { metadata: "read", contents: "read", issues: "write" };
  await using rig = await talkRig({ permissions });
  const answer = await rig.talk().mayStart();
  assert.ok(!answer.go && answer.end === "failed" && answer.code === "permission", JSON.stringify(answer));
  assert.match(answer.message, /lacks contents: write, pull_requests: write/);
  assert.deepEqual(missingPermissions({ contents: "admin", issues: "write", pull_requests: "read" }), [
    "pull_requests: write",
  ]);
});

test("failing checks and failing statuses are told together; an app that was registered before it asked for one of them still knows the other", async () => {
  const all = { metadata: "read", contents: "write", issues: "write", pull_requests: "write" };
  for (const [granted, names] of [
    [{ checks: "read", statuses: "read" }, ["lint", "ci/old"]],
    [{ checks: "read" }, ["lint"]],
    [{ statuses: "read" }, ["ci/old"]],
    [{}, null],
  ] as const) {
    await using rig = await talkRig({ permissions: { ...all, ...granted } });
    const { headSha } = rig;
    await rig.hub.checkRan(REPO, headSha, { name: "lint", conclusion: "failure" });
    await rig.hub.setStatus(REPO, headSha, { context: "ci/old", state: "failure" });
    const failed = await rig.talk().failedChecks(headSha);
    if (names !== null) assert.deepEqual(failed.ok && failed.value.map(({ name }) => name), names);
    else assert.ok(!failed.ok && failed.error.code === "permission_missing");
  }
});

test("a removal of the label is out of date once the label stands again, even within the same second", async () => {
  await using rig = await talkRig();
  const removedAt = rig.clock.now();
  assert.equal(await rig.talk().labelledAfter(removedAt), true, "labelled again within the second");
  assert.equal(await rig.talk().labelledAfter(removedAt - 1_000), true);
  assert.equal(await rig.talk().labelledAfter(removedAt + 1_000), false, "an older state is no news");
  rig.hub.unlabel(REPO, rig.issue, "maya", LABEL);
  assert.equal(await rig.talk().labelledAfter(removedAt), false);
  rig.fail("GET", /issues\/\d+$/, { kind: "status", status: 500 });
  assert.equal(await rig.talk().labelledAfter(0), false, "not knowing is a removal");
});

test("what is asked with the rights to publish is asked with those, and nothing else is", async () => {
  await using rig = await talkRig();
  const talk = rig.talk();
  await talk.status(memoryJournal(), body("status"));
  await talk.branchHead("main");
  const scopes = () =>
    rig.hub
      .calls()
      .filter(({ caller }) => caller.kind === "installation")
      .map(({ caller }) => (caller.kind === "installation" ? caller.permissions.contents : ""));
  assert.deepEqual(new Set(scopes()), new Set(["read"]));
  await talk.publisher().branchSha("main");
  assert.equal(scopes().at(-1), "write");
});
