/** Repositories, issues and people that nobody hopes for: each ends in one visible, true state with a clear sentence. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { scriptOf } from "#src/demo/scripts.ts";
import { byIssue, taskOf } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, REPO, REPORTER } from "#test/support/outside.ts";
import { sharedWorld } from "#test/support/shared-world.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { inTurn, sample, testPart } from "#test/support/tier.ts";

const WRITER = "wanda";
const TRIAGER = "tim";

const UNKNOWN = `${OWNER}/unknown`;

const suite = inTurn(5, 8) ? describe : () => undefined;

suite("bad repositories, issues and people from outside", { concurrency: true }, () => {
  const shared = sharedWorld(
    {
      script: byIssue({ "Who may approve": scriptOf("good") }, smallJob),
      env: { CONCURRENCY: "4" },
      people: { [WRITER]: "write", [TRIAGER]: "triage" },
    },
    async (world) => {
      await world.addRepository({ name: "empty", defaultBranch: "trunk" });
      await world.addRepository({
        name: "untested",
        files: { ...SMALL_FILES, "package.json": '{"name":"untested","version":"1.0.0"}\n' },
      });
      await world.addRepository({
        name: "unknown",
        files: { ...SMALL_FILES, "build.zig": "// the build\n" },
      });
    },
  );

  test("E13: a label on a repository without commits ends at once, with one clear comment", async () => {
    const world = shared.get();
    const repo = `${OWNER}/empty`;
    const issue = world.openIssue({}, repo);
    world.github.label(repo, issue, MAINTAINER, LABEL);
    const result = await world.untilComment(issue, "answer", { repo });
    await world.untilState(issue, "failed", repo);
    assert.match(result.body, /no commits yet.*Push a first commit/);
    await endIsTold(world, { issue, repo, as: /the repository has no commits/ });
    const fetches = world.github.calls().filter((one) => one.path.startsWith(`/repos/${repo}/git`));
    assert.deepEqual(fetches, []);
  });

  const odds: (readonly [string, () => Promise<void>])[] = [];
  const odd = (name: string, work: () => Promise<void>) => odds.push([name, work]);

  odd(
    "a repository without tests: the plan says that nothing is proven, and takes /approve unverified only",
    async () => {
      await unproven(shared.get(), { repo: `${OWNER}/untested`, title: "No tests" });
    },
  );

  odd("a stack that is not known: the same, with what to do about it", async () => {
    const plan = await unproven(shared.get(), { repo: UNKNOWN, title: "Unknown stack" });
    assert.match(plan, /No test command was found/);
    assert.match(plan, /agent-fix\.yml/);
  });

  odd("an issue with an empty body is worked on by its title", async () => {
    const world = shared.get();
    const issue = world.openIssue({ title: "Cents lose their zero", body: null }, UNKNOWN);
    world.github.label(UNKNOWN, issue, MAINTAINER, LABEL);
    await world.untilState(issue, "awaiting_approval", UNKNOWN);
    const task = tasksOf(world).find((text) => text.includes("Cents lose their zero"));
    assert.ok(task !== undefined);
    assert.doesNotMatch(task, /null|undefined/);
  });

  odd(
    "H04: a body of 60 kB with hidden comments is cut and cleaned before the model reads it, and the plan says so",
    async () => {
      const world = shared.get();
      const words = "All of these receipts are wrong too. ".repeat(1_600);
      const body = `<!-- hidden-one -->\nSee below.\n${words}\nvisible end <!-- hidden-two\nnever closed`;
      assert.ok(body.length > 59_000);
      const issue = world.openIssue({ title: "A long story", body }, UNKNOWN);
      world.github.label(UNKNOWN, issue, MAINTAINER, LABEL);
      const plan = await world.untilComment(issue, "plan", { repo: UNKNOWN });
      assert.match(plan.body, /Hidden text was removed.*2 HTML comments/);
      const task = tasksOf(world).find((text) => text.includes("A long story"));
      assert.ok(task !== undefined);
      assert.doesNotMatch(JSON.stringify(world.model.requests()), /hidden-one|hidden-two|never closed/);
      assert.ok(task.length < 40_000, `the task has ${task.length} characters`);
      assert.ok(plan.body.length < 65_536);
    },
  );

  for (const [name, work] of sample(odds, 1)) test(name, work);

  test("a label by someone without write access starts nothing, and is explained once", async () => {
    const world = shared.get();
    const issue = world.openIssue({ title: "Labelled by its reporter" });
    world.github.label(REPO, issue, TRIAGER, LABEL);
    const result = await world.untilComment(issue, "answer");
    await world.untilState(issue, "failed");
    assert.match(result.body, /started by someone with write access.*tim has triage access/);
    await endIsTold(world, { issue, repo: REPO, as: /a permission is missing/ });
    assert.ok(
      !tasksOf(world).some((text) => text.includes("Labelled by its reporter")),
      "nothing was paid for",
    );
  });

  testPart(0.5)(
    "an /approve counts only from a person with write access, in plain words, on a plan that is there",
    async () => {
      const world = shared.get();
      const { github } = world;
      const issue = world.openIssue({ title: "Who may approve" });
      const early = github.comment(REPO, issue, MAINTAINER, "/approve");
      const none = await world.untilComment(issue, "answer", { forComment: early });
      assert.match(none.body, /no run on this issue yet/i);
      github.label(REPO, issue, MAINTAINER, LABEL);
      await world.untilComment(issue, "status");
      const hasty = github.comment(REPO, issue, MAINTAINER, "/approve");
      const notYet = await world.untilComment(issue, "answer", { forComment: hasty });
      assert.match(notYet.body, /no plan yet/);
      await world.untilState(issue, "awaiting_approval");

      await noise(world, issue);
      await refusals(world, issue);
      assert.equal(world.run(issue)?.state, "awaiting_approval");
      assert.deepEqual(github.pullRequests(REPO), []);

      github.comment(REPO, issue, WRITER, "\n  \n/approve  \r\n\r\n");
      await world.untilState(issue, "published");
      const late = github.comment(REPO, issue, MAINTAINER, "/approve");
      const over = await world.untilComment(issue, "answer", { forComment: late });
      assert.match(over.body, /nothing to approve: the run ended with pull request #\d+/);
      assert.equal(github.pullRequests(REPO).length, 1);
    },
  );

  /** F03, F05: what is no command gets no reaction and no word. */
  async function noise(world: Outside, issue: number): Promise<void> {
    const { github } = world;
    const before = github.comments(REPO, issue).length;
    const said = [
      "> /approve",
      "```\n/approve\n```",
      "`/approve`",
      "please do not /approve yet",
      "<!-- /approve -->",
      "    /approve",
      "<!--\n/approve\n-->",
    ].map((body) => github.comment(REPO, issue, MAINTAINER, body));
    said.push(await asApp(world, issue, "/approve"));
    // Facts are decided in their order, so an answer to this one means that the others are done with.
    const last = github.comment(REPO, issue, MAINTAINER, "/status");
    await world.untilComment(issue, "answer", { forComment: last });
    const now = github.comments(REPO, issue);
    assert.equal(now.length, before + said.length + 2);
    for (const comment of now.filter(({ id }) => said.includes(id)))
      assert.deepEqual(comment.reactions, [], comment.body);
  }

  /** F06: people without the right get a reaction; those of the project a word too. */
  async function refusals(world: Outside, issue: number): Promise<void> {
    const { github } = world;
    const byReader = github.comment(REPO, issue, REPORTER, "/approve");
    const byStranger = github.comment(REPO, issue, "stan", "/approve");
    const byTriager = github.comment(REPO, issue, TRIAGER, "/approve");
    const slip = github.comment(REPO, issue, MAINTAINER, "/approved");
    const wrong = github.comment(REPO, issue, MAINTAINER, "/approve 0123456789ab");
    const triager = await world.untilComment(issue, "answer", { forComment: byTriager });
    assert.match(triager.body, /needs write access.*tim has triage access/);
    assert.match((await world.untilComment(issue, "answer", { forComment: slip })).body, /`\/approve`/);
    assert.match(
      (await world.untilComment(issue, "answer", { forComment: wrong })).body,
      /not the newest plan/,
    );
    for (const id of [byReader, byStranger, byTriager, slip, wrong]) {
      const comment = github.comments(REPO, issue).find((one) => one.id === id);
      assert.deepEqual(comment?.reactions, ["confused"], comment?.login);
    }
    const answered = world.comments(issue, "answer").map((one) => one.marker.forComment);
    assert.ok(!answered.includes(byReader) && !answered.includes(byStranger), "no answer to just anybody");
  }
});

interface Unproven {
  readonly repo: string;
  readonly title: string;
}

/** From the label to the draft pull request of a plan that nothing proves; returns the plan. */
async function unproven(world: Outside, { repo, title }: Unproven): Promise<string> {
  const { github } = world;
  const issue = world.openIssue({ title }, repo);
  github.label(repo, issue, MAINTAINER, LABEL);
  const plan = await world.untilComment(issue, "plan", { repo });
  assert.match(plan.body, /unproven|not proven/i);
  assert.match(plan.body, /\/approve unverified/);
  const bare = github.comment(repo, issue, MAINTAINER, "/approve");
  const answer = await world.untilComment(issue, "answer", { repo, forComment: bare });
  assert.match(answer.body, /This plan is not proven/);
  assert.deepEqual(github.pullRequests(repo), []);
  github.comment(repo, issue, MAINTAINER, "/approve unverified");
  await world.untilState(issue, "published", repo);
  const [pull] = github.pullRequests(repo);
  assert.equal(pull?.pull?.draft, true);
  assert.match(pull?.body ?? "", /Not verified/);
  return plan.body;
}

interface Told {
  readonly issue: number;
  readonly repo: string;
  readonly as: RegExp;
}

/** One status comment that tells the end, and one comment about it. */
async function endIsTold(world: Outside, { issue, repo, as }: Told): Promise<void> {
  await world.untilComment(issue, "status", { repo, text: as });
  assert.deepEqual(
    world.comments(issue, undefined, repo).map((comment) => comment.marker.kind),
    ["status", "answer"],
  );
}

/** A comment written with one of the app's own tokens; returns its id. */
async function asApp(world: Outside, issue: number, body: string): Promise<number> {
  const id = world.run(issue)?.repositoryId ?? 0;
  const mayWrite = world.github
    .tokens()
    .find((one) => one.permissions.issues === "write" && one.repositoryIds?.includes(id));
  const answer = await fetch(`${world.github.apiUrl}/repos/${REPO}/issues/${issue}/comments`, {
    method: "POST",
    headers: { authorization: `token ${mayWrite?.token}`, "content-type": "application/json" },
    body: JSON.stringify({ body }),
  });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { id: number }).id;
}

/** The first user message of every request so far. */
function tasksOf(world: Outside): readonly string[] {
  return world.model.requests().map(({ body }) => {
    const { messages } = body as { messages: Parameters<typeof taskOf>[0] };
    return taskOf(messages);
  });
}
