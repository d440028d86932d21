/** Who may do what, as a table over permission, list and team; and what holds whatever GitHub says. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Approvers, type Deed, type KnownPermission, ruling, type WhoFacts } from "#src/gate/who.ts";
import { FULL } from "#test/support/tier.ts";

const ALL: readonly KnownPermission[] = ["unknown", "none", "read", "triage", "write", "maintain", "admin"];

function who(change: Partial<WhoFacts> = {}): WhoFacts {
  return {
    login: "maya",
    permission: "write",
    approvers: { least: "write", listed: null },
    teams: [],
    ...change,
  };
}

interface Row {
  readonly what: string;
  readonly facts: Partial<WhoFacts>;
  /** Permissions with which the person approves, and with which they decide everything else. */
  readonly approve: readonly KnownPermission[];
  readonly decide?: readonly KnownPermission[];
}

const WRITERS: readonly KnownPermission[] = ["write", "maintain", "admin"];
const least = (approvers: Partial<Approvers>): Approvers => ({ least: "write", listed: null, ...approvers });

const TABLE: readonly Row[] = [
  { what: "no list", facts: {}, approve: WRITERS },
  {
    what: "least maintain",
    facts: { approvers: least({ least: "maintain" }) },
    approve: ["maintain", "admin"],
  },
  { what: "least admin", facts: { approvers: least({ least: "admin" }) }, approve: ["admin"] },
  { what: "listed", facts: { approvers: least({ listed: ["maya"] }) }, approve: WRITERS },
  {
    what: "listed in other letters",
    facts: { login: "MAYA", approvers: least({ listed: ["maya"] }) },
    approve: WRITERS,
  },
  { what: "not listed", facts: { approvers: least({ listed: ["tom"] }) }, approve: [] },
  { what: "nobody listed", facts: { approvers: least({ listed: [] }) }, approve: [] },
  {
    what: "listed, but not of the least permission",
    facts: { approvers: { least: "admin", listed: ["maya"] } },
    approve: ["admin"],
  },
  {
    what: "in a listed team",
    facts: { approvers: least({ listed: ["acme/core"] }), teams: ["acme/core"] },
    approve: WRITERS,
  },
  {
    what: "in another team",
    facts: { approvers: least({ listed: ["acme/core"] }), teams: ["acme/docs"] },
    approve: [],
  },
  {
    what: "a team that could not be asked",
    facts: { approvers: least({ listed: ["acme/core"] }) },
    approve: [],
  },
  {
    what: "a person named as a team is",
    facts: { login: "acme/core", approvers: least({ listed: ["acme/core"] }) },
    approve: WRITERS,
  },
  { what: "a bot", facts: { login: "renovate[bot]" }, approve: [], decide: [] },
  { what: "this app", facts: { login: "agent-fix[bot]" }, approve: [], decide: [] },
  { what: "a deleted person", facts: { login: "ghost" }, approve: [], decide: [] },
  { what: "nobody", facts: { login: "" }, approve: [], decide: [] },
];

for (const { what, facts, approve, decide = WRITERS } of TABLE)
  test(`F06: ${what}: each permission approves and decides as the table says`, () => {
    const allowed = (deed: Deed) =>
      ALL.filter((permission) => ruling(who({ ...facts, permission }), deed).allow);
    assert.deepEqual(allowed("approve"), approve);
    assert.deepEqual(allowed("decide"), decide);
    for (const permission of ALL)
      for (const deed of ["approve", "decide"] as const)
        assert.match(ruling(who({ ...facts, permission }), deed).because, /\.$/);
  });

test("whoever approves has write access and is let through by the list; more listed people never take a right away", () => {
  const login = fc.constantFrom("maya", "tom", "Eve", "ghost", "x[bot]");
  const names = fc.uniqueArray(fc.constantFrom("maya", "tom", "eve", "acme/core", "acme/docs"));
  const approvers = fc.record({
    least: fc.constantFrom("write" as const, "maintain" as const, "admin" as const),
    listed: fc.option(names),
  });
  const teams = fc.subarray(["acme/core", "acme/docs", "other/core"]);
  const any = fc.record({ login, permission: fc.constantFrom(...ALL), approvers, teams });
  fc.assert(
    fc.property(any, fc.constantFrom("maya", "acme/docs"), (facts, more) => {
      const approves = ruling(facts, "approve").allow;
      if (!approves) return;
      assert.ok(ruling(facts, "decide").allow, "approving is deciding");
      assert.ok(WRITERS.includes(facts.permission));
      const { listed } = facts.approvers;
      const named = listed?.some((name) => name === facts.login.toLowerCase() || facts.teams.includes(name));
      assert.ok(listed === null || named);
      const wider = { ...facts, approvers: { ...facts.approvers, listed: listed && [...listed, more] } };
      assert.ok(ruling(wider, "approve").allow);
    }),
    { numRuns: FULL ? 20_000 : 1_000 },
  );
});
