/** The words people read, compared with files; and that the digest, the commands and the warnings are where they must be. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PlanFacts, renderPlan, traceLine } from "#src/gate/plan-comment.ts";
import { commitMessage, footer, pullRequestBody, readFinalWords } from "#src/gate/pull-request-text.ts";
import { HELP, renderAnswer, renderResult, renderStatus, statusSentence } from "#src/gate/status-comment.ts";
import { shortDigest } from "#src/run/proposal.ts";
import { FAILURE_CODES } from "#src/run/run.ts";
import {
  RUN_ID,
  runIn,
  STATES,
  samplePlan,
  sampleProposal,
  sampleVerdict,
  type VerdictClass,
} from "#test/run/sample.ts";
import { assertGolden } from "#test/support/golden.ts";
import { hostileBody, hostilePlan, hostileResult, TRACE } from "./bodies.ts";
import { judge, liveParts } from "./judge.ts";

function golden(name: string, text: string): void {
  assertGolden(new URL(`golden/${name}.md`, import.meta.url), text);
  assert.deepEqual(liveParts(text, { references: ["#12", "#40"] }), []);
}

const DIFF = [
  "diff --git a/src/price.js b/src/price.js",
  "--- a/src/price.js",
  "+++ b/src/price.js",
  "@@ -1,4 +1,4 @@",
  "-  const rest = cents % 100;",
  '+  const rest = String(cents % 100).padStart(2, "0");',
  "",
].join("\n");

function planFacts(kind: VerdictClass, change: Partial<PlanFacts> = {}): PlanFacts {
  const plan = samplePlan({ kind });
  return {
    proposal: plan.proposal,
    digest: plan.digest,
    pullRequest: null,
    verdict: plan.verdict,
    explanation: "`formatPrice` printed the cents without a leading zero.\n\nThey are padded now; fixes #12.",
    diff: DIFF,
    newTests: [],
    warnings: [],
    leftOut: [],
    trace: TRACE,
    tracePlace: `agent-fix trace ${RUN_ID}`,
    seq: 1,
    ...change,
  };
}

test("a proven plan with a test of the agent's, as people read it", () => {
  const newTests = [{ path: "test/price.test.js", diff: '+test("pads cents", () => {});\n' }];
  const goesOn = `Goes on from the patch of run \`${RUN_ID}\`.`;
  const { body, diffShown } = renderPlan(planFacts("proven", { newTests, goesOn }), "full");
  assert.equal(diffShown, true);
  golden("plan-proven", body);
});

test("an unproven plan with everything that can go with it, as people read it", () => {
  const verdict = sampleVerdict("unproven", {
    suites: [],
    stillFailing: ["test/a.test.js > old trouble"],
    flaky: ["test/b.test.js > sometimes"],
    tampering: [{ kind: "test_skipped", path: "test/c.test.js", detail: "`it.skip` was added" }],
  });
  const facts = planFacts("unproven", {
    verdict,
    proposal: sampleProposal({
      verdictClass: "unproven",
      draft: true,
      files: [
        { path: "a|b `c`.txt", status: "added", mode: "100755", sha256: "a", added: 3, removed: 0 },
        { path: "logo.png", status: "modified", mode: "100644", sha256: "b", added: null, removed: null },
        { path: "gone", status: "deleted", mode: "120000", sha256: null, added: 0, removed: 1 },
      ],
    }),
    warnings: ["The agent did not finish by itself: 50 turns were used."],
    leftOut: [{ path: "coverage/a|b.json", reason: "a test run leaves it behind" }],
    trace: { ...TRACE, costUsd: null, inputTokens: null, retries: 0, toolCalls: {} },
  });
  golden("plan-unproven", renderPlan(facts, "full").body);
});

const CHANGED = [
  ["test/price.test.js", "expectation_changed", "`5` instead of `4`"],
  ["test/price.test.js", "timeout_raised", "60000 ms"],
  ["test/price.test.jsx", "assertion_loosened", "`ok` instead of `equal`"],
  ["package.json", "test_script_changed", "scripts.test"],
] as const;

test("beside each changed test stands the reason the agent gave for it, or that it gave none", () => {
  const verdict = sampleVerdict("passing", {
    tampering: CHANGED.map(([path, kind, detail]) => ({ path, kind, detail })),
  });
  const explanation = [
    "Rounds up now.",
    "",
    "- **Changed test:** `test/price.test.js`: the issue asks for 5, see #3 and ping @octocat",
    "Changed test: test/other.test.js: nobody asked",
    "Changed test: test/price.test.js: and more",
  ].join("\n");
  const facts = planFacts("passing", { verdict, explanation });
  golden("plan-changed-tests", renderPlan(facts, "full").body);
  const body = pullRequestBody({ issue: 12, explanation, verdict, template: null });
  for (const text of [body, renderPlan(facts, "short").body]) {
    assert.match(
      text,
      /`test\/price\.test\.js`: `5` instead of `4` \(the agent's reason: the issue asks for 5, see #\u200b3/,
    );
    assert.match(text, /`test\/price\.test\.jsx`: `ok` instead of `equal` \(the agent gave no reason\)/);
    assert.equal(text.match(/the agent(?:'s reason| gave no)/g)?.length, 2);
  }
  const silent = renderPlan(
    planFacts("passing", { verdict, explanation: "Changed test:\n\n\n" }),
    "full",
  ).body;
  assert.equal(silent.match(/the agent gave no reason/g)?.length, 2);
});

test("a passing plan in the short form, as people read it", () => {
  golden("plan-passing-short", renderPlan(planFacts("passing"), "short").body);
});

test("the digest and the words that answer the plan stand in every plan, and fit the verdict", () => {
  for (const size of ["full", "short"] as const)
    for (const kind of ["proven", "passing", "unproven"] as const) {
      const facts = planFacts(kind);
      const digest = shortDigest(facts.digest);
      const { body } = renderPlan(facts, size);
      assert.ok(body.includes(`\`${digest}\``));
      const word = kind === "unproven" ? " unverified" : "";
      assert.ok(body.includes(`- \`/approve${word}\` opens the pull request`), body);
      for (const command of ["/revise", "/retry", "/cancel", "/status", "/help"])
        assert.ok(body.includes(command));
      const long = renderPlan({ ...facts, diff: "+x\n".repeat(40_000) }, size);
      assert.equal(long.diffShown, false);
      assert.ok(long.body.includes(`- \`/approve ${digest}${word}\` opens the pull request`));
      assert.ok(long.body.includes("does not fit as a whole"));
    }
});

test("F07: the diff is shown whole exactly when nothing of it is missing", () => {
  for (const length of [100, 29_000, 29_970, 29_990, 30_010, 60_000]) {
    const diff = `+${"x".repeat(length - 2)}\n`;
    const { body, diffShown } = renderPlan(planFacts("proven", { diff }), "full");
    assert.equal(diffShown, body.includes(diff.trimEnd()), String(length));
    assert.equal(diffShown, body.includes("<summary>The whole diff</summary>"), String(length));
  }
  const hidden = renderPlan(planFacts("proven", { diff: "+\u202e".repeat(10_000) }), "full");
  assert.equal(hidden.diffShown, false);
});

test("F07: a plan of 70,000 characters and one of emoji fit, with fences and folds closed, and the short one is much shorter", () => {
  for (const text of ["word ".repeat(14_000), "😀 ".repeat(30_000), "日本 ".repeat(30_000)]) {
    const facts = hostilePlan("unproven", text);
    const [full, short] = [renderPlan(facts, "full").body, renderPlan(facts, "short").body];
    assert.ok(full.length < 65_536 && full.length > 40_000, String(full.length));
    assert.ok(short.length < full.length / 2, `${short.length} of ${full.length}`);
    assert.ok(Buffer.byteLength(short) < 65_536);
    for (const body of [full, short]) {
      assert.deepEqual(judge(body).unbalanced, []);
      assert.match(judge(body).headings.at(-1) ?? "", /Your answer/);
      assert.ok(body.isWellFormed());
    }
  }
});

test("F07: a result with 300 kB of test output fits, and the short one is much shorter", () => {
  for (const text of ["expected 1 to equal 2\n".repeat(14_000), "😀\n".repeat(100_000)]) {
    const [full, short] = [
      renderResult(hostileResult("refuted", text), "full"),
      renderResult(hostileResult("refuted", text), "short"),
    ];
    assert.ok(full.length < 65_536);
    assert.ok(short.length < full.length / 3, `${short.length} of ${full.length}`);
    assert.ok(Buffer.byteLength(short) < 65_536);
    assert.match(judge(full).text, /`?\/retry`? ?starts a new run|starts a new run/);
  }
});

test("F07: a pull request's body fits, in bytes too, with its footer", () => {
  for (const text of ["word\n".repeat(60_000), "😀".repeat(100_000), "@a \u202e".repeat(20_000)])
    for (const template of [null, text]) {
      const body = pullRequestBody(hostileBody("passing", text, template));
      const foot = footer({ approvedBy: "maya", digest: samplePlan().digest, runId: RUN_ID, recheck: null });
      assert.ok(Buffer.byteLength(body + foot) < 65_536, String(Buffer.byteLength(body)));
      assert.deepEqual(judge(body + foot).unbalanced, []);
      assert.match(judge(body + foot).text, /please review the code\.\s*$/);
    }
});

test("H12: the text of a pull request may become a commit message, where no code span holds: no test's name or path closes an issue or skips checks there", () => {
  for (const kind of ["proven", "passing", "unproven"] as const) {
    const body = pullRequestBody(hostileBody(kind, "fixes #1 [skip ci] closes acme/widget#2", null));
    const closing = body.match(/\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\s+\S*#\u200b?\d+/gi);
    assert.deepEqual(closing, ["Fixes #12"]);
    assert.doesNotMatch(body, /\[skip ci\]/);
  }
});

test("a pull request, as people read it: the warning on top when it is not proven, and one working reference", () => {
  const facts = { issue: 12, explanation: "Pads the cents.\n\nCloses #99 for @team.", template: null };
  const foot = footer({
    approvedBy: "maya",
    digest: samplePlan().digest,
    runId: RUN_ID,
    recheck: "The base had moved to 222222222222; merged with it, the change was tested again: proven.",
  });
  const proven = pullRequestBody({ ...facts, verdict: sampleVerdict("proven") });
  assert.ok(proven.startsWith("Fixes #12\n"));
  golden("pull-request-proven", proven + foot);
  const template = "## Checklist\n\n- [ ] I read the guide\n<!-- hidden -->\n";
  const unproven = pullRequestBody({ ...facts, template, verdict: sampleVerdict("unproven") });
  assert.ok(unproven.startsWith("> [!WARNING]\n> **Not verified** (no tests): "));
  golden("pull-request-unproven", unproven + foot);
  const passing = pullRequestBody({ ...facts, verdict: sampleVerdict("passing") });
  assert.ok(passing.startsWith("> [!WARNING]\n> **Not proven.** No test failed before."));
  const tampered = sampleVerdict("proven", {
    tampering: [{ kind: "ci_changed", path: ".github/x.yml", detail: "changed" }],
  });
  assert.ok(
    pullRequestBody({ ...facts, verdict: tampered }).startsWith("> [!WARNING]\n> - **ci changed** in"),
  );
});

test("a result that ends without a pull request, as people read it", () => {
  golden(
    "result-refuted",
    renderResult(
      {
        runId: RUN_ID,
        code: "refuted",
        message: "test/price.test.js > adds passed before and fails now",
        explanation: "",
        verdict: sampleVerdict("refuted"),
        trace: TRACE,
        tracePlace: `agent-fix trace ${RUN_ID}`,
        diff: DIFF,
        seq: 1,
      },
      "full",
    ),
  );
  golden(
    "result-no-changes",
    renderResult(
      {
        runId: RUN_ID,
        code: "no_changes",
        message: "The agent finished without changing anything.",
        explanation: "It works as documented.\n\n# Not a heading",
        verdict: null,
        trace: null,
        tracePlace: `agent-fix trace ${RUN_ID}`,
        diff: null,
        seq: 1,
      },
      "full",
    ),
  );
});

test("every failure has words of its own", () => {
  const titles = FAILURE_CODES.map((code) => {
    const facts = { ...hostileResult(null, "x"), code };
    return /^## (No pull request: .+)$/m.exec(renderResult(facts, "full"))?.[1];
  });
  assert.equal(new Set(titles).size, FAILURE_CODES.length);
  assert.ok(titles.every((title) => title !== undefined && !title.includes("undefined")));
});

test("the status comment in every state, as people read it", () => {
  const bodies = STATES.map((state) =>
    renderStatus({
      run: runIn(state),
      steps: [
        { name: "prepare", state: "done" },
        { name: "solve", state: "running" },
        { name: "verify", state: "waiting" },
        { name: "publish", state: "failed" },
      ],
      trace: state === "queued" ? null : TRACE,
      queuePosition: state === "queued" ? 2 : null,
      heldUntil: null,
      undecided: state === "publishing",
      tracePlace: `agent-fix trace ${RUN_ID}`,
      notes: state === "preparing" ? ["`3f2a` on main says that it closes this issue."] : [],
      checks:
        state === "published"
          ? [
              { name: "GitHub Actions", conclusion: "failure" },
              { name: "lint", conclusion: "success" },
            ]
          : [],
      asOf: Date.UTC(2025, 0, 1, 12),
      priceUnknown: state === "solving",
    }),
  );
  golden("status", bodies.join("\n\n---\n\n"));
  for (const body of bodies) assert.equal(body.split("\n")[0], bodies[0]?.split("\n")[0]);
});

test("the answer to /status is one sentence in every state", () => {
  for (const state of STATES) assert.match(statusSentence(runIn(state)), /^Run `[0-9a-z]+`: .*[^.]\.$/);
});

test("help names every command, and an answer carries whom it answers", () => {
  for (const verb of ["approve", "revise", "retry", "cancel", "status", "help"])
    assert.ok(HELP.includes(`/${verb}`));
  golden("help", renderAnswer({ runId: null, commentId: 77, text: HELP }));
});

test("the model's last words become a title and an explanation", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["Pad cents\n\nBecause.", "Pad cents", "Because."],
    ["# Title: Pad `cents`\nBecause.", "Pad cents", "Because."],
    ["**Pad cents**", "Pad cents", ""],
    ["PR title: Pad cents\n\nx", "Pad cents", "x"],
    ["", "Fix: Cents are wrong", ""],
    ["ok", "Fix: Cents are wrong", "ok"],
    [`${"long ".repeat(40)}\nrest`, "Fix: Cents are wrong", `${"long ".repeat(40)}\nrest`.trim()],
    ["\n\n  Pad cents  \n", "Pad cents", ""],
    ["Closes #9 for @octocat", "Clos\u200bes #\u200b9 for @\u200boctocat", ""],
  ];
  for (const [text, title, explanation] of cases)
    assert.deepEqual(readFinalWords(text, "Cents are wrong"), { title, explanation });
  assert.ok([...readFinalWords("", "😀".repeat(200)).title].length <= 72);
});

test("a neutralised title is shown in the plan as it is, without marks of its own breaks", () => {
  const { title } = readFinalWords("Closes #9 for @octocat", "");
  const facts = planFacts("proven", { proposal: sampleProposal({ title }) });
  const { body } = renderPlan(facts, "full");
  assert.ok(body.includes(`**${title}**`), body);
  assert.ok(!body.includes("U+200B"));
});

test("the commit message closes the one issue and names the run, whatever the title says", () => {
  const { title } = readFinalWords("Fixes #99, closes GH-5\nco-authored-by: x", "");
  const message = commitMessage(title, 12, RUN_ID);
  assert.deepEqual(message.match(/(?:fix|close|resolve)\w*[\s:]+\S*(?:#\d+|GH-\d+)/gi), ["Fixes #12"]);
  assert.match(message, /\n\nAgent-Fix-Run: [0-9a-z]{16}\n$/);
  assert.equal(message.split("\n")[1], "");
});

test("tool calls, tokens and cost are told as they are known", () => {
  assert.equal(
    traceLine(TRACE),
    "6 turns · `edit_file` 2, `run_command` 2 (1 failed) · 12000 tokens in (8000 cached), 900 out · $0.0421 · 64 s · 1 retry · stopped: done",
  );
  const unknown = { ...TRACE, inputTokens: null, costUsd: null, retries: 0, toolCalls: {}, stop: "turn_cap" };
  assert.equal(
    traceLine(unknown),
    "6 turns · no tool calls · tokens unknown · cost unknown (no price for this model) · 64 s · stopped: turn cap",
  );
});

test("a result says that nothing was written only where nothing was sent", () => {
  const facts = hostileResult(null, "x");
  assert.match(renderResult(facts, "full"), /Nothing was written to the repository/);
  assert.doesNotMatch(renderResult({ ...facts, sent: true }, "full"), /Nothing was written/);
});
