/** Which changes become part of the tree, byte for byte, and what is left out. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "#src/base/canonical-json.ts";
import type { BuildTreeRequest } from "#src/workspace/workspace.ts";
import { testPart } from "#test/support/tier.ts";
import { commit, executable, git, link } from "./repository.ts";
import { createWorld, failure, REPOSITORY_ID, RUN, value, type World } from "./world.ts";

const test = testPart(0.5);

async function build(
  world: World,
  at: { readonly sha: string; readonly directory: string },
  lists: Partial<Pick<BuildTreeRequest, "edited" | "named" | "noise">> = {},
) {
  return world.workspaces.buildTree({
    runId: RUN,
    repositoryId: REPOSITORY_ID,
    baseSha: at.sha,
    directory: at.directory,
    edited: [],
    noise: [],
    ...lists,
  });
}

function dirty(world: World, at: { readonly sha: string; readonly directory: string }) {
  return world.workspaces.dirtyPaths({
    runId: RUN,
    repositoryId: REPOSITORY_ID,
    baseSha: at.sha,
    directory: at.directory,
  });
}

test("an unchanged workspace gives base's own tree", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "one\n", "bin/run": executable("#!/bin/sh\n"), alias: link("a.txt") });
  const at = await world.checkout();
  const built = value(await build(world, at));
  assert.equal(built.treeId, git(world.bare, ["rev-parse", `${at.sha}^{tree}`]));
  assert.deepEqual(built.changes, []);
  assert.equal(built.diff, "");
  assert.deepEqual(built.leftOut, []);
});

test("modified, added, deleted files, modes and links are taken with counts and hashes", async () => {
  await using world = await createWorld();
  commit(world.bare, {
    "src/a.js": "one\ntwo\n",
    "src/gone.js": "bye\n",
    "run.sh": "echo\n",
    alias: link("src/a.js"),
    "pic.bin": Buffer.from([0, 1, 2, 3]),
  });
  const at = await world.checkout();
  await world.shell(
    at.directory,
    `printf 'one\\nTWO\\n' > src/a.js; rm src/gone.js; chmod +x run.sh; ln -sfn run.sh alias
     printf '\\0\\377' > pic.bin; mkdir test; printf 'new\\n' > test/new.test.js`,
  );
  const built = value(await build(world, at, { edited: ["test/new.test.js"] }));
  assert.deepEqual(built.changes, [
    { path: "alias", status: "modified", mode: "120000", sha256: sha256("run.sh"), added: 1, removed: 1 },
    {
      path: "pic.bin",
      status: "modified",
      mode: "100644",
      sha256: sha256(Buffer.from([0, 255])),
      added: null,
      removed: null,
    },
    { path: "run.sh", status: "modified", mode: "100755", sha256: sha256("echo\n"), added: 0, removed: 0 },
    {
      path: "src/a.js",
      status: "modified",
      mode: "100644",
      sha256: sha256("one\nTWO\n"),
      added: 1,
      removed: 1,
    },
    { path: "src/gone.js", status: "deleted", mode: "100644", sha256: null, added: 0, removed: 1 },
    {
      path: "test/new.test.js",
      status: "added",
      mode: "100644",
      sha256: sha256("new\n"),
      added: 1,
      removed: 0,
    },
  ]);
  assert.match(built.diff, /^\+TWO$/m);
  assert.match(built.diff, /Binary files a\/pic.bin and b\/pic.bin differ/);
  const content = await world.workspaces.readTreeFile(RUN, REPOSITORY_ID, built.treeId, "src/a.js");
  assert.equal(Buffer.from(content ?? []).toString(), "one\nTWO\n");
});

test("G08: what the suite installs and builds stays out, and is listed", async () => {
  await using world = await createWorld();
  commit(world.bare, {
    "package-lock.json": "{}\n",
    "dist/app.css": "a{}\n",
    "src/a.js": "1\n",
    "src/b.js": "1\n",
  });
  const suite = `mkdir -p node_modules/x coverage; echo 1 > node_modules/x/index.js; echo 1 > coverage/lcov.info
    echo '{"x":1}' > package-lock.json; echo 'a{b:c}' > dist/app.css`;
  const base = await world.checkout("baseline");
  await world.shell(base.directory, suite);
  const noise = value(await dirty(world, base));
  assert.deepEqual(noise, ["coverage/", "dist/app.css", "node_modules/", "package-lock.json"]);

  const at = await world.checkout("work");
  await world.shell(
    at.directory,
    `${suite}; echo 2 > src/a.js; sed -i s/1/3/ src/b.js; echo agent > agent.log`,
  );
  const built = value(await build(world, at, { edited: ["src/a.js"], noise }));
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["src/a.js", "src/b.js"],
  );
  assert.deepEqual(built.leftOut, [
    { path: "agent.log", reason: "a new file that was not made with the edit tool, nor named by the agent" },
    ...noise.map((path) => ({ path, reason: "also changed by set-up or by the tests themselves" })),
  ]);
});

test("noise that the agent edited itself is taken", async () => {
  await using world = await createWorld();
  commit(world.bare, { "package-lock.json": "{}\n" });
  const at = await world.checkout();
  await world.shell(at.directory, "echo '[]' > package-lock.json; mkdir gen; echo 1 > gen/a; echo 1 > gen/b");
  const built = value(
    await build(world, at, {
      edited: ["./package-lock.json", "/workspace/gen/a"],
      noise: ["package-lock.json", "gen/"],
    }),
  );
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["gen/a", "package-lock.json"],
  );
  assert.deepEqual(built.leftOut, [
    { path: "gen/b", reason: "also changed by set-up or by the tests themselves" },
  ]);
});

test("new files of a command are taken when the agent names them, but not noise, ignored files or what is inside .git", async () => {
  await using world = await createWorld();
  commit(world.bare, { ".gitignore": "*.log\n", "a.txt": "1\n" });
  const at = await world.checkout();
  await world.shell(
    at.directory,
    "mkdir -p docs dist; for f in docs/b.md c.md dist/x y.log; do echo 1 > $f; done",
  );
  const named = ["docs/b.md", "./dist/x", "y.log", ".git/config", "../out", "missing.md"];
  const built = value(await build(world, at, { named, noise: ["dist/"] }));
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["docs/b.md"],
  );
  assert.deepEqual(
    built.leftOut.map(({ path }) => path),
    ["c.md", "dist/"],
  );
});

test("base's ignore files decide: an edited .gitignore neither hides nor reveals", async () => {
  await using world = await createWorld();
  commit(world.bare, {
    ".gitignore": "*.log\nsecret/\n!keep.log\n",
    "sub/.gitignore": "out\n",
    "tracked.log": "1\n",
  });
  const at = await world.checkout();
  await world.shell(
    at.directory,
    `echo 'new.js' > .gitignore; rm sub/.gitignore; mkdir -p secret sub/out; echo 1 > new.js; echo 1 > x.log
     echo 1 > secret/key; echo 1 > sub/out/y; echo 2 > tracked.log; echo 1 > keep.log; echo x.js > .git/info/exclude`,
  );
  const built = value(
    await build(world, at, { edited: ["new.js", "x.log", "keep.log", "tracked.log", "secret/key"] }),
  );
  assert.deepEqual(
    built.changes.map(({ path, status }) => `${status} ${path}`),
    [
      "modified .gitignore",
      "added keep.log",
      "added new.js",
      "deleted sub/.gitignore",
      "modified tracked.log",
    ],
  );
  assert.deepEqual(built.leftOut, [
    { path: "secret/key", reason: "matched by .gitignore" },
    { path: "x.log", reason: "matched by .gitignore" },
  ]);
});

test("a file moved by a command is a deletion and an addition, both taken", async () => {
  await using world = await createWorld();
  const body = Array.from({ length: 40 }, (_, line) => `line ${line}\n`).join("");
  commit(world.bare, { "src/old.js": body, "other.js": "x\n" });
  const at = await world.checkout();
  await world.shell(
    at.directory,
    "mkdir lib; git mv src/old.js lib/new.js; sed -i 's/line 7/LINE 7/' lib/new.js; echo 1 > stray",
  );
  const built = value(await build(world, at));
  assert.deepEqual(
    built.changes.map(({ path, status }) => `${status} ${path}`),
    ["added lib/new.js", "deleted src/old.js"],
  );
  assert.deepEqual(
    built.leftOut.map(({ path }) => path),
    ["stray"],
  );
});

test("odd file names and kinds are taken exactly or left out by name", async () => {
  await using world = await createWorld();
  const names = [
    "a b.txt",
    'quo"te',
    "new\nline",
    "-rf",
    "ünï/cödé",
    ":(glob)x",
    "$(touch r).js",
    "tab\t",
    "back\\slash",
  ];
  commit(world.bare, {
    "dir/file": "1\n",
    "pipe-to-be": "1\n",
    ...Object.fromEntries(names.map((n) => [n, "old\n"])),
  });
  const at = await world.checkout();
  await world.shell(
    at.directory,
    `git ls-files -z | grep -zv -e '^dir/' -e pipe | while IFS= read -r -d '' f; do printf 'new\\n' > "./$f"; done
     rm -r dir; ln -s /etc dir; rm pipe-to-be; mkfifo pipe-to-be; printf 1 > $'bad\\xff'; mkdir -p 'x/.GIT'; echo 1 > x/.GIT/config
     truncate -s 33M big; echo 1 > closed; chmod 0 closed; mkdir hidden; echo 1 > hidden/f; chmod 0 hidden`,
  );
  const built = value(
    await build(world, at, {
      edited: ["big", "closed", "hidden/f", "dir", "x/.GIT/config", "../out", "/etc/passwd"],
    }),
  );
  assert.deepEqual(
    built.changes
      .filter(({ status }) => status === "modified")
      .map(({ path }) => path)
      .sort(),
    [...names].sort(),
  );
  assert.deepEqual(
    built.changes
      .filter(({ status }) => status !== "modified")
      .map(({ path, status, mode }) => [path, status, mode]),
    [
      ["dir", "added", "120000"],
      ["dir/file", "deleted", "100644"],
      ["hidden/f", "added", "100644"],
    ],
  );
  assert.deepEqual(built.leftOut, [
    { path: "bad\\xff", reason: "its name cannot stand in a commit" },
    { path: "big", reason: "larger than 32 MiB" },
    { path: "closed", reason: "it cannot be read" },
    { path: "pipe-to-be", reason: "neither a regular file nor a symbolic link" },
    { path: "x/", reason: "its name cannot stand in a commit" },
  ]);
});

test("a nested repository is refused by name, as a directory or a file, unless ignored", async () => {
  await using world = await createWorld();
  commit(world.bare, { ".gitignore": "vendor/\n", "a.txt": "1\n" });
  const at = await world.checkout();
  const makeNested: Record<string, (path: string) => void> = {
    sub: (path) => mkdirSync(join(path, ".git", "refs"), { recursive: true }),
    file: (path) => writeFileSync(join(path, ".git"), "gitdir: ../.git\n"),
    link: (path) => symlinkSync("../.git", join(path, ".git")),
  };
  for (const [name, make] of Object.entries(makeNested)) {
    const path = join(at.directory, name);
    mkdirSync(path);
    make(path);
    const refused = failure(await build(world, at, { edited: [`${name}/x`] }));
    assert.equal(refused.code, "nested_git");
    assert.match(refused.message, new RegExp(`"${name}/\\.git"`));
    rmSync(path, { recursive: true });
  }
  await world.shell(at.directory, "git init -q vendor/x; git init -q modules/y; echo 2 > a.txt");
  const built = value(await build(world, at, { noise: ["modules/"] }));
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    ["a.txt"],
  );
});

test("left-out paths are capped with a count", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n", "d/b": "1\n" });
  const at = await world.checkout();
  await world.shell(at.directory, "for i in $(seq 1000 1299); do echo 1 > d/$i; done");
  const { leftOut } = value(await build(world, at));
  assert.equal(leftOut.length, 201);
  assert.deepEqual(leftOut.at(-1), { path: "…", reason: "and 100 more paths" });
});

test("attributes convert nothing: CRLF, keywords, encodings and filters leave the bytes alone", async () => {
  await using world = await createWorld();
  const bytes = "a\r\nb\n$Id$\r\n";
  commit(world.bare, {
    ".gitattributes":
      "* text=auto eol=lf ident filter=evil diff=evil working-tree-encoding=UTF-16 merge=evil\n*.md export-subst -diff\n",
    "a.txt": bytes,
    "b.md": bytes,
  });
  const at = await world.checkout();
  const shown = await world.shell(at.directory, "md5sum < a.txt; md5sum < b.md");
  assert.equal(new Set(shown.stdout.head.trim().split("\n")).size, 1);
  assert.deepEqual(value(await build(world, at)).changes, []);
  await world.shell(
    at.directory,
    "printf 'c\\r\\n' >> a.txt; printf 'c\\r\\n' > b.md; printf 'x\\r\\ny\\n' > new.txt",
  );
  const built = value(await build(world, at, { edited: ["new.txt"] }));
  assert.deepEqual(
    built.changes.map(({ path, sha256: hash }) => [path, hash]),
    [
      ["a.txt", sha256(`${bytes}c\r\n`)],
      ["b.md", sha256("c\r\n")],
      ["new.txt", sha256("x\r\ny\n")],
    ],
  );
});
