/** The proposal that awaits approval, and the digest by which exactly its bytes are approved. */

import { canonicalJson, sha256 } from "#src/base/canonical-json.ts";
import type { Verdict } from "./verdict.ts";

/** One changed path of the proposed tree. */
export interface ProposedFile {
  readonly path: string;
  readonly status: "added" | "modified" | "deleted";
  readonly mode: "100644" | "100755" | "120000";
  /** SHA-256 of the proposed content; null for a deleted file. */
  readonly sha256: string | null;
  /** Line counts; null for binary files. */
  readonly added: number | null;
  readonly removed: number | null;
}

export interface Proposal {
  readonly repositoryId: number;
  readonly issue: number;
  readonly runId: string;
  readonly baseSha: string;
  readonly targetBranch: string;
  readonly treeId: string;
  readonly files: readonly ProposedFile[];
  readonly title: string;
  /** The pull request's body without the footer that publishing appends. */
  readonly body: string;
  readonly verdictClass: Verdict["class"];
  readonly draft: boolean;
  readonly labels: readonly string[];
}

/** Lower-case hex SHA-256 (64 digits) over everything publishing will write; line counts are display and stay out. */
export function proposalDigest(proposal: Proposal): string {
  const files = [...proposal.files]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((file) => ({ path: file.path, mode: file.mode, sha256: file.sha256 }));
  return sha256(
    canonicalJson({
      repositoryId: proposal.repositoryId,
      issue: proposal.issue,
      runId: proposal.runId,
      baseSha: proposal.baseSha,
      targetBranch: proposal.targetBranch,
      treeId: proposal.treeId,
      files,
      title: proposal.title,
      body: proposal.body,
      verdictClass: proposal.verdictClass,
      draft: proposal.draft,
      labels: [...proposal.labels].sort(),
    }),
  );
}

/** The 12 hex digits people see and type. */
export function shortDigest(digest: string): string {
  return digest.slice(0, 12);
}
