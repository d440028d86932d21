/** The app-manifest flow against the embedded GitHub: register by form, exchange the code once, act as the new app. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#src/base/log.ts";
import { createRedactor } from "#src/base/redact.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import { githubRig } from "#test/support/github.ts";

const MANIFEST = {
  name: "My agent's fix",
  url: "http://127.0.0.1:1/",
  redirect_url: "http://127.0.0.1:1/setup/done?keep=1",
  hook_attributes: { url: "http://127.0.0.1:1/api/github/webhooks" },
  public: false,
  default_permissions: { contents: "write", issues: "write", pull_requests: "write", metadata: "read" },
  default_events: ["issues", "issue_comment"],
};

for (const page of ["/settings/apps/new", "/organizations/big-org/settings/apps/new"])
  test(`an app registered through ${page} can act with the credentials it is given`, async () => {
    await using rig = await githubRig();
    const { hub } = rig;
    const answer = await fetch(`${hub.url}${page}?state=abc`, {
      method: "POST",
      body: new URLSearchParams({ manifest: JSON.stringify(MANIFEST) }),
      redirect: "manual",
    });
    await answer.text();
    assert.equal(answer.status, 302);
    const back = new URL(answer.headers.get("location") ?? "");
    assert.equal(back.searchParams.get("state"), "abc");
    assert.equal(back.searchParams.get("keep"), "1");
    const exchange = () =>
      fetch(`${hub.apiUrl}/app-manifests/${back.searchParams.get("code")}/conversions`, { method: "POST" });
    const converted = await exchange();
    assert.equal(converted.status, 201);
    const credentials = (await converted.json()) as { readonly id: number; readonly pem: string };
    assert.match(credentials.pem, /^-----BEGIN RSA PRIVATE KEY-----/);
    const again = await exchange();
    assert.equal(again.status, 404);
    await again.text();
    const app = createGitHubApp({
      appId: credentials.id,
      privateKey: credentials.pem,
      baseUrl: hub.apiUrl,
      clock: rig.clock,
      redactor: createRedactor(),
      log: silentLog,
    });
    const identity = await app.identity();
    assert.deepEqual(identity.ok && identity.value, {
      appId: credentials.id,
      slug: "my-agent-s-fix",
      botLogin: "my-agent-s-fix[bot]",
      owner: page.startsWith("/organizations") ? "big-org" : "operator",
    });
    hub.install({ repositories: ["acme/widget"], appId: credentials.id });
    assert.deepEqual(rig.violations(), []);
  });

test("a form without a manifest is refused", async () => {
  await using rig = await githubRig();
  const answer = await fetch(`${rig.hub.url}/settings/apps/new`, {
    method: "POST",
    body: new URLSearchParams({ manifest: "{" }),
    redirect: "manual",
  });
  assert.equal(answer.status, 422);
  await answer.text();
});

test("a private key that is none is said to be so, with what to do", async () => {
  await using rig = await githubRig();
  const app = createGitHubApp({
    appId: 1,
    privateKey: "-----BEGIN RSA PRIVATE KEY-----\\nnonsense\\n-----END RSA PRIVATE KEY-----",
    baseUrl: rig.hub.apiUrl,
    clock: rig.clock,
    redactor: createRedactor(),
    log: silentLog,
  });
  const identity = await app.identity();
  assert.ok(!identity.ok);
  assert.equal(identity.error.code, "unauthorized");
  assert.match(identity.error.message, /PRIVATE_KEY/);
  assert.equal(rig.hub.calls().length, 0);
});
