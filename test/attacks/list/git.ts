/** What an agent or a test leaves in a checkout for the git that looks at it next: the app's, over the workspace. */

import type { Listed } from "#test/attacks/attack.ts";

export interface GitAttack extends Omit<Listed, "group"> {
  /**
   * Bash, run in the checkout as the agent would. `mark` is a command that touches /workspace/pwned; `OUTSIDE` and
   * `DATA_DIR` are as for the other attacks. a.txt is changed before.
   */
  readonly plant: string;
  /** Paths that the agent claims to have edited by a tool. */
  readonly edited?: readonly string[];
  /** A failure that is as good as a tree. */
  readonly refused?: "nested_git";
  /** True: the change of a.txt need not be in the tree, since it was undone. */
  readonly undone?: boolean;
  /** True: no program can copy such a workspace, which is refused with a sentence. */
  readonly uncopyable?: boolean;
}

const NOTHING = "nothing runs, nothing of the host is in the tree, and the real change is";

export const GIT: readonly GitAttack[] = [
  {
    name: "hooks of every name, in .git/hooks and where core.hooksPath points",
    fault: "E10",
    holds: NOTHING,
    plant: `mkdir -p .git/hooks hooks; for dir in .git/hooks hooks; do for hook in applypatch-msg pre-applypatch pre-commit post-commit post-checkout post-merge post-index-change post-rewrite pre-push pre-auto-gc reference-transaction update fsmonitor-watchman sendemail-validate proc-receive; do
  printf '#!/bin/sh\\n%s\\n' "$mark" > $dir/$hook; chmod +x $dir/$hook; done; done; git config core.hooksPath /workspace/hooks`,
  },
  {
    name: "core.fsmonitor as a program and as a built-in daemon",
    fault: "E10",
    holds: NOTHING,
    plant: `git config core.fsmonitor "$mark; false"; git config --add core.fsmonitor true; git config core.fsmonitorHookVersion 2; git config core.untrackedCache true`,
  },
  {
    name: "filters by attributes at the root, in folders and in .git/info",
    fault: "E10",
    holds: NOTHING,
    plant: `for key in clean smudge process; do git config filter.evil.$key "$mark; cat"; done; git config filter.evil.required true; mkdir -p sub; echo x > sub/b.txt
for file in .gitattributes sub/.gitattributes .git/info/attributes; do mkdir -p $(dirname $file); printf '* filter=evil ident text=auto eol=crlf working-tree-encoding=UTF-16\\n' > $file; done; git config core.attributesFile /workspace/.gitattributes`,
    edited: ["sub/b.txt"],
  },
  {
    name: "external diff, textconv and word-diff programs",
    fault: "E10",
    holds: NOTHING,
    plant: `git config diff.external "$mark"; for key in command textconv; do git config diff.evil.$key "$mark"; done; git config diff.evil.cachetextconv true; printf '*.txt diff=evil\\n' > .gitattributes; export GIT_EXTERNAL_DIFF="$mark"`,
  },
  {
    name: "merge drivers, mergetools and rerere",
    holds: NOTHING,
    plant: `git config merge.evil.driver "$mark"; git config merge.default evil; git config mergetool.evil.cmd "$mark"; git config rerere.enabled true; printf '* merge=evil\\n' > .gitattributes`,
  },
  {
    name: "programs for credentials, ssh, paging, editing and signing",
    fault: "E10",
    holds: NOTHING,
    plant: `for key in credential.helper core.askPass core.sshCommand core.gitProxy core.pager core.editor sequence.editor gpg.program gpg.ssh.defaultKeyCommand uploadpack.packObjectsHook core.alternateRefsCommand browser.evil.cmd trailer.evil.command log.showSignature pager.diff interactive.diffFilter; do git config $key "!$mark"; done; git config commit.gpgSign true; git config alias.diff-files "!$mark"; git config alias.ls-files "!$mark"`,
  },
  {
    name: "objects borrowed from the host by alternates",
    holds: NOTHING,
    plant: `mkdir -p .git/objects/info; printf '%s\\n' /etc "$OUTSIDE" "$DATA_DIR/mirrors/42.git/objects" ../../../../.. > .git/objects/info/alternates; echo http://127.0.0.1/ > .git/objects/info/http-alternates; export GIT_ALTERNATE_OBJECT_DIRECTORIES="$OUTSIDE"`,
  },
  {
    name: "settings taken in from elsewhere (include, includeIf, config.worktree)",
    holds: NOTHING,
    plant: `printf '[core]\\n\\tfsmonitor = %s\\n' "$mark" > evil.config; git config include.path /workspace/evil.config; git config includeIf.gitdir:/.path /workspace/evil.config; git config include.path "$OUTSIDE/file"; git config extensions.worktreeConfig true; cp evil.config .git/config.worktree`,
  },
  {
    name: "a work tree and a common directory elsewhere",
    holds: NOTHING,
    plant: `git config core.worktree /; echo "$DATA_DIR/mirrors/42.git" > .git/commondir; echo "$OUTSIDE" > .git/gitdir; git config core.bare true || true`,
  },
  {
    name: "a repository of a format that no git knows",
    holds: NOTHING,
    plant: `printf '[core]\\n\\trepositoryformatversion = 99\\n[extensions]\\n\\tevil = true\\n\\tobjectFormat = sha256\\n\\trefStorage = reftable\\n[broken\\n' > .git/config`,
  },
  {
    name: "a file in the place of .git that points to the app's repositories",
    holds: NOTHING,
    plant: `rm -rf .git; echo "gitdir: $DATA_DIR/runs/run1/pristine.git" > .git`,
  },
  {
    name: "a link in the place of .git",
    holds: NOTHING,
    plant: `rm -rf .git; ln -s "$OUTSIDE" .git`,
  },
  { name: "no .git at all", holds: NOTHING, plant: `rm -rf .git` },
  {
    name: "an index that is a pipe, links and garbage where git reads",
    holds: NOTHING,
    plant: `rm -f .git/index .git/HEAD; mkfifo .git/index; ln -s "$OUTSIDE/file" .git/HEAD; ln -sf loop .git/loop; mkdir -p .git/objects/pack; head -c 100000 /dev/urandom > .git/objects/pack/pack-$(printf '%040d' 1).pack; mkfifo .git/packed-refs.lock`,
  },
  {
    name: "huge and odd references",
    holds: NOTHING,
    plant: `awk 'BEGIN { for (n = 1; n <= 20000; n++) printf "%040x refs/heads/x%d\\n", n, n }' > .git/packed-refs; mkdir -p .git/refs/heads; printf 'ref: refs/heads/b\\n' > .git/refs/heads/a; printf 'ref: refs/heads/a\\n' > .git/refs/heads/b; echo bad > '.git/refs/heads/-x'; echo bad > ".git/refs/heads/"$'new\\nline'; head -c 3000000 /dev/zero > .git/refs/heads/zero; ln -s "$OUTSIDE/file" .git/refs/heads/away; echo "ref: ../../../$OUTSIDE/file" > .git/HEAD`,
  },
  {
    name: "history rewritten by replace references, grafts and shallow",
    holds: NOTHING,
    plant: `head=$(git rev-parse HEAD); tree=$(git mktree </dev/null); mkdir -p .git/info; git replace $head $(git commit-tree $tree -m other) 2>/dev/null || true; echo "$head" > .git/info/grafts; echo "$head" > .git/shallow`,
  },
  {
    name: "submodules with addresses and paths that are commands or options",
    fault: "E11",
    holds: NOTHING,
    plant: `printf '[submodule "a"]\\n\\tpath = -x\\n\\turl = -u./payload\\n[submodule "b"]\\n\\tpath = b\\n\\turl = ext::sh -c "%s"\\n\\tupdate = !%s\\n[submodule "../../hooks"]\\n\\tpath = c\\n\\turl = file:///etc\\n' "$mark" "$mark" > .gitmodules; mkdir -p b; git config submodule.recurse true; git config submodule.b.update "!$mark"; git config submodule.b.active true; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),b`,
    edited: [".gitmodules", "b"],
  },
  {
    name: "a repository inside the repository, with its own program for watching files",
    fault: "E10",
    holds: "the tree is refused, and nothing runs",
    refused: "nested_git",
    plant: `git init -q sub; git -C sub config core.fsmonitor "$mark; false"; echo x > sub/x`,
    edited: ["sub/x"],
  },
  {
    name: "the same deep down, by a link and with a file for .git",
    holds: "the tree is refused, and nothing runs",
    refused: "nested_git",
    plant: `mkdir -p d/e/f/g; ln -s /workspace/.git d/e/f/g/.git; mkdir -p other; echo 'gitdir: ../.git' > other/.git; echo x > other/x`,
    edited: ["d/e/f/g/x", "other/x"],
  },
  {
    name: "spellings of .git that other file systems take for it",
    holds: "no such name is in the tree, and nothing runs",
    plant: `mkdir -p .GIT git~1 '.git ' s/.Git; for dir in .GIT git~1 '.git ' s/.Git; do printf '[core]\\n\\tfsmonitor = %s\\n' "$mark" > "$dir/config"; done`,
    edited: [
      ".GIT/config",
      "git~1/config",
      ".git /config",
      "s/.Git/config",
      ".git/config",
      "../a",
      "/etc/passwd",
    ],
  },
  {
    name: "a bare repository among the files",
    holds: NOTHING,
    plant: `git init -q --bare fixture; git -C fixture config core.fsmonitor "$mark"; git -C fixture config core.worktree /workspace; printf '#!/bin/sh\\n%s\\n' "$mark" > fixture/hooks/post-index-change; chmod +x fixture/hooks/post-index-change`,
    edited: ["fixture/config"],
  },
  {
    name: "links, pipes and folders where attributes and ignore rules are read",
    holds: NOTHING,
    plant: `rm -f .gitattributes .gitignore; ln -s "$OUTSIDE/file" .gitattributes; mkfifo .gitignore; mkdir -p x/.gitignore y; ln -s /dev/zero y/.gitattributes; ln -s "$OUTSIDE/file" y/.gitignore; ln -s "$OUTSIDE/file" .mailmap; echo 1 > y/z`,
    edited: [".gitattributes", "y/z", "y/.gitignore"],
  },
  {
    name: "attributes and ignore rules of many megabytes and of endless patterns",
    holds: "git ends within its time, and the real change is in the tree",
    plant: `for n in $(seq 60000); do echo "**/a*b*c*d*e*f*$n filter=x diff=x"; done > .gitattributes; for n in $(seq 2000); do echo "**/a*a*a*a*a*a*a*a*a*a*b$n"; done > .gitignore; mkdir -p $(printf 'a%.0s' $(seq 200)); for n in $(seq 40); do : > $(printf 'a%.0s' $(seq 200))/$(printf 'a%.0s' $(seq 100))$n; done`,
  },
  {
    name: "a change hidden by bits of the index (assume-unchanged, skip-worktree, sparse and split)",
    holds: "the change is in the tree all the same",
    plant: `git update-index --assume-unchanged a.txt; git update-index --skip-worktree c.txt; echo hidden > c.txt; git config core.sparseCheckout true; mkdir -p .git/info; echo '/nothing' > .git/info/sparse-checkout; git config core.splitIndex true; git config core.checkStat minimal; git config core.trustctime false; git config core.ignoreStat true`,
  },
  {
    name: "a tracked folder exchanged for a link to the host's",
    fault: "C05",
    holds: "the link is in the tree as a link, and nothing behind it",
    plant: `rm -rf dir; ln -s "$OUTSIDE" dir; rm c.txt; ln -s "$OUTSIDE/file" c.txt`,
    edited: ["dir/file", "dir", "c.txt", "dir/directory/file"],
  },
  {
    name: "programs named as those that the app calls, in the folder it calls them in",
    holds: NOTHING,
    plant: `mkdir -p node_modules/.bin bin; for name in git bash sh find stat sort comm xargs chmod cp rm cut mkdir dirname env; do for dir in . bin node_modules/.bin; do printf '#!/bin/sh\\n%s\\n' "$mark" > $dir/$name; chmod +x $dir/$name; done; done; printf '%s\\n' "$mark" > .envrc; for name in .bashrc .profile .bash_profile .bash_env; do printf '%s\\n' "$mark" > $name; done; ln -s . .ssh || true`,
  },
  {
    name: "folders without rights, and one that is deeper than a path can be long",
    holds: "the tree is built or refused with a sentence, and the run can be removed",
    plant: `mkdir -p closed/inner; echo x > closed/inner/f; chmod 0 closed/inner closed; perl -e 'for (1..60) { mkdir "d" x 100; chdir "d" x 100 or last }'`,
    edited: ["closed/inner/f"],
    uncopyable: true,
  },
];
