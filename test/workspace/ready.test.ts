/** The kept checkout: a later run gets the same bytes sooner, its copies share nothing, and what damages it is never handed out. */

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { sample, testPart } from "#test/support/tier.ts";
import { commit, executable, type Files, git, link } from "./repository.ts";
import { createWorld, never, REPOSITORY_ID, value, type World } from "./world.ts";

const test = testPart(0.5);

const readyOf = (world: World) => join(world.dataDir, "mirrors", `${REPOSITORY_ID}.ready`);

async function checkoutFor(world: World, runId: string, sha: string): Promise<string> {
  return value(await world.workspaces.checkout(runId, REPOSITORY_ID, sha, "work", never));
}

/** Mode, owner and content (or target) of every path outside `.git`. */
function pictureOf(directory: string): Record<string, string> {
  const picture: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(directory.length + 1);
    if (name === ".git" || name.startsWith(".git/")) continue;
    const { mode, uid } = lstatSync(path);
    const content = entry.isSymbolicLink()
      ? readlinkSync(path)
      : entry.isFile()
        ? readFileSync(path, "latin1")
        : "";
    picture[name] = `${mode.toString(8)} ${uid} ${content}`;
  }
  return picture;
}

const STEPS: Readonly<Record<string, Files>> = {
  "new, changed and deleted files": {
    "a.txt": "2\n",
    "deep/er/b.txt": null,
    "new/dir/c.sh": executable("#!/bin/sh\n"),
  },
  "a file becomes a directory": { "a.txt": null, "a.txt/inner": "1\n" },
  "a directory becomes a link": { "dir/one": null, "dir/two": null, dir: link("/etc") },
  "a link becomes a directory": { link: null, "link/file": "1\n" },
  "a mode changes, and nothing else": { "run.sh": executable("#!/bin/sh\n") },
  "names that are odd": { "-x": "1\n", "line\nbreak": "1\n", 'quo"te\\': "1\n", ":(glob)*": "1\n" },
  "a submodule comes": { sub: { mode: "160000", content: "1".repeat(40) } },
  "everything goes": {
    "a.txt": null,
    "deep/er/b.txt": null,
    "dir/one": null,
    "dir/two": null,
    link: null,
    "run.sh": null,
    "only.txt": "1\n",
  },
};
const FIRST: Files = {
  "a.txt": "1\n",
  "deep/er/b.txt": "1\n",
  "dir/one": "1\n",
  "dir/two": "2\n",
  link: link("/etc/passwd"),
  "run.sh": "#!/bin/sh\n",
};

for (const [name, files] of sample(Object.entries(STEPS), 1)) {
  test(`a kept checkout brought forward equals one written anew: ${name}`, async () => {
    await using world = await createWorld();
    commit(world.bare, FIRST);
    const first = await checkoutFor(world, "run1", await world.fetch());
    const kept = pictureOf(first);
    commit(world.bare, files);
    const sha = await world.fetch();
    const moved = await checkoutFor(world, "run2", sha);
    assert.deepEqual(pictureOf(first), kept, "the first run's copy is its own");
    const made = readFileSync(join(readyOf(world), "template", "made.json"), "utf8");
    assert.equal((JSON.parse(made) as { readonly steps: number }).steps, name.includes("submodule") ? 0 : 1);
    rmSync(readyOf(world), { recursive: true });
    const anew = await checkoutFor(world, "run3", sha);
    assert.deepEqual(pictureOf(moved), pictureOf(anew));
    const told = await world.shell(
      moved,
      "git status --porcelain; git log --format=%s; git fsck --full 2>&1",
    );
    assert.equal(told.stdout.head.trim(), "change\nchange");
  });
}

test("a spare of a large repository is handed out by a rename, and the run's copy is no link into it", async () => {
  await using world = await createWorld();
  commit(
    world.bare,
    Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`d${n % 40}/f${n}`, `${n}\n`])),
  );
  const sha = await world.fetch();
  const first = await checkoutFor(world, "run1", sha);
  while (!existsSync(join(readyOf(world), "spare", "made.json"))) await systemClock.sleep(10);
  const second = await checkoutFor(world, "run2", sha);
  assert.deepEqual(pictureOf(second), pictureOf(first));
  for (const directory of [first, second])
    for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) assert.equal(lstatSync(join(entry.parentPath, entry.name)).nlink, 1, entry.name);
  await world.shell(second, "echo changed > d1/f1; git status --porcelain");
  assert.equal(readFileSync(join(first, "d1/f1"), "utf8"), "1\n");
  while (!existsSync(join(readyOf(world), "spare", "made.json"))) await systemClock.sleep(10);
  assert.deepEqual(pictureOf(await checkoutFor(world, "run3", sha)), pictureOf(first));
  while (!existsSync(join(readyOf(world), "spare", "made.json"))) await systemClock.sleep(10);
});

test("a kept checkout that a crash cut short, or of before a restart of the machine, is never handed out", async () => {
  await using world = await createWorld();
  commit(world.bare, FIRST);
  const sha = await world.fetch();
  const good = pictureOf(await checkoutFor(world, "run1", sha));
  const template = join(readyOf(world), "template");
  const made = JSON.parse(readFileSync(join(template, "made.json"), "utf8")) as object;
  const damages: Record<string, () => void> = {
    "no mark": () => rmSync(join(template, "made.json")),
    "an empty mark": () => writeFileSync(join(template, "made.json"), ""),
    "a restart": () =>
      writeFileSync(join(template, "made.json"), JSON.stringify({ ...made, boot: "before" })),
    "another owner": () => writeFileSync(join(template, "made.json"), JSON.stringify({ ...made, uid: 12 })),
    "half a copy": () => mkdirSync(join(readyOf(world), "spare.new")),
  };
  let run = 2;
  for (const [name, damage] of Object.entries(damages)) {
    if (name !== "half a copy") writeFileSync(join(template, "work", "a.txt"), "damaged\n");
    damage();
    assert.deepEqual(pictureOf(await checkoutFor(world, `run${run++}`, sha)), good, name);
  }
});

test("a branch pushed by force leaves nothing of the old commit in the files", async () => {
  await using world = await createWorld();
  commit(world.bare, { ...FIRST, "old.txt": "old\n" });
  await checkoutFor(world, "run1", await world.fetch());
  git(world.bare, ["update-ref", "-d", "refs/heads/main"]);
  commit(world.bare, { "fresh.txt": "1\n" }, "main", "fresh");
  const directory = await checkoutFor(world, "run2", await world.fetch());
  assert.deepEqual(readdirSync(directory).sort(), [".git", "fresh.txt"]);
});

test("a run that has its own repository goes on without the mirror", async () => {
  await using world = await createWorld();
  commit(world.bare, FIRST);
  const sha = await world.fetch();
  const first = await checkoutFor(world, "run1", sha);
  for (const name of [`${REPOSITORY_ID}.git`, `${REPOSITORY_ID}.ready`])
    rmSync(join(world.dataDir, "mirrors", name), { recursive: true, force: true, maxRetries: 3 });
  const again = value(await world.workspaces.checkout("run1", REPOSITORY_ID, sha, "again", never));
  assert.deepEqual(pictureOf(again), pictureOf(first));
});
