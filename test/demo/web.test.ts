/** The whole job by hand in a browser: `demo --web`, from the label to the merge, with a change asked for in between. */

import assert from "node:assert/strict";
import { startAgentFix } from "#test/cli/command.ts";
import { NO_BROWSER, openBrowser } from "#test/support/browser.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { testPart } from "#test/support/tier.ts";

const RUN_LIMIT_MS = 180_000;

testPart(0.3)(
  "a person labels, approves, asks for a change on the pull request, approves that and merges",
  { skip: NO_BROWSER },
  async () => {
    await using dir = await tempDir("web-");
    const demo = startAgentFix(["demo", "--web"], { env: { DATA_DIR: dir.path } });
    const browser = await openBrowser();
    try {
      await demo.prints(/\/issues\/1\n/);
      const address = /http:\S+\/issues\/1/.exec(demo.stdout())?.[0] ?? "";
      const page = await browser.newPage();
      page.setDefaultTimeout(RUN_LIMIT_MS);
      const plan = page.locator("article", { hasText: "Digest of exactly these bytes" });
      const say = async (words: string, button: string) => {
        await page.getByLabel("Your comment").fill(words);
        await page.getByRole("button", { name: button, exact: true }).click();
      };

      await page.goto(address);
      await page.getByRole("button", { name: "Set the label agent-fix" }).click();
      await plan.waitFor();
      assert.match((await plan.textContent()) ?? "", /Plan: proven/);
      assert.ok((await page.locator(".steps li", { hasText: "verdict: proven" }).count()) === 1);
      await say("/approve", "Comment");

      await page.locator("article a", { hasText: "#2" }).first().click();
      await page.locator(".diff .add", { hasText: "padStart" }).waitFor();
      await say("Please test a whole amount too.", "Request changes");
      await plan.waitFor();
      // A second plan that is less than a minute old is approved by its digest only.
      const digest = /Digest of exactly these bytes: ([0-9a-f]{12})/.exec(
        (await plan.textContent()) ?? "",
      )?.[1];
      await say(`/approve ${digest}`, "Comment");
      await page.locator(".diff .add", { hasText: "formatPrice(1000)" }).waitFor();
      await page.getByRole("button", { name: "Merge" }).click();
      await page.locator(".state.merged").waitFor();
      await page.goto(address);
      await page.locator(".state.closed").waitFor();

      demo.kill("SIGINT");
      const { code, stderr } = await demo.ended;
      assert.equal(code, 0, stderr);
      await page.locator("#notice", { hasText: "has ended" }).waitFor();
    } finally {
      await browser.close();
      demo.kill("SIGINT");
      await demo.ended;
    }
  },
);
