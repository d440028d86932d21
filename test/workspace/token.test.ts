/** The token: where it goes, where it must never be seen, and what happens when it is refused. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { commit } from "./repository.ts";
import { createWorld, failure, never, PATH, REPOSITORY_ID, RUN, value } from "./world.ts";

const TOKEN = "ghs_TESTSECRETCANARY000000000000000000";
const SPELLINGS = [
  TOKEN,
  Buffer.from(TOKEN).toString("base64").slice(0, -4),
  Buffer.from(`x-access-token:${TOKEN}`).toString("base64").slice(0, -4),
  Buffer.from(TOKEN).toString("hex"),
];

function leaks(text: string): boolean {
  return SPELLINGS.some((spelling) => text.includes(spelling));
}

/** Every regular file below a directory, as Latin-1 text. */
function* filesBelow(directory: string): Generator<readonly [string, string]> {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      yield [path, readFileSync(path, "latin1")];
    }
}

function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1");
      } catch (error) {
        // The process ended between the two reads.
        if (error instanceof Error) return "";
        throw error;
      }
    });
}

test("E02: the token is in no command line, file, remote or sandbox", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  world.server.tokens = new Set([TOKEN]);
  const seen: string[] = [];
  world.server.before = async () => {
    // Every process of the fetch is waiting for this answer.
    seen.push(...commandLines());
    return false;
  };
  const sha = value(await world.workspaces.fetch(world.source, "main", async () => TOKEN, never)).headSha;
  assert.ok(seen.some((line) => line.includes("git-remote-http") || line.includes("remote-http")));
  assert.deepEqual(seen.filter(leaks), []);
  const directory = value(await world.workspaces.checkout(RUN, REPOSITORY_ID, sha, "work", never));
  for (const [path, text] of filesBelow(world.dataDir)) assert.equal(leaks(text), false, path);
  const inside = await world.shell(
    directory,
    "env; git config -l; cat .git/config; git remote -v; cat /proc/*/environ",
  );
  assert.equal(leaks(inside.stdout.head + inside.stdout.tail), false);
  assert.doesNotMatch(inside.stdout.head, /127\.0\.0\.1/);
});

test("E01: a failing server puts no token into the failure or the log", async () => {
  const logged: string[] = [];
  const note = (fields: object, message: string) => void logged.push(JSON.stringify(fields) + message);
  await using world = await createWorld({ log: { debug: note, info: note, warn: note, error: note } });
  for (const status of [500, 404, 403]) {
    world.server.before = async (request, response) => {
      response.writeHead(status).end(`remote says ${request.headers.authorization}`);
      return true;
    };
    const found = failure(await world.workspaces.fetch(world.source, "main", async () => TOKEN, never));
    assert.equal(found.code, { 500: "unreachable", 404: "not_found", 403: "denied" }[status]);
    assert.equal(leaks(JSON.stringify(found)), false);
  }
  const thrown = failure(
    await world.workspaces.fetch(world.source, "main", () => Promise.reject(new Error(`no ${TOKEN}`)), never),
  );
  assert.equal(thrown.code, "unreachable");
  assert.equal(leaks(logged.join("\n") + JSON.stringify(thrown)), false);
});

test("E14: a refused token is renewed once, and only once", async () => {
  await using world = await createWorld();
  const sha = commit(world.bare, { "a.txt": "1\n" });
  world.server.tokens = new Set([TOKEN]);
  const asked: boolean[] = [];
  const token = async (renew: boolean) => {
    asked.push(renew);
    return renew ? TOKEN : "ghs_expired";
  };
  assert.equal(value(await world.workspaces.fetch(world.source, "main", token, never)).headSha, sha);
  assert.deepEqual(asked, [false, true]);

  world.server.tokens = new Set(["another"]);
  asked.length = 0;
  assert.equal(failure(await world.workspaces.fetch(world.source, "main", token, never)).code, "denied");
  assert.deepEqual(asked, [false, true]);
});

test("a redirect is not followed: the token goes to no other host", async () => {
  await using world = await createWorld();
  const received: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    received.push(request.headers.authorization);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = other.address() as AddressInfo;
    world.server.before = async (request, response) => {
      response.writeHead(301, { Location: `http://127.0.0.1:${port}${request.url}` }).end();
      return true;
    };
    const found = failure(await world.workspaces.fetch(world.source, "main", async () => TOKEN, never));
    assert.equal(found.code, "refused_url");
    assert.deepEqual(received, []);
  } finally {
    other.close();
  }
});

test("E04, E06: git gets the same minimal environment in every call", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const bin = join(world.directory, "bin");
  const dump = join(world.directory, "dump");
  mkdirSync(bin);
  mkdirSync(dump, { mode: 0o777 });
  chmodSync(dump, 0o1777);
  writeFileSync(
    join(bin, "git"),
    `#!/bin/bash\n/usr/bin/env -0 > "${dump}/$$-$1"\nexec /usr/bin/git "$@"\n`,
    { mode: 0o755 },
  );
  const workspaces = world.again({
    gitEnvironment: {
      PATH: `${bin}:${PATH}`,
      EDITOR: "vim",
      PAGER: "less",
      GIT_SSH_COMMAND: "ssh",
      GIT_DIR: "/nowhere",
      SECRET_TOKEN: "s3cret",
      HOME: "/root",
      NODE_OPTIONS: "--x",
    },
  });
  const sha = value(await workspaces.fetch(world.source, "main", async () => TOKEN, never)).headSha;
  const directory = value(await workspaces.checkout(RUN, REPOSITORY_ID, sha, "work", never));
  await world.shell(directory, "echo 2 > a.txt");
  value(
    await workspaces.buildTree({
      runId: RUN,
      repositoryId: REPOSITORY_ID,
      baseSha: sha,
      directory,
      edited: [],
      noise: [],
    }),
  );
  // What bash adds by itself, what simple-git adds, and what belongs to one call.
  const ofOneCall =
    /^(_|SHLVL|PWD|OLDPWD|GIT_TEST_DISALLOW_ABBREVIATED_OPTIONS|GIT_DIR|GIT_WORK_TREE|GIT_INDEX_FILE|GIT_ALLOW_PROTOCOL|GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+))=/;
  const sets = new Map<string, string[]>();
  for (const name of readdirSync(dump)) {
    const lines = readFileSync(join(dump, name), "utf8").split("\0");
    const config = lines.filter((line) => /^GIT_CONFIG_(KEY|VALUE)_\d+=/.test(line));
    assert.ok(
      config.some((line) => line.endsWith("=core.hooksPath")),
      name,
    );
    const key = lines
      .filter((line) => line !== "" && !ofOneCall.test(line))
      .sort()
      .join("\n");
    sets.set(key, [...(sets.get(key) ?? []), name]);
  }
  assert.ok(readdirSync(dump).length > 10);
  assert.equal(sets.size, 1, JSON.stringify([...sets], null, 1));
  const [only = ""] = sets.keys();
  assert.match(only, /^HOME=.*\/git-home$/m);
  assert.doesNotMatch(only, /EDITOR|PAGER|SSH|SECRET|NODE_OPTIONS|\/root/);
});
