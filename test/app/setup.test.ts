/** Who may use the set-up page: the code from the terminal, ten wrong ones at most, and the state that is bound to it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Handlers, startServer } from "#src/app/server.ts";
import { createSetupPage, type RegisteredApp } from "#src/app/setup.ts";
import { contentPolicy, escapeHtml, problemPage, registerPage, STYLE } from "#src/app/setup-pages.ts";
import { createSetupSession } from "#src/app/setup-session.ts";
import { sha256 } from "#src/base/canonical-json.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { silentLog } from "#src/base/log.ts";

test("the code has 160 random bits, is checked as often as it is right, and after ten wrong ones never again", () => {
  const session = createSetupSession(systemIds);
  assert.match(session.code, /^[0-9a-f]{40}$/);
  assert.notEqual(createSetupSession(systemIds).code, session.code);
  for (let time = 0; time < 9; time++) assert.equal(session.check(`wrong ${time}`), "wrong");
  assert.equal(session.check(session.code), "ok");
  assert.equal(session.check(session.code.slice(0, -1)), "wrong");
  for (const code of [session.code, "wrong", ""]) assert.equal(session.check(code), "locked");
});

test("what is almost the code is wrong", () => {
  const session = createSetupSession(systemIds);
  const near = [
    session.code.toUpperCase(),
    ` ${session.code}`,
    `${session.code}0`,
    session.code.slice(1),
    "",
  ];
  for (const code of near.filter((one) => one !== session.code)) assert.equal(session.check(code), "wrong");
});

test("a state is redeemed once, only the newest one, and none before one was issued", () => {
  const session = createSetupSession(systemIds);
  assert.equal(session.redeemState(""), false);
  const first = session.issueState();
  const second = session.issueState();
  assert.equal(session.redeemState(first), false);
  assert.equal(session.redeemState(second.slice(0, -1)), false);
  assert.equal(session.redeemState(second), true);
  assert.equal(session.redeemState(second), false);
});

interface Page {
  readonly url: string;
  readonly code: string;
  readonly registered: RegisteredApp[];
  /** What the stand-in for GitHub's conversion answers, and what it was asked. */
  readonly asked: string[];
  enter(
    fields: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string; headers: Headers }>;
  callback(query: string): Promise<{ status: number; text: string }>;
}

const APP = {
  id: 7,
  pem: "PEM",
  webhook_secret: "hook",
  html_url: "https://github.example/apps/x",
  extra: 1,
};

async function withPage(
  work: (page: Page) => Promise<void>,
  options: { readonly answer?: unknown; readonly status?: number; readonly fail?: boolean } = {},
): Promise<void> {
  const asked: string[] = [];
  const registered: RegisteredApp[] = [];
  const handlers: Handlers = { webhooks: null, setup: null, ready: async () => true };
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    handlers,
    clock: systemClock,
    log: silentLog,
  });
  const gitHub: Handlers = {
    webhooks: null,
    setup: async (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(options.status ?? 201, { "content-type": "application/json" });
      response.end(JSON.stringify(options.answer ?? APP));
    },
    ready: async () => true,
  };
  const stand = await startServer({
    host: "127.0.0.1",
    port: 0,
    handlers: gitHub,
    clock: systemClock,
    log: silentLog,
  });
  const page = createSetupPage({
    webUrl: "https://github.example",
    // The stand-in serves everything under /setup/.
    apiUrl: `${stand.url}/setup`,
    publicUrl: null,
    webhookProxyUrl: null,
    manifest: { name: 'agent"<fix>' },
    ids: systemIds,
    clock: systemClock,
    log: silentLog,
    credentialsFile: "/data/app.env",
    onRegistered: async (app) => {
      if (options.fail === true) throw new Error("the disk is full");
      registered.push(app);
      handlers.setup = null;
    },
  } as Parameters<typeof createSetupPage>[0]);
  handlers.setup = page.handler;
  const read = async (response: Response) => ({
    status: response.status,
    text: await response.text(),
    headers: response.headers,
  });
  try {
    await work({
      url: server.url,
      code: page.code,
      registered,
      asked,
      enter: async (fields) =>
        read(await fetch(`${server.url}/setup`, { method: "POST", body: new URLSearchParams(fields) })),
      callback: async (query) => read(await fetch(`${server.url}/setup/callback?${query}`)),
    });
  } finally {
    await server.close(1_000);
    await stand.close(1_000);
  }
}

function stateIn(html: string): string {
  return /settings\/apps\/new\?state=([0-9a-f]+)/.exec(html)?.[1] ?? "";
}

test("the whole way: code, manifest, answer, credentials; then the page is gone", async () => {
  await withPage(async (page) => {
    const entered = await page.enter({ code: ` ${page.code} `, organisation: "acme" });
    assert.equal(entered.status, 200);
    assert.match(
      entered.text,
      /action="https:\/\/github\.example\/organizations\/acme\/settings\/apps\/new\?state=/,
    );
    assert.ok(entered.text.includes("agent\\&quot;&lt;fix&gt;"), "the manifest is escaped");
    assert.match(entered.text, /set PUBLIC_URL or WEBHOOK_PROXY_URL/);
    assert.match(
      entered.headers.get("content-security-policy") ?? "",
      /default-src 'none'.*form-action 'self' https:/,
    );
    assert.equal(entered.headers.get("cache-control"), "no-store");
    const done = await page.callback(`state=${stateIn(entered.text)}&code=abc-123`);
    assert.equal(done.status, 200);
    assert.match(done.text, /\/data\/app\.env/);
    assert.ok(!done.text.includes("PEM") && !done.text.includes("hook"));
    assert.deepEqual(page.asked, ["POST /setup/app-manifests/abc-123/conversions"]);
    assert.deepEqual(
      page.registered.map(({ id, pem, webhook_secret }) => [id, pem, webhook_secret]),
      [[7, "PEM", "hook"]],
    );
    for (const path of ["/", "/setup", `/setup/callback?state=${stateIn(entered.text)}&code=abc`])
      assert.equal((await fetch(page.url + path, { redirect: "manual" })).status, 404);
  });
});

test("without the code there is no state, and no answer of GitHub's is believed", async () => {
  await withPage(async (page) => {
    for (const query of ["", "state=&code=abc", "code=abc", `state=${page.code}&code=abc`])
      assert.equal((await page.callback(query)).status, 403, query);
    const wrong = await page.enter({ code: "0".repeat(40) });
    assert.equal(wrong.status, 403);
    assert.equal(stateIn(wrong.text), "");
    assert.deepEqual([page.asked, page.registered], [[], []]);
  });
});

test("ten wrong codes lock the page, also for the right one", async () => {
  await withPage(async (page) => {
    for (let time = 0; time < 10; time++) assert.equal((await page.enter({ code: "x" })).status, 403);
    const locked = await page.enter({ code: page.code });
    assert.equal(locked.status, 429);
    assert.match(locked.text, /Restart the server/);
    assert.ok(!locked.text.includes(page.code));
  });
});

test("what is no organisation, too much, or no temporary code is refused before GitHub is asked", async () => {
  await withPage(async (page) => {
    for (const organisation of ["a/b", "a?x=1", "<b>", "x".repeat(40)])
      assert.equal((await page.enter({ code: page.code, organisation })).status, 400, organisation);
    assert.equal((await page.enter({ code: "x".repeat(20_000) })).status, 413);
    for (const code of ["", "a/b", "../x", "a%2fb", "x".repeat(300)]) {
      const { text } = await page.enter({ code: page.code });
      assert.equal(
        (await page.callback(`state=${stateIn(text)}&code=${encodeURIComponent(code)}`)).status,
        502,
      );
    }
    assert.deepEqual(page.asked, []);
  });
});

for (const [what, options, status] of [
  ["GitHub refuses the code", { status: 404 }, 502],
  ["GitHub's answer lacks the credentials", { answer: { id: 7 } }, 502],
  ["the credentials cannot be stored", { fail: true }, 500],
] as const)
  test(`when ${what} the page says so and can be used again`, async () => {
    await withPage(async (page) => {
      for (let time = 0; time < 2; time++) {
        const { text } = await page.enter({ code: page.code });
        const answer = await page.callback(`state=${stateIn(text)}&code=abc`);
        assert.equal(answer.status, status);
        assert.ok(!answer.text.includes("PEM"));
      }
      assert.deepEqual(page.registered, []);
    }, options);
  });

test("pages hold no live text of others, and the style is the one the policy names", () => {
  const evil = `"><script>alert(1)</script>'&`;
  for (const html of [
    problemPage(evil),
    registerPage({ action: `https://x?${evil}`, manifest: { evil }, webhookUrl: evil, webhookWarning: evil }),
  ])
    assert.ok(!html.includes("<script>"), html);
  assert.equal(escapeHtml(evil), "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;");
  const hash = Buffer.from(sha256(STYLE), "hex").toString("base64");
  assert.ok(contentPolicy([]).includes(`style-src 'sha256-${hash}'`));
});
