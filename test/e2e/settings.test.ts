/** Settings, the set-up page, and the server's own HTTP, from outside. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WEBHOOK_PATH } from "#src/app/webhooks.ts";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { startModelServer } from "#src/demo/model-server.ts";
import { startGitHub } from "#src/github/sim/server.ts";
import { closedPort } from "#test/support/closed-port.ts";
import { processesLeft } from "#test/support/left-behind.ts";
import { byTurns, call, say } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, OWNER, REPO, startOutside } from "#test/support/outside.ts";
import { launchServer, type ServerProcess } from "#test/support/server-process.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { inTurn, testPart } from "#test/support/tier.ts";

const LOOPBACK = { PORT: "0", HOST: "127.0.0.1", LOG_LEVEL: "info" };

describe("settings that are wrong", () => {
  test("every problem is in one list with its remedy, the exit code is 1, and nothing was opened", async () => {
    await using dir = await tempDir();
    const dataDir = join(dir.path, "data");
    const server = launchServer({
      ...LOOPBACK,
      PORT: "70000",
      APP_ID: "not-a-number",
      PRIVATE_KEY: "no key at all",
      OPENAI_BASE_URL: "nowhere",
      CONCURRENCY: "0",
      SANDBOX: "magic",
      DATABASE_URL: "postgres://localhost/x",
      DATA_DIR: dataDir,
    });
    assert.deepEqual(await server.exited, { code: 1, signal: null });
    const text = server.stderr() + server.stdout();
    for (const name of [
      "PORT",
      "APP_ID",
      "PRIVATE_KEY",
      "WEBHOOK_SECRET",
      "OPENAI_BASE_URL",
      "CONCURRENCY",
      "SANDBOX",
      "DATABASE_URL",
    ])
      assert.match(text, new RegExp(`^.*\\b${name}\\b.+`, "m"), name);
    assert.ok(!text.includes("no key at all"), "no secret's text is repeated");
    assert.doesNotMatch(text, /^\s+at /m, "no stack trace");
    assert.equal(existsSync(dataDir), false);
  });

  test("some of the app's credentials without the others are a mistake, not a set-up", async () => {
    await using dir = await tempDir();
    const server = launchServer({
      ...LOOPBACK,
      WEBHOOK_SECRET: "x".repeat(20),
      DATA_DIR: join(dir.path, "data"),
    });
    assert.deepEqual(await server.exited, { code: 1, signal: null });
    const text = server.stderr() + server.stdout();
    for (const name of ["APP_ID", "PRIVATE_KEY", "OPENAI_API_KEY"]) assert.ok(text.includes(name), name);
    assert.equal(existsSync(join(dir.path, "data")), false);
  });

  test("a port that is taken is named, with what to do", async () => {
    await using dir = await tempDir();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const server = launchServer({ ...LOOPBACK, PORT: String(port), DATA_DIR: join(dir.path, "data") });
    assert.deepEqual(await server.exited, { code: 1, signal: null });
    await new Promise((resolve) => other.close(resolve));
    assert.match(server.stderr(), new RegExp(`port ${port} on 127\\.0\\.0\\.1 is taken.*PORT`));
    assert.doesNotMatch(server.stderr(), /^\s+at /m);
    assert.deepEqual(await processesLeft(dir.path), []);
  });
});

const setUp = inTurn(2, 8) ? describe : () => undefined;

setUp("the set-up page", () => {
  test("registers the app on GitHub, stores its credentials for this user only, works without a restart, and is gone for ever", async () => {
    await using dir = await tempDir();
    const dataDir = join(dir.path, "data");
    const github = await startGitHub({
      dataDir: join(dir.path, "github"),
      clock: systemClock,
      ids: systemIds,
    });
    const model = await startModelServer({
      script: byTurns(call("edit_file", { path: "a.txt", old: "one", new: "two" }), say("Two\n\nNot one.")),
    });
    const env = {
      ...LOOPBACK,
      DATA_DIR: dataDir,
      GHE_HOST: github.host,
      GHE_PROTOCOL: "http",
      OPENAI_BASE_URL: model.url,
      OPENAI_MODEL: "scripted",
    };
    let server = launchServer(env);
    try {
      const { url, code } = await invitation(server);
      assert.equal(code.length, 40, "160 bits");
      assert.ok(!server.stderr().includes(code), "the code is for the terminal, not for the log");
      assert.equal((await fetch(`${url}${WEBHOOK_PATH}`, { method: "POST" })).status, 503);
      await refusals(url);

      const registered = await register(url, code);
      assert.equal(registered.status, 200);
      const page = await registered.text();
      assert.match(page, /agent-fix is registered/);
      const file = join(dataDir, "app.env");
      const stored = await readFile(file, "utf8");
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      for (const secret of secretsIn(stored))
        assert.ok(
          !`${page}${server.stderr()}${server.stdout()}`.includes(secret),
          "the page shows no secret",
        );

      await gone(url, code);
      await worksOn(github);

      assert.deepEqual(await server.terminate(), { code: 0, signal: null });
      server = launchServer(env);
      const again = await server.ready();
      await gone(again, code);
      assert.ok(!server.stdout().includes("one-time code"));
      assert.deepEqual(
        (await readdir(dataDir)).filter((name) => name.startsWith("app.env")),
        ["app.env"],
      );
      assert.deepEqual(await server.terminate(), { code: 0, signal: null });
    } finally {
      if (server.exit() === null) await server.kill9();
      await model.close();
      await github.close();
    }
    assert.deepEqual(await processesLeft(dir.path), []);
  });

  test("locks itself after ten wrong codes, for the right one too", async () => {
    await using dir = await tempDir();
    const server = launchServer({ ...LOOPBACK, DATA_DIR: join(dir.path, "data") });
    try {
      const { url, code } = await invitation(server);
      const enter = async (given: string) => (await form(`${url}/setup`, { code: given })).status;
      for (let attempt = 1; attempt <= 10; attempt++) assert.equal(await enter(`${attempt}`.repeat(40)), 403);
      assert.equal(await enter("0"), 429);
      assert.equal(await enter(code), 429);
      assert.deepEqual(await server.terminate(), { code: 0, signal: null });
    } finally {
      if (server.exit() === null) await server.kill9();
    }
  });

  /** A wrong code, a callback nobody asked for, a state of somebody else. */
  async function refusals(url: string): Promise<void> {
    assert.equal((await form(`${url}/setup`, { code: "wrong" })).status, 403);
    assert.equal((await fetch(`${url}/setup/callback?code=abc&state=`)).status, 403);
    assert.equal((await fetch(`${url}/setup/callback?code=abc`)).status, 403);
    assert.equal((await fetch(`${url}/setup/callback?code=abc&state=${"0".repeat(40)}`)).status, 403);
  }

  /** The whole way as a browser goes it; the answer to the callback. */
  async function register(url: string, code: string): Promise<Response> {
    const page = await (await form(`${url}/setup`, { code, organisation: OWNER })).text();
    const action = unescapeHtml(/<form method="post" action="([^"]+)"/.exec(page)?.[1] ?? "");
    const manifest = unescapeHtml(/name="manifest" value="([^"]+)"/.exec(page)?.[1] ?? "");
    const { hook_attributes: hook, default_permissions: permissions } = JSON.parse(manifest);
    assert.equal(hook.url, `${url}${WEBHOOK_PATH}`);
    assert.deepEqual(permissions, {
      contents: "write",
      issues: "write",
      pull_requests: "write",
      checks: "read",
      statuses: "read",
      metadata: "read",
    });
    const sent = await form(action, { manifest });
    assert.equal(sent.status, 302);
    const back = sent.headers.get("location") ?? "";
    const foreign = new URL(back);
    foreign.searchParams.set("state", "0".repeat(40));
    assert.equal((await fetch(foreign)).status, 403, "the state is checked before GitHub's code is used");
    const done = await fetch(back);
    assert.equal((await fetch(back)).status, 404, "a callback counts once");
    return done;
  }

  async function gone(url: string, code: string): Promise<void> {
    for (const path of ["/", "/setup", "/setup/callback?code=a&state=b"])
      assert.equal((await fetch(`${url}${path}`)).status, 404, path);
    assert.equal((await form(`${url}/setup`, { code })).status, 404);
  }

  /** A label on a repository becomes a plan, with the credentials that GitHub handed out. */
  async function worksOn(github: Awaited<ReturnType<typeof startGitHub>>): Promise<void> {
    const { fullName } = await github.createRepository({
      owner: OWNER,
      name: "till",
      files: { "a.txt": "one\n" },
    });
    github.setPermission(fullName, MAINTAINER, "maintain");
    github.install({ repositories: [fullName] });
    const issue = github.openIssue(fullName, MAINTAINER, { title: "It says one" });
    github.label(fullName, issue, MAINTAINER, LABEL);
    const end = systemClock.now() + 120_000;
    while (!github.comments(fullName, issue).some((one) => one.body.includes("kind=plan"))) {
      assert.ok(systemClock.now() < end, "a plan in time");
      await systemClock.sleep(100);
    }
  }
});

const part = testPart(0.6);

describe("the server's own HTTP", () => {
  let world: Outside;
  before(async () => {
    // A relay that is not there must not keep the server from its work.
    world = await startOutside({
      script: () => say("Nothing to do."),
      files: { "a.txt": "one\n" },
      env: { WEBHOOK_PROXY_URL: `http://127.0.0.1:${await closedPort()}/none` },
    });
  });
  after(async () => {
    try {
      await world.finish();
    } finally {
      await world.close();
    }
  });

  test("/healthz and /readyz answer 200, everything unknown 404", async () => {
    const status = async (path: string, init?: RequestInit) =>
      (await fetch(`${world.url()}${path}`, init)).status;
    assert.equal(await status("/healthz"), 200);
    assert.equal(await status("/readyz"), 200);
    for (const path of [
      "/",
      "/setup",
      "/nothing",
      "/api/github",
      `${WEBHOOK_PATH}/`,
      "/api/github/webhooks2",
      "/%2e%2e/",
    ])
      assert.equal(await status(path), 404, path);
    assert.equal(await status(WEBHOOK_PATH), 405);
    assert.equal(await status("//"), 400);
  });

  part("26 MB are too much, and a form is no webhook", async () => {
    const large = await fetch(`${world.url()}${WEBHOOK_PATH}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": "large",
      },
      body: Buffer.alloc(26 * 1024 * 1024, 32),
    });
    assert.equal(large.status, 413);
    const chunked = await fetch(`${world.url()}${WEBHOOK_PATH}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      duplex: "half",
      body: new ReadableStream({
        pull: (stream) => stream.enqueue(Buffer.alloc(1024 * 1024, 32)),
      }),
    } as RequestInit).then(
      (answer) => answer.status,
      () => 413,
    );
    assert.equal(chunked, 413, "also when the length is not announced");
    const asForm = await form(`${world.url()}${WEBHOOK_PATH}`, { payload: "{}" });
    assert.equal(asForm.status, 415);
    assert.match(await asForm.text(), /application\/json/);
    assert.equal((await fetch(`${world.url()}/healthz`)).status, 200);
  });

  part(
    "F15: a signature counts over the bytes as they came; a wrong one is refused and logged with its delivery",
    async () => {
      const issue = world.openIssue({ title: "Über 🧾" });
      world.github.webhooks.hold();
      world.github.label(REPO, issue, MAINTAINER, LABEL);
      const delivery = world.github.webhooks.deliveries().at(-1);
      assert.ok(delivery?.action === "labeled");
      world.github.webhooks.release(() => []);
      // The same JSON as another writer spells it: escapes, spaces, line ends.
      const body = `\r\n${JSON.stringify(JSON.parse(delivery.body), null, 3).replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
      assert.match(body, /\\u00dcber \\ud83e/);
      const send = (text: string, signature: string, id: string) =>
        fetch(delivery.url ?? "", {
          method: "POST",
          headers: { ...delivery.headers, "x-hub-signature-256": signature, "x-github-delivery": id },
          body: text,
        });
      const sign = (secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
      for (const [signature, id] of [
        [sign("another secret"), "forged-1"],
        [delivery.headers["x-hub-signature-256"] ?? "", "forged-2"],
        ["sha256=zz", "forged-3"],
        ["", "forged-4"],
      ] as const) {
        const { status } = await send(body, signature, id);
        assert.ok(status >= 400 && status < 500, `${id}: ${status}`);
        await world.until(`${id} in the log`, () => world.output().includes(id));
      }
      assert.equal(world.runs().length, 0);
      assert.equal((await send(body, sign(world.secrets.webhookSecret), "genuine")).status, 200);
      await world.untilState(issue, "failed");
      const run = world.events(world.run(issue)?.runId ?? "")[0];
      assert.ok(run?.type === "requested");
      assert.equal(run.request.issue.title, "Über 🧾");
    },
  );

  part(
    "events that concern nobody, and bodies that make no sense, are answered and change nothing",
    async () => {
      const before = world.runs().length;
      const send = async (body: string, event = "issues") => {
        const signature = createHmac("sha256", world.secrets.webhookSecret).update(body).digest("hex");
        const answer = await fetch(`${world.url()}${WEBHOOK_PATH}`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": systemIds.hex(8),
            "x-hub-signature-256": `sha256=${signature}`,
          },
          body,
        });
        return answer.status;
      };
      assert.equal(await send('{"zen":"Keep it simple."}', "ping"), 200);
      assert.equal(await send('{"action":"labeled"}'), 200);
      assert.equal(await send('{"action":"labeled","sender":{"type":"User","login":"x"},"issue":null}'), 200);
      for (const nonsense of ["", "not json", "[]", "null", "0", '{"action":'])
        assert.equal(await send(nonsense), 400, JSON.stringify(nonsense));
      assert.equal(world.runs().length, before);
      assert.equal((await fetch(`${world.url()}/readyz`)).status, 200);
      await world.until("a word about the relay", () =>
        world.output().includes("the webhook relay cannot be reached"),
      );
    },
  );
});

/** What the operator reads in the terminal. */
async function invitation(server: ServerProcess): Promise<{ readonly url: string; readonly code: string }> {
  const end = systemClock.now() + 90_000;
  for (;;) {
    const found = /Open (\S+)\/setup and enter this one-time code:\s+(\S+)\n/.exec(server.stdout());
    if (found !== null) return { url: found[1] ?? "", code: found[2] ?? "" };
    assert.equal(server.exit(), null, server.stderr());
    assert.ok(systemClock.now() < end, "an invitation in time");
    await systemClock.sleep(30);
  }
}

function form(url: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** The values of app.env that nobody may see: the webhook secret, and the lines of the key. */
function secretsIn(appEnv: string): readonly string[] {
  const secrets = [...appEnv.matchAll(/[0-9A-Za-z+/]{40,}/g)].map(([text]) => text);
  assert.ok(secrets.length > 10);
  return secrets;
}
