/** From what stands in a workspace to the pull request in one world: fetched from GitHub, changed in the sandbox, built by git, published by the API, and the tree there is the one of the digest. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sha256 } from "#src/base/canonical-json.ts";
import { branchName } from "#src/publish/publish.ts";
import { publishPullRequest } from "#src/publish/pull-request.ts";
import { type Proposal, proposalDigest } from "#src/run/proposal.ts";
import type { BuiltTree } from "#src/workspace/workspace.ts";
import { sampleProposal } from "#test/run/sample.ts";
import { FULL, inTurn } from "#test/support/tier.ts";
import { commit, executable, type Files, git, link } from "#test/workspace/repository.ts";
import { createWorld, never, value, type World } from "#test/workspace/world.ts";
import { memoryJournal, type PublishRig, publishRig, REPO } from "./rig.ts";

const SUBMODULE = "5".repeat(40);
const TURN = { skip: !inTurn(2, 8) && "its turn comes with another seed" };
/** Each file is a few git programs. */
const MANY = FULL ? 300 : 14;

const BASE: Files = {
  "a.txt": "one\n",
  "kept.txt": "stays\n",
  gone: "bye\n",
  "run.sh": executable("echo\n"),
  "plain.sh": "echo\n",
  alias: link("a.txt"),
  "was-file": "becomes a directory\n",
  "was-dir/a": "1\n",
  "was-dir/deep/b": "2\n",
  "was-dir2/c": "3\n",
  "was-link": link("a.txt"),
  "pic.bin": Buffer.from([0, 1, 2, 255]),
  "naïve/日本.txt": "alt\n",
  "to-empty": "x\n",
  sub: { mode: "160000", content: SUBMODULE },
  ...Object.fromEntries(Array.from({ length: MANY }, (_, n) => [`many/${n % 7}/f${n}.txt`, `${n}\n`])),
};

let rig: PublishRig;
let world: World;
let baseSha = "";
let runs = 0;

/** As `mktree` writes it, a name that is not UTF-8 included. */
function withOddName(bare: string): string {
  const blob = git(bare, ["hash-object", "-w", "--stdin"], "odd\n");
  const listed = Buffer.from(`${git(bare, ["ls-tree", "-z", "main"])}`);
  const odd = Buffer.concat([Buffer.from(`100644 blob ${blob}\tbad-`), Buffer.from([0xff, 0])]);
  const tree = git(bare, ["mktree", "-z", "--missing"], Buffer.concat([listed, odd]));
  const identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const made = git(bare, [...identity, "commit-tree", tree, "-p", "main", "-m", "odd"]);
  git(bare, ["update-ref", "refs/heads/main", made]);
  return made;
}

interface Change {
  readonly built: BuiltTree;
  readonly proposal: Proposal;
}

/** What these commands make of a fresh checkout. */
async function changed(commands: string, edited: readonly string[] = []): Promise<Change> {
  const runId = `run${++runs}`;
  const { workspaces } = world;
  const directory = value(await workspaces.checkout(runId, rig.repo.id, baseSha, "work", never));
  await world.shell(directory, commands);
  const where = { runId, repositoryId: rig.repo.id, baseSha, directory };
  const built = value(await workspaces.buildTree({ ...where, edited, noise: [] }));
  const proposal = sampleProposal({
    ...{ repositoryId: rig.repo.id, baseSha, runId, treeId: built.treeId, files: built.changes },
  });
  return { built, proposal };
}

/** Publishes it, and holds what every published commit is held to. */
async function published({ proposal }: Change): Promise<ReadonlyMap<string, { mode: string; sha: string }>> {
  const digest = proposalDigest(proposal);
  const { runId, repositoryId, treeId } = proposal;
  const result = await publishPullRequest(
    rig.request(proposal, {
      journal: memoryJournal(),
      content: (path) => world.workspaces.readTreeFile(runId, repositoryId, treeId, path),
    }),
  );
  assert.ok(result.ok, JSON.stringify(result));
  const read = await rig.origin.readCommit(result.value.commitSha);
  assert.deepEqual([read?.parents, read?.tree], [[baseSha], proposal.treeId]);
  assert.equal(proposalDigest({ ...proposal, treeId: read?.tree ?? "" }), digest);
  const items = (await rig.origin.readTree(result.value.commitSha, true)) ?? [];
  const files = new Map(items.filter(({ type }) => type !== "tree").map((item) => [item.path, item]));
  for (const { path, status, mode, sha256: hash } of proposal.files) {
    const item = files.get(path);
    if (status === "deleted") assert.equal(item, undefined, path);
    else assert.equal(item?.mode, mode, path);
    if (hash === null || item === undefined) continue;
    assert.equal(sha256((await rig.origin.readBlob(item.sha)) ?? ""), hash, path);
  }
  return files;
}

describe("what is published is what was built", TURN, () => {
  before(async () => {
    rig = await publishRig({ repository: { files: {} } });
    const { directory } = rig.origin;
    commit(directory, BASE);
    baseSha = withOddName(directory);
    world = await createWorld({ allowedHosts: [rig.hub.host] });
    const token = async () => okValue(await rig.app.gitToken(rig.installation, rig.repo, false));
    const source = { id: rig.repo.id, cloneUrl: `http://${rig.hub.host}/${REPO}.git` };
    assert.equal(value(await world.workspaces.fetch(source, "main", token, never)).headSha, baseSha);
  });

  after(async () => {
    await world[Symbol.asyncDispose]();
    await rig[Symbol.asyncDispose]();
  });

  test(`a patch of ${MANY} files is one commit of the approved tree`, async () => {
    const change = await changed(
      "for f in many/*/*; do printf 'more\\n' >> $f; done; rm many/0/f0.txt; mv many/1/f1.txt many/1/moved.txt",
      ["many/1/moved.txt"],
    );
    assert.equal(change.proposal.files.length, MANY + 1);
    const files = await published(change);
    assert.ok(files.has("many/1/moved.txt") && !files.has("many/0/f0.txt"));
    assert.deepEqual(rig.violations(), []);
  });

  test("links, modes, deletions, empty and binary files, and names beyond ASCII arrive as they were built; what was not touched stays", async () => {
    const change = await changed(
      `chmod +x plain.sh; chmod -x run.sh; ln -sfn ../outside alias; rm gone; : > to-empty; : > new-empty
       printf '\\000\\377\\001' > pic.bin; printf 'neu\\r\\n' > naïve/日本.txt; printf x > 'naïve/😀 "q" \\.txt'
       printf '\\303\\251' > e$'\\xcc\\x81'.txt; ln -s naïve new-link; rm was-link; echo file > was-link`,
      ["new-empty", 'naïve/😀 "q" \\.txt', "e\u0301.txt", "new-link"],
    );
    const files = await published(change);
    const modes = ["plain.sh", "run.sh", "alias", "new-link", "was-link", "to-empty", "new-empty"];
    assert.deepEqual(
      modes.map((path) => files.get(path)?.mode),
      ["100755", "100644", "120000", "120000", "100644", "100644", "100644"],
    );
    assert.ok(files.has("e\u0301.txt"), "names are not normalised");
    assert.equal(files.get("sub")?.sha, SUBMODULE);
    assert.equal(files.get("kept.txt")?.sha, git(rig.origin.directory, ["rev-parse", "main:kept.txt"]));
  });

  test("a file that becomes a directory, and directories that become a file or a link, are swapped whole", async () => {
    const change = await changed(
      "rm was-file; mkdir -p was-file/x; echo 1 > was-file/x/y; rm -r was-dir; echo file > was-dir; rm -r was-dir2; ln -s a.txt was-dir2",
      ["was-file/x/y", "was-dir", "was-dir2"],
    );
    assert.deepEqual(change.proposal.files.map(({ path, status }) => `${status} ${path}`).toSorted(), [
      ...["added was-dir", "added was-dir2", "added was-file/x/y"],
      ...["deleted was-dir/a", "deleted was-dir/deep/b", "deleted was-dir2/c", "deleted was-file"],
    ]);
    const files = await published(change);
    assert.deepEqual(
      ["was-file/x/y", "was-dir", "was-dir2"].map((path) => files.get(path)?.mode),
      ["100644", "100644", "120000"],
    );
    assert.deepEqual(rig.violations(), []);
  });

  test("a submodule and a name that is not UTF-8 stay as they are in the base: a change to such a name is left out and named, what lies in a submodule is left out, and the rest is published", async () => {
    const change = await changed(
      "echo more >> a.txt; mkdir -p sub; echo x > sub/inside; echo changed > bad-$'\\xff'; echo new > new-$'\\xfe'",
      ["sub/inside"],
    );
    assert.deepEqual(
      change.proposal.files.map(({ path }) => path),
      ["a.txt"],
    );
    assert.deepEqual(
      change.built.leftOut.map(({ path }) => path),
      ["bad-\\xff", "new-\\xfe"],
    );
    await published(change);
    const listed = git(rig.origin.directory, ["ls-tree", branchName(12, change.proposal.runId)]);
    assert.match(listed, new RegExp(`160000 commit ${SUBMODULE}\tsub\n`));
    assert.match(listed, /"bad-\\377"/);
  });
});

function okValue<T>(result: { readonly ok: true; readonly value: T } | { readonly ok: false }): T {
  assert.ok(result.ok);
  return result.value;
}
