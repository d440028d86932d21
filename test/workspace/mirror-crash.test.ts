/** Fetches that are killed, cancelled, or run in two processes at once. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { commit } from "./repository.ts";
import { createWorld, failure, never, noToken, REPOSITORY_ID, value, type World } from "./world.ts";

const FETCH_SCRIPT = `
  import { createWorkspaces } from "#src/workspace/create-workspaces.ts";
  import { systemClock } from "#src/base/clock.ts";
  import { systemIds } from "#src/base/ids.ts";
  import { silentLog } from "#src/base/log.ts";
  import { createRedactor } from "#src/base/redact.ts";
  const [dataDir, host, cloneUrl, path] = process.argv.slice(1);
  const workspaces = createWorkspaces({
    dataDir, allowedHosts: [host], owner: null, gitEnvironment: { PATH: path }, clock: systemClock, ids: systemIds,
    redactor: createRedactor(), log: silentLog, sandbox: null,
  });
  const result = await workspaces.fetch({ id: ${REPOSITORY_ID}, cloneUrl }, "main", async () => null, new AbortController().signal);
  process.stdout.write(JSON.stringify(result));`;

/** A second process of the app that fetches into the same data directory. */
function fetcher(world: World) {
  const { dataDir, server, source } = world;
  return spawn(
    process.execPath,
    ["--input-type=module", "-e", FETCH_SCRIPT, dataDir, server.host, source.cloneUrl, "/usr/bin:/bin"],
    { cwd: new URL("../..", import.meta.url), stdio: ["ignore", "pipe", "inherit"] },
  );
}

/** Processes whose command line names the text, without zombies. */
function processesNaming(text: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    const path = `/proc/${name}/cmdline`;
    try {
      return existsSync(path) && readFileSync(path, "latin1").includes(text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  });
}

/** Makes the server send the start of a pack and then nothing; resolves when it does. */
function stallPack(world: World): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.server.before = async (request, response) => {
    if (request.method !== "POST") return false;
    let body = "";
    for await (const chunk of request) body += String(chunk);
    if (!body.includes("command=fetch")) {
      // ls-refs of protocol version 2, answered by hand: one branch.
      const line = (text: string) => (text.length + 4).toString(16).padStart(4, "0") + text;
      const sha = commitOf(world);
      response.writeHead(200, { "Content-Type": "application/x-git-upload-pack-result" });
      response.end(`${line(`${sha} HEAD\n`)}${line(`${sha} refs/heads/main\n`)}0000`);
      return true;
    }
    response.writeHead(200, { "Content-Type": "application/x-git-upload-pack-result" });
    response.write("000dpackfile\n");
    resolve();
    return true;
  };
  return promise;
}

function commitOf(world: World): string {
  return readFileSync(join(world.bare, "refs/heads/main"), "utf8").trim();
}

test("a fetch killed in the middle leaves a mirror that the next fetch heals", async () => {
  await using world = await createWorld();
  const sha = commit(world.bare, { "a.txt": "1\n" });
  const stalled = stallPack(world);
  const other = fetcher(world);
  await stalled;
  other.kill("SIGKILL");
  await once(other, "exit");
  world.server.before = async () => false;
  assert.equal(await world.fetch(), sha);
  assert.deepEqual(processesNaming(world.source.cloneUrl), [], "the orphaned git was ended too");
  assert.equal((await world.workspaces.files(REPOSITORY_ID, sha).list()).length, 1);
});

test("two processes that fetch at once both end well", async () => {
  await using world = await createWorld();
  const sha = commit(world.bare, { "a.txt": "1\n" });
  const others = [fetcher(world), fetcher(world)];
  const outputs = await Promise.all(
    others.map(async (child) => {
      let text = "";
      for await (const chunk of child.stdout) text += String(chunk);
      return JSON.parse(text) as unknown;
    }),
  );
  assert.deepEqual(outputs, [
    { ok: true, value: { headSha: sha } },
    { ok: true, value: { headSha: sha } },
  ]);
  assert.equal(value(await world.workspaces.fetch(world.source, "main", noToken, never)).headSha, sha);
});

test("cancelling a stalled fetch ends git and its helpers at once", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const stalled = stallPack(world);
  const abort = new AbortController();
  const fetching = world.workspaces.fetch(world.source, "main", noToken, abort.signal);
  await stalled;
  const before = performance.now();
  abort.abort();
  assert.equal(failure(await fetching).code, "cancelled");
  assert.ok(performance.now() - before < 3_000);
  while (processesNaming(world.source.cloneUrl).length > 0) await systemClock.sleep(10);
});

test("a server that cannot be reached is said so", async () => {
  await using world = await createWorld();
  await world.server.close();
  assert.equal(
    failure(await world.workspaces.fetch(world.source, "main", noToken, never)).code,
    "unreachable",
  );
});
