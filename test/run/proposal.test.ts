/** What a digest covers, and what it leaves out: it is the only thing that stands between an approval and other bytes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Proposal, type ProposedFile, proposalDigest, shortDigest } from "#src/run/proposal.ts";
import { FULL } from "#test/support/tier.ts";
import { sampleProposal } from "./sample.ts";

const BASE = sampleProposal({ labels: ["bug", "agent-fix"] });
const [FIRST, SECOND] = BASE.files as readonly [ProposedFile, ProposedFile];

function withFirst(change: Partial<ProposedFile>): Proposal {
  return { ...BASE, files: [{ ...FIRST, ...change }, SECOND] };
}

const CHANGES: Readonly<Record<string, Proposal>> = {
  "repository id": { ...BASE, repositoryId: 8 },
  issue: { ...BASE, issue: 13 },
  run: { ...BASE, runId: "01k0000000abcdeg" },
  "base commit": { ...BASE, baseSha: BASE.baseSha.replace("1", "2") },
  "target branch": { ...BASE, targetBranch: "master" },
  "tree id": { ...BASE, treeId: BASE.treeId.replace("3", "4") },
  title: { ...BASE, title: `${BASE.title} ` },
  body: { ...BASE, body: `${BASE.body}\n` },
  "verdict class": { ...BASE, verdictClass: "passing" },
  draft: { ...BASE, draft: true },
  "one label more": { ...BASE, labels: [...BASE.labels, "x"] },
  "one label less": { ...BASE, labels: ["bug"] },
  "another label": { ...BASE, labels: ["bug", "agent-fiX"] },
  "path of a file": withFirst({ path: "src/price.mjs" }),
  "mode of a file": withFirst({ mode: "100755" }),
  "content of a file": withFirst({ sha256: "c".repeat(64) }),
  "deletion of a file": withFirst({ sha256: null, status: "deleted" }),
  "one file less": { ...BASE, files: [FIRST] },
  "one file more": { ...BASE, files: [FIRST, SECOND, { ...SECOND, path: "z" }] },
  "contents exchanged": {
    ...BASE,
    files: [
      { ...FIRST, sha256: SECOND.sha256 },
      { ...SECOND, sha256: FIRST.sha256 },
    ],
  },
};

for (const [what, changed] of Object.entries(CHANGES))
  test(`the digest changes with the ${what}`, () => {
    assert.notEqual(proposalDigest(changed), proposalDigest(BASE));
  });

test("no two of these changes have the same digest", () => {
  const digests = [BASE, ...Object.values(CHANGES)].map(proposalDigest);
  assert.equal(new Set(digests).size, digests.length);
  for (const digest of digests) assert.match(digest, /^[0-9a-f]{64}$/);
});

test("every field of a proposal is covered, and of a file all but what is only shown", () => {
  const covered: Record<keyof Proposal, true> = {
    repositoryId: true,
    issue: true,
    runId: true,
    baseSha: true,
    targetBranch: true,
    treeId: true,
    files: true,
    title: true,
    body: true,
    verdictClass: true,
    draft: true,
    labels: true,
  };
  for (const field of Object.keys(covered) as (keyof Proposal)[]) {
    const other = field === "files" || field === "labels" ? [] : `${String(BASE[field])}!`;
    assert.notEqual(proposalDigest({ ...BASE, [field]: other } as Proposal), proposalDigest(BASE), field);
  }
});

test("line counts and the status word are display: the digest does not change with them", () => {
  assert.equal(proposalDigest(withFirst({ added: 900, removed: null })), proposalDigest(BASE));
  assert.equal(proposalDigest(withFirst({ status: "added" })), proposalDigest(BASE));
});

test("the order of files and labels does not count, and neither list is changed", () => {
  const shuffled = { ...BASE, files: [SECOND, FIRST], labels: [...BASE.labels].reverse() };
  const copy = structuredClone(shuffled);
  assert.equal(proposalDigest(shuffled), proposalDigest(BASE));
  assert.deepEqual(shuffled, copy);
});

test("members that are not part of a proposal, and the order of members, do not count", () => {
  const reordered = Object.fromEntries(Object.entries(BASE).reverse()) as unknown as Proposal;
  assert.equal(proposalDigest(reordered), proposalDigest(BASE));
  assert.equal(proposalDigest({ ...BASE, footer: "approved by maya" } as Proposal), proposalDigest(BASE));
});

test("twelve digits are shown", () => {
  assert.equal(shortDigest(proposalDigest(BASE)), proposalDigest(BASE).slice(0, 12));
});

const TEXT = fc.string({ unit: "binary", maxLength: 30 });
const FILE: fc.Arbitrary<ProposedFile> = fc.record({
  path: TEXT,
  status: fc.constantFrom("added", "modified", "deleted"),
  mode: fc.constantFrom("100644", "100755", "120000"),
  sha256: fc.option(fc.constantFrom("a".repeat(64), "b".repeat(64))),
  added: fc.option(fc.nat()),
  removed: fc.option(fc.nat()),
});
const PROPOSAL: fc.Arbitrary<Proposal> = fc.record({
  repositoryId: fc.nat(),
  issue: fc.nat(),
  runId: TEXT,
  baseSha: TEXT,
  targetBranch: TEXT,
  treeId: TEXT,
  files: fc.uniqueArray(FILE, { selector: (file) => file.path, maxLength: 6 }),
  title: TEXT,
  body: TEXT,
  verdictClass: fc.constantFrom("proven", "passing", "unproven", "refuted"),
  draft: fc.boolean(),
  labels: fc.uniqueArray(TEXT, { maxLength: 4 }),
});

/** What publishing writes, with the lists in one order. */
function essence(proposal: Proposal): string {
  const files = proposal.files.map(({ path, mode, sha256 }) => JSON.stringify([path, mode, sha256])).sort();
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(proposal).sort(([a], [b]) => (a < b ? -1 : 1))),
    files,
    labels: [...proposal.labels].sort(),
  });
}

test("two proposals have one digest exactly when publishing would write the same", () => {
  fc.assert(
    fc.property(PROPOSAL, PROPOSAL, fc.integer(), (one, other, seed) => {
      assert.equal(proposalDigest(one) === proposalDigest(other), essence(one) === essence(other));
      const turned = { ...one, files: one.files.toSorted(() => (seed % 2 === 0 ? 1 : -1)) };
      assert.equal(proposalDigest(turned), proposalDigest(one));
    }),
    { numRuns: FULL ? 10_000 : 500 },
  );
});
