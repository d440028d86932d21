/** Odd names, large changes, missing rights, wrong settings, and a base that moves: all with the small job, from outside. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { byIssue, byTurns, call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, REPORTER } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { inTurn, sample } from "#test/support/tier.ts";

const UNVERIFIED = "/approve unverified";
const PWNED = `/tmp/pwned-${process.pid}`;

const suite = inTurn(6, 8) ? describe : () => undefined;

suite("odd input from outside", { concurrency: true }, () => {
  const shared = sharedWorld({
    script: byIssue(
      {
        "A large change": byTurns(
          call("edit_file", {
            path: "numbers.txt",
            old: "",
            new: Array.from({ length: 9_000 }, (_, line) => `${line}\n`).join(""),
          }),
          say("Count\n\nTo nine thousand."),
        ),
        "Made by a command": byTurns(
          call("run_command", { command: "echo 1 > scratch.txt" }),
          say("Add a file\n\nIt was missing."),
        ),
        "A workflow": byTurns(
          call("edit_file", { path: ".github/workflows/ci.yml", old: "", new: "on: push\n" }),
          say("Add a workflow\n\nIt was missing."),
        ),
      },
      smallJob,
    ),
    files: SMALL_FILES,
    env: { CONCURRENCY: "4" },
  });

  const stories: (readonly [string, () => Promise<void>])[] = [];
  const story = (name: string, work: () => Promise<void>) => stories.push([name, work]);

  story("H08: names of branches, files and issues are never words of a shell or options of git", async () => {
    const world = shared.get();
    const { github } = world;
    const defaultBranch = `main;touch$\{IFS}${PWNED}`;
    const { fullName: repo } = await world.addRepository({
      name: "odd-names",
      defaultBranch,
      files: {
        ...SMALL_FILES,
        [`$(touch ${PWNED.replaceAll("/", "")}).js`]: "1\n",
        "-rf": "2\n",
        "with blank": "3\n",
      },
    });
    const issue = world.openIssue({ title: `--upload-pack=x"; touch ${PWNED} #\`touch ${PWNED}\`` }, repo);
    await approved(world, { repo, issue, words: UNVERIFIED });
    const [pull] = github.pullRequests(repo);
    assert.equal(pull?.pull?.base, defaultBranch);
    assert.equal(existsSync(PWNED), false);
  });

  story(
    "F07: a change that does not fit into a comment says so, and is approved by its digest only",
    async () => {
      const world = shared.get();
      const { github } = world;
      const { fullName: repo } = await world.addRepository({ name: "large", files: SMALL_FILES });
      const issue = world.openIssue({ title: "A large change" }, repo);
      github.label(repo, issue, MAINTAINER, LABEL);
      const plan = await world.untilComment(issue, "plan", { repo });
      await world.untilState(issue, "awaiting_approval", repo);
      assert.ok(plan.body.length <= 65_536);
      const bare = github.comment(repo, issue, MAINTAINER, UNVERIFIED);
      const { body } = await world.untilComment(issue, "answer", { repo, forComment: bare });
      assert.match(body, /did not fit/);
      const line = /`(\/approve [0-9a-f]{12} unverified)`/.exec(body)?.[1] ?? "";
      github.comment(repo, issue, MAINTAINER, line);
      await world.untilState(issue, "published", repo);
      const head = github.pullRequests(repo)[0]?.pull?.headSha ?? "";
      const tree = await github.git(repo).readTree(head, true);
      assert.equal(tree?.find((item) => item.path === "numbers.txt")?.size, 43_890);
    },
  );

  story("F12: a change to workflows is sent back, and refused in the end", async () => {
    const world = shared.get();
    const { fullName: repo } = await world.addRepository({ name: "workflow", files: SMALL_FILES });
    const issue = world.openIssue({ title: "A workflow" }, repo);
    const body = await refused(world, { repo, issue });
    assert.match(body, /\.github\/workflows\/ci\.yml, which is protected/);
    assert.match(body, /\+on: push/, "what was tried is shown");
  });

  story(
    "F10: an agent that only left scratch files proposes nothing, and is told apart from one that did nothing",
    async () => {
      const world = shared.get();
      const { fullName: repo } = await world.addRepository({ name: "scratch", files: SMALL_FILES });
      const issue = world.openIssue({ title: "Made by a command" }, repo);
      const body = await refused(world, { repo, issue });
      assert.match(body, /no changes to propose/);
      assert.match(
        body,
        /left out: scratch\.txt \(a new file that was not made with the edit tool, nor named by the agent\)/,
      );
    },
  );

  story(
    "F19: a permission that the installation lacks is named before anything is fetched or paid for",
    async () => {
      const world = shared.get();
      const { fullName: repo } = await world.addRepository(
        { name: "no-rights", files: SMALL_FILES },
        { metadata: "read", contents: "read", issues: "write" },
      );
      const issue = world.openIssue({ title: "No rights" }, repo);
      const body = await refused(world, { repo, issue });
      assert.match(body, /lacks contents: write, pull_requests: write/);
      const asked = JSON.stringify(world.model.requests().map((request) => request.body));
      assert.ok(!asked.includes("No rights"));
    },
  );

  story(
    "H10: mistakes in the repository's own settings are listed, and its wishes for more are not heard",
    async () => {
      const world = shared.get();
      const { fullName: repo } = await world.addRepository({
        name: "bad-settings",
        files: { ...SMALL_FILES, ".github/agent-fix.yml": "budget: lots\ntest: [1, 2]\n" },
      });
      const issue = world.openIssue({}, repo);
      const body = await refused(world, { repo, issue });
      assert.match(body, /\.github\/agent-fix\.yml/);
      assert.match(body, /budget/);
      assert.match(body, /test/);
    },
  );

  story(
    "a base that moved elsewhere: the change is checked again, and published on the base that was approved",
    async () => {
      const world = shared.get();
      const { github } = world;
      const { fullName: repo, headSha } = await world.addRepository({ name: "moved", files: SMALL_FILES });
      const issue = world.openIssue({}, repo);
      await approved(world, {
        repo,
        issue,
        words: UNVERIFIED,
        meanwhile: () => github.pushCommit(repo, { by: REPORTER, files: { "other.txt": "new\n" } }),
      });
      const [pull] = github.pullRequests(repo);
      assert.match(pull?.body ?? "", /The base had moved to [0-9a-f]{12}/);
      const commit = await github.git(repo).readCommit(pull?.pull?.headSha ?? "");
      assert.deepEqual(commit?.parents, [headSha]);
    },
  );

  story(
    "F10: the same change has landed meanwhile: nothing to propose, no branch, no pull request",
    async () => {
      const world = shared.get();
      const { github } = world;
      const { fullName: repo } = await world.addRepository({ name: "landed", files: SMALL_FILES });
      const issue = world.openIssue({}, repo);
      github.label(repo, issue, MAINTAINER, LABEL);
      await world.untilState(issue, "awaiting_approval", repo);
      const mended = (SMALL_FILES["add.zig"] ?? "").replace("a - b", "a + b");
      await github.pushCommit(repo, { by: REPORTER, files: { "add.zig": mended, "other.txt": "new\n" } });
      github.comment(repo, issue, MAINTAINER, UNVERIFIED);
      const { body } = await world.untilComment(issue, "answer", { repo, text: /No pull request/ });
      assert.match(body, /no changes to propose[\s\S]*holds this change already/);
      await world.untilState(issue, "failed", repo);
      assert.deepEqual([...(await github.git(repo).refs()).keys()], ["refs/heads/main"]);
    },
  );

  story("a base that conflicts: no pull request, no branch, and how to go on", async () => {
    const world = shared.get();
    const { github } = world;
    const { fullName: repo } = await world.addRepository({ name: "conflict", files: SMALL_FILES });
    const issue = world.openIssue({}, repo);
    github.label(repo, issue, MAINTAINER, LABEL);
    await world.untilState(issue, "awaiting_approval", repo);
    await github.pushCommit(repo, { by: REPORTER, files: { "add.zig": "// gone\n" } });
    github.comment(repo, issue, MAINTAINER, UNVERIFIED);
    const { body } = await world.untilComment(issue, "answer", { repo, text: /No pull request/ });
    await world.untilState(issue, "failed", repo);
    assert.match(body, /conflicts with this change.*\/retry/);
    await world.untilComment(issue, "plan", { repo, text: /Not published/ });
    assert.deepEqual([...(await github.git(repo).refs()).keys()], ["refs/heads/main"]);
  });

  story(
    "H03: a revision brings a new plan; the old one is marked, and a bare approval in the first minute must name its digest",
    async () => {
      const world = shared.get();
      const { github } = world;
      const { fullName: repo } = await world.addRepository({ name: "revised", files: SMALL_FILES });
      const issue = world.openIssue({}, repo);
      github.label(repo, issue, MAINTAINER, LABEL);
      const first = await world.untilComment(issue, "plan", { repo });
      const { runId } = await world.untilState(issue, "awaiting_approval", repo);
      github.comment(repo, issue, MAINTAINER, "/revise Please keep it\non one line.");
      const second = await world.until("the second plan", () =>
        world.comments(issue, "plan", repo).find((plan) => plan.marker.runId !== runId),
      );
      await world.untilComment(issue, "plan", { repo, text: /Superseded/ });
      assert.match(github.comments(repo, issue).find((one) => one.id === first.id)?.body ?? "", /Superseded/);
      const asked = world.model.requests().map((request) => JSON.stringify(request.body));
      assert.ok(
        asked.some(
          (text) =>
            text.includes("Please keep it\\\\non one line.") ||
            text.includes("Please keep it\\non one line."),
        ),
      );
      await world.untilState(issue, "awaiting_approval", repo);
      const bare = github.comment(repo, issue, MAINTAINER, UNVERIFIED);
      const answer = await world.untilComment(issue, "answer", { repo, forComment: bare });
      const line = /`(\/approve [0-9a-f]{12} unverified)`/.exec(answer.body)?.[1] ?? "";
      assert.ok(second.body.includes(line.split(" ")[1] ?? "none"), "it names the newest plan's digest");
      github.comment(repo, issue, MAINTAINER, line);
      await world.untilState(issue, "published", repo);
      assert.equal(github.pullRequests(repo).length, 1);
    },
  );

  for (const [name, work] of sample(stories, 2)) test(name, work);
});

interface Approving {
  readonly repo: string;
  readonly issue: number;
  readonly words: string;
  /** Done between plan and approval. */
  readonly meanwhile?: () => Promise<unknown>;
}

async function approved(world: Outside, { repo, issue, words, meanwhile }: Approving): Promise<void> {
  world.github.label(repo, issue, MAINTAINER, LABEL);
  await world.untilState(issue, "awaiting_approval", repo);
  await meanwhile?.();
  world.github.comment(repo, issue, MAINTAINER, words);
  await world.untilState(issue, "published", repo);
  assert.equal(world.github.pullRequests(repo).length, 1);
}

/** The words of a run that ends by itself without a plan. */
async function refused(
  world: Outside,
  { repo, issue }: { readonly repo: string; readonly issue: number },
): Promise<string> {
  world.github.label(repo, issue, MAINTAINER, LABEL);
  const { body } = await world.untilComment(issue, "answer", { repo, text: /No pull request/ });
  await world.untilState(issue, "failed", repo);
  await world.untilComment(issue, "status", { repo, text: /ended without a pull request/ });
  assert.deepEqual(
    world.comments(issue, undefined, repo).map((comment) => comment.marker.kind),
    ["status", "answer"],
  );
  assert.deepEqual([...(await world.github.git(repo).refs()).keys()], ["refs/heads/main"]);
  return body;
}
