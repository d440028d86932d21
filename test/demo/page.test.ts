/** The demo's pages in a real browser: what a visitor sees and can do, and what hostile text and other sites cannot. */

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { renderMarkdown } from "#src/demo/page/markdown.ts";
import { createPages } from "#src/demo/page/pages.ts";
import { NO_BROWSER, openBrowser } from "#test/support/browser.ts";
import { type GitHubRig, githubRig, value } from "#test/support/github.ts";

const REPO = "acme/widget";
const PEOPLE = [
  { login: "maya", mayWrite: true },
  { login: "ravi", mayWrite: false },
] as const;

let rig: GitHubRig;
let browser: Browser | null = null;
const steps: string[] = [];

before(async () => {
  rig = await githubRig();
  rig.hub.servePages(
    createPages({
      github: rig.hub,
      repository: REPO,
      people: PEOPLE,
      label: "agent-fix",
      stepsOf: async () => steps,
    }),
  );
  if (NO_BROWSER === false) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await rig[Symbol.asyncDispose]();
});

const addressOf = (number: number) => `${rig.hub.url}/${REPO}/issues/${number}`;

interface Posted {
  readonly status: number;
  readonly body: string;
}

/** Sends a form as a browser would, or with other headers. */
function post(
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Posted> {
  const body = new URLSearchParams(fields).toString();
  const options = { method: "POST", headers: { host: rig.hub.host, origin: rig.hub.url, ...headers } };
  return new Promise((resolve, reject) => {
    const sent = request(`${rig.hub.url}/-/act`, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text }));
    });
    sent.on("error", reject).end(body);
  });
}

describe("in a browser", { skip: NO_BROWSER }, () => {
  async function visit(number: number): Promise<Page> {
    if (browser === null) throw new Error("no browser");
    const page = await browser.newPage();
    await page.goto(addressOf(number));
    return page;
  }

  test("a maintainer labels an issue and comments; what others say appears, and what is being written stays", async () => {
    const issue = rig.hub.openIssue(REPO, "ravi", { title: "Cents <b>wrong</b>", body: "It says `2.5`." });
    await using page = await visit(issue);
    assert.equal(await page.locator("h1").textContent(), `Cents <b>wrong</b> #${issue}`);
    await page.getByRole("button", { name: "Set the label agent-fix" }).click();
    await page.locator(".label", { hasText: "agent-fix" }).waitFor();
    assert.deepEqual(rig.hub.issue(REPO, issue).labels, ["agent-fix"]);

    await page.getByLabel("Your comment").fill("half a sen");
    rig.hub.comment(
      REPO,
      issue,
      "agent-fix[bot]",
      "<details><summary>More</summary>\n\n**folded**\n\n</details>",
    );
    await page.getByText("More").click();
    steps.push("tests (baseline): 2 passed, 0 failed");
    await page.locator(".steps li", { hasText: "baseline" }).waitFor();
    assert.ok(await page.getByText("folded").isVisible(), "an open part stays open");
    assert.equal(await page.getByLabel("Your comment").inputValue(), "half a sen");

    await page.getByLabel("Your comment").fill("/status\nsecond line");
    await page.getByRole("combobox").selectOption("ravi");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.locator("article", { hasText: "second line" }).waitFor();
    const last = rig.hub.comments(REPO, issue).at(-1);
    assert.deepEqual([last?.login, last?.body], ["ravi", "/status\nsecond line"]);
    assert.equal(await page.getByRole("combobox").inputValue(), "ravi", "a visitor stays who they were");
  });

  test("a pull request shows its diff, takes a review, and is merged", async () => {
    await rig.hub.pushCommit(REPO, {
      by: "maya",
      branch: "fix",
      files: { "src/add.js": "export const add = (a, b) => a + b;\n" },
    });
    const number = await openPull("fix");
    await using page = await visit(number);
    await page.locator(".diff .add", { hasText: "a + b" }).waitFor();
    await page.locator(".diff .del", { hasText: "a - b" }).waitFor();
    await page.getByLabel("Your comment").fill("Test it, please.");
    await page.getByRole("button", { name: "Request changes" }).click();
    await page.waitForURL(`**/pull/${number}`);
    await page.getByRole("button", { name: "Merge" }).click();
    await page.locator(".state.merged").waitFor();
    assert.equal(rig.hub.pullRequests(REPO).find((pull) => pull.number === number)?.pull?.merged, true);
    await page.locator(".diff .add", { hasText: "a + b" }).waitFor();
  });

  test("hostile text runs nothing and fetches nothing", async () => {
    const body = [
      "<script>document.title = 'owned'</script>",
      '<img src="http://127.0.0.1:1/x" onerror="document.title = \'owned\'">',
      "[click](javascript:document.title='owned')",
      "<form action=/-/act method=post><input name=do value=close><button>Free</button></form>",
      "<style>body{display:none}</style><iframe src=/></iframe><base href=//evil.example/>",
      "<details open ontoggle=\"document.title='owned'\"><summary>s</summary></details>",
    ].join("\n\n");
    const issue = rig.hub.openIssue(REPO, "ravi", {
      title: "</title><script>document.title='owned'</script>",
      body,
    });
    if (browser === null) throw new Error("no browser");
    await using page = await browser.newPage();
    const asked: string[] = [];
    page.on("request", (one) => asked.push(new URL(one.url()).pathname));
    await page.goto(addressOf(issue), { waitUntil: "networkidle" });
    rig.hub.comment(REPO, issue, "ravi", `${body}\n\nsaid again`);
    await page.getByText("said again").waitFor();
    assert.match(await page.title(), /^<\/title><script>/);
    assert.equal(await page.locator("article :is(script, form, style, iframe, base, button)").count(), 0);
    assert.equal(await page.locator("article a[href^=javascript]").count(), 0);
    const known = [`/${REPO}/issues/${issue}`, "/-/github-markdown.css", "/-/page.css", "/-/live.js"];
    assert.deepEqual(new Set(asked.filter((path) => path !== "/x")).difference(new Set(known)), new Set());
  });
});

async function openPull(branch: string): Promise<number> {
  const asked = { title: `Merge ${branch}`, body: "", head: branch, base: "main", draft: false };
  return (await value(rig.github().createPullRequest(asked))).number;
}

test("who may only read cannot set a label, close or merge, whatever the form says", async () => {
  const issue = String(rig.hub.openIssue(REPO, "ravi", { title: "one" }));
  for (const what of ["label", "unlabel", "close", "reopen", "merge", "request-changes"]) {
    const answer = await post({ do: what, by: "ravi", number: issue, text: "x" });
    assert.equal(answer.status, 400, what);
    assert.match(answer.body, /may only read/);
  }
  assert.equal(rig.hub.issue(REPO, Number(issue)).state, "open");
});

test("a form of another site, or under another name, does nothing and is told why", async () => {
  const issue = rig.hub.openIssue(REPO, "ravi", { title: "two" });
  const close = { do: "close", by: "maya", number: String(issue) };
  for (const origin of ["http://evil.example", "null", "https://127.0.0.1", `${rig.hub.url}.evil.example`])
    assert.equal((await post(close, { origin })).status, 403, origin);
  assert.equal((await post(close, { host: "evil.example" })).status, 421);
  assert.equal(rig.hub.issue(REPO, issue).state, "open");
  assert.equal((await post(close)).status, 303);
  assert.equal(rig.hub.issue(REPO, issue).state, "closed");
});

test("bad forms are answered with what is wrong", async () => {
  const issue = String(rig.hub.openIssue(REPO, "ravi", { title: "three" }));
  const cases: readonly (readonly [Readonly<Record<string, string>>, number, RegExp])[] = [
    [{}, 400, /no action/],
    [{ do: "constructor", by: "maya", number: issue }, 400, /no action/],
    [{ do: "close", by: "nobody", number: issue }, 400, /maya, ravi/],
    [{ do: "close", by: "maya", number: "0" }, 400, /which issue/],
    [{ do: "close", by: "maya", number: "99999" }, 404, /#99999/],
    [{ do: "comment", by: "maya", number: issue, text: " \r\n " }, 400, /Write something/],
    [{ do: "open", by: "ravi", title: "  " }, 400, /title/],
    [{ do: "merge", by: "maya", number: issue }, 409, /no open pull request/],
    [{ do: "comment", by: "maya", number: issue, text: "x".repeat(300_000) }, 413, /256 kB/],
  ];
  for (const [form, status, text] of cases) {
    const answer = await post(form);
    assert.equal(answer.status, status, JSON.stringify(form).slice(0, 80));
    assert.match(answer.body, text);
  }
});

test("Markdown is shown as in GitHub's comments: line breaks, alerts, tables, references outside code", () => {
  const { html } = renderMarkdown("a\nb #12 `#13`\n\n> [!WARNING]\n> careful\n\n| x |\n| - |\n| 1 |", REPO);
  assert.match(html, /a<br \/>\nb <a href="\/acme\/widget\/issues\/12">#12<\/a> <code>#13<\/code>/);
  assert.match(html, /markdown-alert-warning"><p class="markdown-alert-title">Warning<\/p><p>\s*careful/);
  assert.match(html, /<td>1<\/td>/);
});
