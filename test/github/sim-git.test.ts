/** Real git against the embedded GitHub: clone and push over HTTP, with GitHub's rules on tokens. */

import assert from "node:assert/strict";
import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type GitRun, runGit } from "#src/github/sim/git.ts";
import { type GitHubRig, githubRig } from "#test/support/github.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const ME = {
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@localhost",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@localhost",
};

/** Credentials travel in the environment, never in the address. */
function withToken(token: string | null): Record<string, string> {
  if (token === null) return ME;
  const basic = Buffer.from(`x-access-token:${token}`).toString("base64");
  return {
    ...ME,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "http.extraHeader",
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

function clone(rig: GitHubRig, name: string, target: string, token: string | null): Promise<GitRun> {
  return runGit("/", ["clone", "--quiet", `${rig.hub.url}/${name}.git`, target], { env: withToken(token) });
}

async function token(rig: GitHubRig): Promise<string> {
  const made = await rig.app.gitToken(rig.installation, rig.repo, false);
  assert.ok(made.ok);
  return made.value;
}

test("a private repository is cloned with a token and not without; an ended token is refused", async () => {
  await using rig = await githubRig();
  await using dir = await tempDir();
  assert.notEqual((await clone(rig, "acme/widget", join(dir.path, "a"), null)).code, 0);
  const good = await token(rig);
  assert.equal((await clone(rig, "acme/widget", join(dir.path, "b"), good)).code, 0);
  assert.match(await readFile(join(dir.path, "b/src/add.js"), "utf8"), /a - b/);
  rig.hub.revokeTokens();
  const late = await clone(rig, "acme/widget", join(dir.path, "c"), good);
  assert.notEqual(late.code, 0);
  assert.match(late.stderr, /Authentication failed|could not read Username/);
});

test("a public repository is cloned by anybody, another private one by nobody of ours", async () => {
  await using rig = await githubRig();
  await using dir = await tempDir();
  await rig.hub.createRepository({ owner: "acme", name: "open", files: { a: "b" } });
  await rig.hub.createRepository({ owner: "acme", name: "secret", private: true, files: { a: "b" } });
  assert.equal((await clone(rig, "acme/open", join(dir.path, "a"), null)).code, 0);
  const stray = await clone(rig, "acme/secret", join(dir.path, "b"), await token(rig));
  assert.match(stray.stderr, /not found/i);
});

test("a push needs contents: write, is put on record and moves the pull request", async () => {
  await using rig = await githubRig();
  await using dir = await tempDir();
  const checkout = join(dir.path, "w");
  assert.equal((await clone(rig, "acme/widget", checkout, await token(rig))).code, 0);
  await runGit(checkout, ["checkout", "-q", "-b", "topic"]);
  const before = await rig.hub.pushCommit("acme/widget", { by: "maria", branch: "topic", files: { a: "1" } });
  const opened = await rig.github("write").createPullRequest({
    title: "Topic",
    body: "",
    head: "topic",
    base: "main",
    draft: false,
  });
  assert.ok(opened.ok);
  await runGit(checkout, ["fetch", "-q", "origin", "topic"], { env: withToken(await token(rig)) });
  await runGit(checkout, ["reset", "-q", "--hard", "FETCH_HEAD"]);
  await writeFile(join(checkout, "big.bin"), Buffer.alloc(3_000_000, "xyzzy"));
  await runGit(checkout, ["add", "-A"]);
  await runGit(checkout, ["commit", "-q", "-m", "big"], { env: ME });
  const push = (value: string) =>
    runGit(checkout, ["push", "-q", "origin", "topic"], { env: withToken(value) });
  const refused = await push(await token(rig));
  assert.match(refused.stderr, /403|not granted/);
  assert.deepEqual(rig.hub.pushes(), []);
  const writer = rig.hub.tokens().find((entry) => entry.permissions.contents === "write");
  assert.ok(writer);
  assert.equal((await push(writer.token)).code, 0);
  const head = (await runGit(checkout, ["rev-parse", "HEAD"])).stdout.toString("utf8").trim();
  const by = "agent-fix-test[bot]";
  assert.deepEqual(rig.hub.pushes(), [
    { repository: "acme/widget", ref: "refs/heads/topic", before, after: head, by },
  ]);
  assert.equal(rig.hub.pullRequests("acme/widget")[0]?.pull?.headSha, head);
});

test("a planned failure of the git address reaches git", async () => {
  await using rig = await githubRig();
  await using dir = await tempDir();
  const fault = { kind: "status", status: 503, body: "maintenance" } as const;
  rig.hub.fault({ method: "GET", path: /info\/refs$/, times: 1, fault });
  const failed = await clone(rig, "acme/widget", join(dir.path, "a"), await token(rig));
  assert.match(failed.stderr, /503/);
});

test("a repository made from a directory keeps odd names, modes and links, and moves on with its base", async () => {
  await using rig = await githubRig();
  await using source = await tempDir();
  await using dir = await tempDir();
  await mkdir(join(source.path, 'ü "q" 🧪'), { recursive: true });
  await mkdir(join(source.path, "node_modules/x"), { recursive: true });
  await writeFile(join(source.path, 'ü "q" 🧪', "back\\slash\n.txt"), "odd\r\n");
  await writeFile(join(source.path, "run.sh"), "#!/bin/sh\n");
  await chmod(join(source.path, "run.sh"), 0o755);
  await symlink("run.sh", join(source.path, "link"));
  await writeFile(join(source.path, "node_modules/x/index.js"), "");
  const made = await rig.hub.createRepository({ owner: "acme", name: "odd", fromDirectory: source.path });
  const moved = await rig.hub.pushCommit("acme/odd", { by: "maria", files: { "new.txt": "n", link: null } });
  const git = rig.hub.git("acme/odd");
  assert.deepEqual(
    (await git.readTree(String(made.headSha), true))?.map((item) => `${item.mode} ${item.path}`),
    ["120000 link", "100755 run.sh", '040000 ü "q" 🧪', '100644 ü "q" 🧪/back\\slash\n.txt'],
  );
  assert.equal((await git.readCommit(moved))?.parents[0], made.headSha);
  assert.equal((await clone(rig, "acme/odd", join(dir.path, "w"), null)).code, 0);
  assert.equal((await stat(join(dir.path, "w/run.sh"))).mode & 0o111, 0o111);
});
