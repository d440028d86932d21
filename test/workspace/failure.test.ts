/** What git's words become: one code per decision, no secret, and what to do. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRedactor } from "#src/base/redact.ts";
import { classify, thrownFailure } from "#src/workspace/failure.ts";
import { hostEnvironment, tokenHeader } from "#src/workspace/git-settings.ts";

const redactor = createRedactor(["ghs_TESTSECRET"]);

for (const [text, code, tokenRefused] of [
  ["fatal: could not read Username for 'http://x': terminal prompts disabled", "denied", true],
  ["fatal: Authentication failed for 'http://x/'", "denied", true],
  ["fatal: unable to access 'http://x/': The requested URL returned error: 403", "denied", false],
  ["fatal: repository 'http://x/' not found", "not_found", false],
  ["fatal: couldn't find remote ref refs/heads/x", "not_found", false],
  ["fatal: unable to access 'http://x/': The requested URL returned error: 502", "unreachable", false],
  ["fatal: unable to access 'https://x/': Could not resolve host: x", "unreachable", false],
  ["fatal: unable to access 'http://x/': The requested URL returned error: 301", "refused_url", false],
  ["error: unable to write file a: No space left on device\nfatal: early EOF", "disk_full", false],
  ["fatal: bad object HEAD", "git_failed", false],
  ["", "git_failed", false],
] as const) {
  test(`${JSON.stringify(text)} means ${code}`, () => {
    const failure = classify("git fetch", text, redactor);
    assert.equal(failure.code, code);
    assert.equal(failure.tokenRefused, tokenRefused);
  });
}

test("E01: secrets and credentials in addresses are not in the message", () => {
  const text = "fatal: unable to access 'https://x-access-token:ghs_TESTSECRET@h/': ghs_TESTSECRET failed";
  const { message } = classify("git fetch", text, redactor);
  assert.doesNotMatch(message, /TESTSECRET|x-access-token/);
  assert.match(message, /https:\/\/\*\*\*@h/);
});

test("a full disk met by the file system is disk_full too", () => {
  const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  assert.equal(thrownFailure("making a checkout", error, redactor).code, "disk_full");
  assert.equal(thrownFailure("making a checkout", new Error("EACCES: x"), redactor).code, "git_failed");
});

test("E04: of the host's environment only the listed names reach git", () => {
  const host = {
    PATH: "/bin",
    EDITOR: "vim",
    PAGER: "less",
    GIT_SSH_COMMAND: "ssh",
    GIT_DIR: "/x",
    SECRET_TOKEN: "s",
    HOME: "/root",
    https_proxy: "http://proxy:3128",
    SSL_CERT_FILE: "/ca.pem",
  };
  const environment = hostEnvironment(host, "/home-of-ours", { protocol: "https" });
  const { PATH, HOME, https_proxy: proxy, SSL_CERT_FILE: certificates } = environment;
  assert.deepEqual(
    [PATH, HOME, proxy, certificates],
    ["/bin", "/home-of-ours", "http://proxy:3128", "/ca.pem"],
  );
  for (const name of ["EDITOR", "PAGER", "GIT_SSH_COMMAND", "GIT_DIR", "SECRET_TOKEN"])
    assert.equal(environment[name], undefined, name);
  assert.equal(environment.GIT_ALLOW_PROTOCOL, "https");
});

test("the token's header is scoped to one origin", () => {
  const [key, header] = tokenHeader("https://github.com/o/n.git", "ghs_x");
  assert.equal(key, "http.https://github.com/.extraHeader");
  assert.equal(header, `Authorization: Basic ${Buffer.from("x-access-token:ghs_x").toString("base64")}`);
});
