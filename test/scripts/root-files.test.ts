/** The app's manifest asks for the least, and the container's files say what the documentation says. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFile(join(ROOT, path), "utf8");

test("app.yml asks for the permissions the work needs and no more", async () => {
  const manifest = parse(await read("app.yml"));
  assert.deepEqual(manifest.default_permissions, {
    contents: "write",
    issues: "write",
    pull_requests: "write",
    checks: "read",
    statuses: "read",
    metadata: "read",
  });
  assert.deepEqual(manifest.default_events, [
    "issues",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "check_suite",
    "status",
    "repository",
  ]);
  assert.equal(new URL(manifest.hook_attributes.url).pathname, "/api/github/webhooks");
  assert.equal(manifest.public, false);
});

test("the seccomp profile leaves bubblewrap what it needs, and denies each call once", async () => {
  const profile = JSON.parse(await read("docker/seccomp.json"));
  const names: string[] = profile.syscalls.flatMap((entry: { names: string[] }) => entry.names);
  assert.equal(profile.defaultAction, "SCMP_ACT_ALLOW");
  assert.equal(new Set(names).size, names.length);
  for (const needed of [
    "clone",
    "clone3",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "sethostname",
    "prctl",
    "seccomp",
  ]) {
    assert.ok(!names.includes(needed), needed);
  }
  for (const denied of [
    "keyctl",
    "bpf",
    "kexec_load",
    "init_module",
    "perf_event_open",
    "open_by_handle_at",
  ]) {
    assert.ok(names.includes(denied), denied);
  }
});

test("the image runs as an ordinary user, takes its base from outside, and carries no secret", async () => {
  const dockerfile = await read("Dockerfile");
  assert.match(dockerfile, /^ARG BASE_IMAGE=\S+\nFROM \$\{BASE_IMAGE\}$/m);
  assert.match(dockerfile, /^USER 1000:1000$/m);
  assert.match(dockerfile, /^HEALTHCHECK .*\n.*\/healthz/m);
  for (const program of ["bubblewrap", "git", "ripgrep", "socat", "util-linux"])
    assert.ok(dockerfile.includes(program));
  const ignore = await read(".dockerignore");
  assert.match(ignore, /^\*$/m, "everything is left out unless named");
  assert.doesNotMatch(ignore, /^!(?:\.env|data|\.git)/m);
});
