/** Whose pull request holds a labelled run up, and whose is only named. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { claimsOf } from "#src/fix/claims.ts";
import type { FixClaim } from "#src/github/surroundings.ts";
import { fixRig } from "#test/fix/rig.ts";
import { sampleRequest } from "#test/run/sample.ts";

type Pull = Extract<FixClaim, { kind: "pull_request" }>;

function pull(number: number, by: string | null, more: Partial<Pull> = {}): Pull {
  return {
    ...{ kind: "pull_request", number, by, state: "open", url: `https://github.example/${number}` },
    ...{ accepted: false, insider: false },
    ...more,
  };
}

async function claimed(claims: readonly FixClaim[], trigger: "label" | "retry" = "label") {
  await using rig = await fixRig({ ...sampleRequest(), trigger });
  rig.talk.permission = "none";
  rig.talk.permissions = {
    maya: "write",
    boss: "admin",
    tess: "triage",
    lost: "unknown",
    "ci[bot]": "write",
  };
  rig.talk.claims = claims;
  const { stop, related } = await claimsOf(rig.context, 1);
  return { stop, related, asked: rig.talk.calls.filter((call) => call.startsWith("permission")) };
}

test("an open pull request of somebody with write access stops a labelled run; a bot with write access is one of them", async () => {
  for (const by of ["maya", "boss", "ci[bot]"]) {
    const { stop, related } = await claimed([pull(7, by)]);
    assert.match(stop ?? "", /Already in hand: pull request 7 \(open\) says that it closes/);
    assert.deepEqual(related, []);
  }
});

test("a stranger's, a triager's and a deleted account's pull request stops nothing and is named; so is one of whose author GitHub says nothing", async () => {
  for (const by of ["eve", "tess", "lost", null]) {
    const { stop, related } = await claimed([pull(7, by)]);
    assert.equal(stop, null, `${by}`);
    assert.match(
      related.join(),
      new RegExp(`a pull request for this issue: #7 \\(open\\) by ${by ?? "a deleted account"}\\.`),
    );
  }
});

test("a stranger's pull request that was merged counts; one that named the issue only after it was merged does not", async () => {
  const merged = { state: "merged" as const };
  assert.match((await claimed([pull(7, "eve", { ...merged, accepted: true })])).stop ?? "", /7 \(merged\)/);
  assert.equal((await claimed([pull(7, "eve", merged)])).stop, null);
  assert.match((await claimed([pull(7, "maya", merged)])).stop ?? "", /7 \(merged\)/);
});

test("a crowd of strangers costs two look-ups and does not crowd out whom GitHub counts among the repository's people", async () => {
  const crowd = Array.from({ length: 40 }, (_, n) => pull(100 + n, `eve-${n}`));
  const { stop, related, asked } = await claimed([...crowd, pull(7, "maya", { insider: true })]);
  assert.match(stop ?? "", /pull request 7/);
  assert.equal(asked.length, 2);
  assert.match(related.join(), /#104 \(open\) by eve-4 and 35 more\./);
  const twice = await claimed([pull(1, "eve"), pull(2, "eve")]);
  assert.deepEqual(twice.asked, ["permission eve"]);
});

test("an association of GitHub's alone decides nothing (F06), and commits stop nothing", async () => {
  const commit = { kind: "commit", sha: "a".repeat(40), url: "x" } as const;
  const { stop, related } = await claimed([pull(7, "eve", { insider: true }), commit]);
  assert.equal(stop, null);
  assert.equal(related.length, 2);
  assert.match(related[1] ?? "", /aaaaaaaaaaaa on main says in the commit message/);
});

test("F13: a rate limit holds the question back and is not taken for an answer; any other failure stops nothing", async () => {
  await using rig = await fixRig({ ...sampleRequest(), trigger: "label" });
  const failed = async (code: "rate_limited" | "server_error") => {
    rig.talk.failure = { code, status: null, message: "no", retryAfterMs: 60_000 };
    return claimsOf(rig.context, 1);
  };
  assert.equal((await failed("rate_limited")).heldBack?.retryAfterMs, 60_000);
  assert.deepEqual(await failed("server_error"), { stop: null, related: [], heldBack: null });
});

test("/retry asks nobody", async () => {
  assert.deepEqual(await claimed([pull(7, "maya")], "retry"), { stop: null, related: [], asked: [] });
});
