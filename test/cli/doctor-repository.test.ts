/** `agent-fix doctor --repo`: what a repository's maintainers are shown, posted once and only when asked for. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { MAINTAINER, REPOSITORY, type Stage, setStage } from "#src/demo/stage.ts";
import { ONBOARDING_TITLE } from "#src/gate/onboarding.ts";
import { contractViolations } from "#test/support/contract.ts";
import { testPart } from "#test/support/tier.ts";
import { agentFix } from "./command.ts";

let stage: Stage;
before(async () => {
  stage = await setStage({ clock: systemClock, ids: systemIds, scenario: "good", keep: false, port: 0 });
});
after(() => stage.close());

const doctor = (...args: readonly string[]) =>
  agentFix(["doctor", ...args], { env: { ...stage.env, OPENAI_BASE_URL: "http://127.0.0.1:9/" } });

function posted() {
  return stage.github.issues(REPOSITORY).filter(({ title }) => title === ONBOARDING_TITLE);
}

testPart(0.9)(
  "a repository is looked at, its tests are run, and its maintainers are told once, without anything else",
  async () => {
    const shown = await doctor("--repo", REPOSITORY.toUpperCase());
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /Tests\*\*: `npm test`, from scripts\.test in package\.json/);
    assert.match(shown.stdout, /\| baseline \| `npm test` \| 0 \| 2 \| 0 \| 0 \| test report \|/);
    assert.match(shown.stdout, /Nothing happens until somebody with write access sets the label/);
    assert.deepEqual(posted(), [], "without --post nothing is written");

    const first = await doctor("--repo", REPOSITORY, "--post");
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, /^Opened http:\S+\/issues\/2\n$/);
    const again = await doctor("--repo", REPOSITORY, "--post");
    assert.match(again.stdout, /has this issue already: http:\S+\/issues\/2\n/);
    const [issue, ...more] = posted();
    assert.deepEqual(more, []);
    assert.equal(issue?.login, "agent-fix[bot]");
    assert.equal(
      `# ${ONBOARDING_TITLE}\n\n${issue?.body}\n`,
      shown.stdout,
      "what is posted is what was shown",
    );
    assert.deepEqual(issue?.labels, []);

    stage.github.closeIssue(REPOSITORY, issue?.number ?? 0, MAINTAINER);
    assert.deepEqual(stage.github.pushes(), []);
    const writes = stage.github
      .calls()
      .filter(({ method, path }) => method !== "GET" && !path.endsWith("/access_tokens"));
    assert.deepEqual(
      writes.map(({ method, path }) => `${method} ${path}`),
      [`POST /repos/${REPOSITORY}/issues`],
    );
    assert.deepEqual(contractViolations(stage.github.calls()), []);
  },
);

test("a repository that cannot be looked at is told apart by what to do", async () => {
  for (const [repo, sentence] of [
    ["till", /takes OWNER\/NAME/],
    ["nobody/till", /not installed on nobody: install it/],
    ["acme/tull", /does not cover acme\/tull: add the repository/],
  ] as const) {
    const { code, stderr } = await doctor("--repo", repo);
    assert.equal(code, 1);
    assert.match(stderr, sentence);
  }
  const { code, stderr } = await doctor("--post");
  assert.equal(code, 2);
  assert.match(stderr, /--post needs --repo/);
});
