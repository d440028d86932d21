/** FAULTS E10 and kin: what an agent or a test leaves in a workspace runs nothing, anywhere, when git looks at it. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commit } from "./repository.ts";
import { createWorld, never, REPOSITORY_ID, RUN, value } from "./world.ts";

/** Ways to have git run a command or read another file, all planted at once; MARK touches a file inside, which would show that it ran. */
const PLANTED = `
  mark='touch /workspace/pwned; echo ran >> /workspace/pwned'
  git config core.fsmonitor "$mark; false"
  git config core.hooksPath .git/hooks
  git config diff.external "sh -c '$mark'"
  git config filter.evil.clean "$mark; cat"
  git config filter.evil.smudge "$mark; cat"
  git config filter.evil.process "$mark"
  git config diff.evil.textconv "sh -c '$mark'"
  git config diff.evil.command "sh -c '$mark'"
  git config merge.evil.driver "$mark"
  git config credential.helper "!$mark"
  git config core.sshCommand "$mark"
  git config core.pager "$mark"
  git config core.editor "$mark"
  git config core.worktree /
  git config include.path /workspace/evil.config
  git config alias.status "!$mark"
  git config core.alternateRefsCommand "$mark"
  git config uploadpack.packObjectsHook "$mark"
  git config remote.origin.url "ext::sh -c '$mark'"
  printf '[core]\\n fsmonitor = sh -c "%s"\\n' "$mark" > evil.config
  mkdir -p .git/hooks .git/objects/info .git/info
  for hook in pre-commit post-checkout post-index-change reference-transaction pre-push post-merge fsmonitor-watchman; do
    printf '#!/bin/sh\\n%s\\n' "$mark" > .git/hooks/$hook; chmod +x .git/hooks/$hook
  done
  echo /etc > .git/objects/info/alternates
  printf '* filter=evil diff=evil merge=evil\\n' > .git/info/attributes
  printf '* filter=evil diff=evil merge=evil text=auto\\n' > .gitattributes
  printf '[submodule "s"]\\n path = s\\n url = ext::sh -c "%s"\\n update = !%s\\n' "$mark" "$mark" > .gitmodules
  printf '#!/bin/sh\\n%s\\n' "$mark" > git; chmod +x git
  printf '%s\\n' "$mark" > .bashrc; cp .bashrc .profile; cp .bashrc .bash_profile
  echo 2 > a.txt; rm -f pwned`;

test("E10: hostile config, hooks, filters, drivers, alternates, includes and aliases run nothing", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n", ".gitattributes": "* filter=evil\n" });
  const at = await world.checkout();
  await world.shell(at.directory, PLANTED);
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha, directory: at.directory };
  const dirty = value(await world.workspaces.dirtyPaths(request));
  assert.ok(dirty.includes("a.txt"));
  const built = value(await world.workspaces.buildTree({ ...request, edited: [".gitmodules"], noise: [] }));
  assert.deepEqual(
    built.changes.map(({ path }) => path),
    [".gitattributes", ".gitmodules", "a.txt"],
  );
  assert.match(built.diff, /^-1\n\+2$/m);
  const copy = value(await world.workspaces.copy(RUN, at.directory, "copy"));
  value(await world.workspaces.applyTree({ ...request, directory: copy, treeId: built.treeId, except: [] }));
  for (const directory of [at.directory, copy]) assert.equal(existsSync(join(directory, "pwned")), false);
  // The same traps do spring for a git that trusts the agent's own configuration, inside the sandbox.
  await world.shell(copy, "git --work-tree=/workspace status >/dev/null 2>&1 || true");
  assert.equal(existsSync(join(copy, "pwned")), true);
});

test("E10: the run's own repository cannot be changed from inside, and no other run is in sight", async () => {
  await using world = await createWorld();
  commit(world.bare, { "a.txt": "1\n" });
  const at = await world.checkout();
  const pristine = join(world.dataDir, "runs", RUN, "pristine.git");
  const before = readFileSync(join(pristine, "config"), "utf8");
  const marker = join(world.directory, "marker");
  mkdirSync(marker);
  const sessions: string[] = [];
  const spying = world.again({
    sandbox: {
      ...world.sandbox,
      open: async (spec) => {
        const opened = await world.sandbox.open(spec);
        sessions.push(
          `${spec.phase} ${spec.network.kind} ${spec.mounts.map(({ target, mode }) => `${target}:${mode}`)}`,
        );
        if (!opened.ok) return opened;
        // Whoever took over git inside could do this much: try to write to each thing in sight, and look around.
        const tried = await opened.value.exec({
          argv: [
            "bash",
            "-c",
            "for f in config HEAD hooks/x objects/x info/attributes; do echo x > /git/$f; done; ls / /workspace/..; test ! -e /git/hooks/x",
          ],
          timeoutMs: 10_000,
          outputBytes: 10_000,
          signal: never,
        });
        sessions.push(tried.stdout.head);
        return opened;
      },
    },
  });
  const request = { runId: RUN, repositoryId: REPOSITORY_ID, baseSha: at.sha, directory: at.directory };
  await world.shell(at.directory, "echo 2 > a.txt");
  value(await spying.buildTree({ ...request, edited: [], noise: [] }));
  assert.equal(sessions[0], "git none /exchange:rw,/git:ro");
  assert.doesNotMatch(sessions[1] ?? "", /mirrors|pristine|runs/);
  assert.equal(readFileSync(join(pristine, "config"), "utf8"), before);
  assert.deepEqual(readdirSync(marker), []);
  assert.deepEqual(
    readdirSync(join(world.dataDir, "runs", RUN)).filter((name) => name.startsWith("git-")),
    [],
    "no exchange directory is left",
  );
});
