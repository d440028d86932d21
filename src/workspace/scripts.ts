/** The shell texts that run inside a git session; constant, with every value handed over in files or as `$1`. */

/** Inside a session: the workspace, the run's repository (read-only), and a directory for lists and results. */
export const INSIDE = {
  workspace: "/workspace",
  gitDir: "/git",
  exchange: "/exchange",
  copy: "/copy",
} as const;

/** Files the scripts read and write in the exchange directory. */
export const EXCHANGE = {
  /** In: paths edited through a tool. */
  edited: "edited",
  /** Out: `diff-files --raw -z`: tracked files that differ from base. */
  changed: "changed",
  /** Out: untracked files that base's ignore rules do not match, one by one, and with whole directories put together. */
  untracked: "untracked",
  collapsed: "collapsed",
  /** Out: edited paths that are untracked and matched by base's ignore rules. */
  editedIgnored: "edited-ignored",
  /** Out: `.git` entries below the root that no ignore rule of base covers. */
  nested: "nested",
  /** Out: modes and sizes of everything in `changed` and `untracked` that is there. */
  stats: "stats",
  /** In: deleted paths and new files; out: those new files that are deleted ones under another name. */
  drop: "drop",
  additions: "additions",
  moved: "moved",
  /** In: paths whose content goes into the tree; out: the difference, and a pack of the new contents. */
  take: "take",
  raw: "raw",
  pack: "pack",
} as const;

const START = `set -euo pipefail
export LC_ALL=C
cd "/workspace"
x="/exchange"
`;

/**
 * $1: base commit. What counts as ignored is decided by base's ignore files, laid out in a directory of their own: an agent
 * that edits `.gitignore` neither hides nor reveals a file. Directories made unreadable are opened first, since what is in
 * them would look deleted.
 */
export const SCAN = `${START}
chmod u+rwx .
find . -path ./.git -prune -o -type d ! -perm -u+rwx -exec chmod u+rwx {} \\;
mkdir -p "$x/objects" "$x/rules"
git read-tree "$1"
git update-index -q --refresh --ignore-submodules >/dev/null || true
git diff-files --raw -z --no-renames --ignore-submodules=all >"$x/changed"

git ls-files -z -- ':(glob)**/.gitignore' | git checkout-index -z --stdin --prefix="$x/rules/"
ignored() {
  (cd "$x/rules" && GIT_WORK_TREE="$x/rules" git check-ignore -z --stdin --no-index) || [ $? -eq 1 ]
}
without_ignored() {
  sort -z >"$x/all"
  : >"$x/some"
  [ -s "$x/all" ] || return 0
  ignored <"$x/all" | sort -z >"$x/some"
  comm -z -23 "$x/all" "$x/some"
}
git ls-files -z --others | without_ignored >"$x/untracked"
sort -z "$x/edited" >"$x/named"
comm -z -12 "$x/named" "$x/some" >"$x/edited-ignored"
git ls-files -z --others --directory --no-empty-directory | without_ignored >"$x/collapsed"
{ git diff-files --name-only -z --no-renames --ignore-submodules=all; cat "$x/untracked"; } |
  { xargs -0 -r stat --printf '%f %s %n\\0' -- 2>/dev/null || true; } >"$x/stats"
find . -mindepth 1 -path ./.git -prune -o -name .git -printf '%P\\0' -prune | without_ignored >"$x/nested"
`;

/** $1: base commit. Finds deleted files again among the additions, through an index of its own. */
export const FIND_MOVED = `${START}
cp "$x/index" "$x/index-moved"
export GIT_INDEX_FILE="$x/index-moved"
git update-index -z --force-remove --stdin <"$x/drop"
git update-index -z --add --replace --stdin <"$x/additions"
git diff-index --cached -M70% -l5000 --diff-filter=R --name-status -z "$1" >"$x/moved"
`;

/** $1: base commit. Takes the named paths, and packs the contents that the new tree needs. */
export const TAKE = `${START}
git update-index -z --force-remove --stdin <"$x/drop"
git update-index -z --add --replace --stdin <"$x/take"
git diff-index --cached --raw -z --no-renames "$1" >"$x/raw"
git diff-index --cached --raw --no-renames --abbrev=40 --diff-filter=AMT "$1" | cut -d' ' -f4 | sort -u >"$x/ids"
if [ -s "$x/ids" ]; then git pack-objects -q --stdout <"$x/ids" >"$x/pack"; else : >"$x/pack"; fi
`;

/** $1: base commit, $2: tree. Makes the tracked files equal the tree; git replaces links and directories in the way, and follows none. */
export const APPLY = `${START}
chmod u+rwx .
find . -path ./.git -prune -o -type d ! -perm -u+rwx -exec chmod u+rwx {} \\;
mkdir -p "$x/objects"
git diff-tree -r -z --no-renames --diff-filter=D --name-only "$1" "$2" >"$x/drop"
xargs -0 -r rm -f -- <"$x/drop" 2>/dev/null || true
git read-tree "$2"
git update-index -q --refresh --ignore-submodules >/dev/null || true
git diff-files -z --no-renames --ignore-submodules=all --name-only | git checkout-index -f -z --stdin
xargs -0 -r -n 64 dirname -z -- <"$x/drop" | sort -zu | xargs -0 -r rmdir -p --ignore-fail-on-non-empty -- 2>/dev/null || true
git update-index -q --refresh --ignore-submodules >/dev/null || true
git diff-files -z --no-renames --ignore-submodules=all --name-only >"$x/changed"
`;

/** Copies a whole workspace; as the sandbox's user, so that nothing in a hostile tree meets the app's rights. */
export const COPY = `set -euo pipefail
find "/workspace" -type d ! -perm -u+rwx -exec chmod u+rwx {} \\;
cp -a --reflink=auto "/workspace/." "/copy/"
`;

/** Removes what the host's own removal stumbles over: read-only directories and paths longer than the system allows. */
export const EMPTY = `set -euo pipefail
find "/workspace" -type d ! -perm -u+rwx -exec chmod u+rwx {} \\;
find "/workspace" -mindepth 1 -delete
`;
