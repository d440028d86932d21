/** An approved proposal to publish on an embedded GitHub: its tree is built in a repository of its own, as the workspace does. */

import { createHash } from "node:crypto";
import type { FileSource } from "#src/github/sim/fast-import.ts";
import type { FileContent } from "#src/github/sim/files.ts";
import { createGitRepository, type GitRepository } from "#src/github/sim/git-objects.ts";
import { branchName, type EffectJournal, type PublishRequest } from "#src/publish/publish.ts";
import type { Proposal, ProposedFile } from "#src/run/proposal.ts";
import { sampleProposal } from "#test/run/sample.ts";
import { type GitHubRig, githubRig, type RigOptions } from "#test/support/github.ts";
import { type TempDir, tempDir } from "#test/support/temp-dir.ts";

export const REPO = "acme/widget";

export const BASE_FILES: Readonly<Record<string, FileContent>> = {
  "README.md": "# widget\n",
  "src/add.js": "export const add = (a, b) => a - b;\n",
  "run.sh": { mode: "100755", content: Buffer.from("echo hello\n") },
  "old.txt": "to be deleted\n",
  link: { mode: "120000", content: Buffer.from("README.md") },
};

export interface Journal extends EffectJournal {
  readonly log: readonly string[];
}

/** Keeps intents and results in memory; `before` and `after` may throw, as a process that dies there. */
export function memoryJournal(
  hooks: { readonly before?: (entry: string) => void; readonly after?: (entry: string) => void } = {},
): Journal {
  const log: string[] = [];
  const results = new Map<string, { id: string; url: string | null }>();
  const note = (entry: string, act: () => void) => {
    hooks.before?.(entry);
    act();
    log.push(entry);
    hooks.after?.(entry);
  };
  return {
    log,
    done: (effect) => results.get(effect) ?? null,
    intended: (effect) => log.includes(`intend ${effect}`),
    intend: async (effect) => note(`intend ${effect}`, () => undefined),
    complete: async (effect, result) => note(`complete ${effect}`, () => results.set(effect, { ...result })),
  };
}

export interface PublishRig extends GitHubRig {
  /** A proposal of these changes on the base; null deletes. */
  propose(changes: Readonly<Record<string, FileContent>>, change?: Partial<Proposal>): Promise<Proposal>;
  request(proposal: Proposal, change?: Partial<PublishRequest>): PublishRequest;
  readonly origin: GitRepository;
  /** Pull requests on the proposal's branch. */
  pulls(proposal: Proposal): ReturnType<GitHubRig["hub"]["pullRequests"]>;
  head(proposal: Proposal): Promise<string | null>;
}

/** A file as the approved tree holds it. */
interface Kept {
  readonly mode: ProposedFile["mode"];
  readonly content: Uint8Array;
}

export async function publishRig(options: RigOptions = {}): Promise<PublishRig> {
  const rig = await githubRig({
    impatient: true,
    ...options,
    repository: { files: BASE_FILES, ...options.repository },
  });
  const dir: TempDir = await tempDir("approved-");
  const workshop = await createGitRepository(dir.path, 1, "main");
  await workshop.commitFiles({
    branch: "main",
    message: "base",
    files: sources(BASE_FILES),
    author: { name: "a", email: "a@b" },
    at: 0,
    hasParent: false,
  });
  const baseTree = (await workshop.refSha("main^{tree}")) ?? "";
  const kept = new Map<string, Kept>();
  return {
    ...rig,
    origin: rig.hub.git(REPO),
    propose: async (changes, change = {}) => {
      const entries = [...sources(changes)];
      const tree = await workshop.writeTree(
        baseTree,
        await Promise.all(
          entries.map(async ([path, file]) => ({
            path,
            mode: file?.mode ?? "100644",
            sha: file === null ? null : await workshop.writeBlob(file.content),
          })),
        ),
      );
      const proposal = sampleProposal({
        repositoryId: rig.repo.id,
        baseSha: rig.headSha,
        treeId: tree ?? "",
        files: entries.map(([path, file]) => proposedFile(path, file)),
        ...change,
      });
      for (const [path, file] of entries)
        if (file !== null) kept.set(`${proposal.treeId} ${path}`, file as Kept);
      return proposal;
    },
    request: (proposal, change = {}) => ({
      github: rig.github("write"),
      journal: memoryJournal(),
      proposal,
      content: async (path) => kept.get(`${proposal.treeId} ${path}`)?.content ?? null,
      branch: branchName(proposal.issue, proposal.runId),
      pullRequest: null,
      commitMessage: `${proposal.title}\n\nFixes #${proposal.issue}\n`,
      body: `${proposal.body}\n\nApproved by maya`,
      pause: async () => undefined,
      ...change,
    }),
    pulls: (proposal) =>
      rig.hub
        .pullRequests(REPO)
        .filter(({ pull }) => pull?.head === branchName(proposal.issue, proposal.runId)),
    head: (proposal) => rig.hub.git(REPO).refSha(`refs/heads/${branchName(proposal.issue, proposal.runId)}`),
    [Symbol.asyncDispose]: async () => {
      await rig[Symbol.asyncDispose]();
      await dir.remove();
    },
  };
}

function sources(files: Readonly<Record<string, FileContent>>): ReadonlyMap<string, FileSource | null> {
  return new Map(
    Object.entries(files).map(([path, content]) => {
      if (content === null) return [path, null];
      if (typeof content === "string") return [path, { mode: "100644", content: Buffer.from(content) }];
      return [path, content instanceof Uint8Array ? { mode: "100644", content } : content];
    }),
  );
}

function proposedFile(path: string, file: FileSource | null): ProposedFile {
  if (file === null) return { path, status: "deleted", mode: "100644", sha256: null, added: 0, removed: 1 };
  return {
    path,
    status: path in BASE_FILES ? "modified" : "added",
    mode: file.mode as ProposedFile["mode"],
    sha256: createHash("sha256").update(file.content).digest("hex"),
    added: 1,
    removed: 0,
  };
}
