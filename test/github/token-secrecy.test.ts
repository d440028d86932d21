/** Installation tokens and the redactor: known from the mint on, and forgotten when they are long over. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, githubRig, value } from "#test/support/github.ts";

test("a token never stands in a message, and the redactor knows every token that was made", async () => {
  await using rig = await githubRig();
  const { app, installation, repo } = rig;
  const token = await value(app.gitToken(installation, repo, false));
  assert.equal(rig.redactor.redact(`fatal: https://x:${token}@host`), "fatal: https://***@host");
  const leaky = { kind: "status", status: 422, body: { message: `bad ref ${token}` } } as const;
  rig.hub.fault({ method: "GET", path: /widget$/, times: 1, fault: leaky });
  const refused = await failure(rig.github("read").defaultBranch());
  assert.ok(!refused.message.includes(token), refused.message);
});

test("E14: an expired token is forgotten with the next mint, an hour after its end", async () => {
  await using rig = await githubRig();
  const { app, installation, repo, clock } = rig;
  const old = await value(app.gitToken(installation, repo, false));
  // In a spelling that the redactor does not know by its form.
  const hex = (token: string) => Buffer.from(token).toString("hex");
  await clock.advance(61 * 60_000);
  await value(app.gitToken(installation, repo, true));
  assert.equal(rig.redactor.redact(hex(old)), "***", "it may still be written by something slow");
  await clock.advance(61 * 60_000);
  const fresh = await value(app.gitToken(installation, repo, true));
  assert.equal(rig.redactor.redact(hex(old)), hex(old));
  assert.equal(rig.redactor.redact(hex(fresh)), "***");
});
