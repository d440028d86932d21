/** The pure decisions of the GitHub adapter as tables: failure codes, waits, roles, missing permissions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { failureOf } from "#src/github/failures.ts";
import type { GitHubFailure } from "#src/github/github.ts";
import { type CollaboratorAnswer, missingPermissions, roleOf } from "#src/github/permissions.ts";
import { MAX_LIMIT_WAIT_MS, nextWait } from "#src/github/waits.ts";
import { FULL } from "#test/support/tier.ts";

const NOW = Date.UTC(2025, 0, 1);
type Headers = Readonly<Record<string, string>>;

const CODES: readonly (readonly [GitHubFailure["code"], number, unknown, Headers])[] = [
  ["unauthorized", 401, { message: "Bad credentials" }, {}],
  ["permission_missing", 403, { message: "Resource not accessible by integration" }, {}],
  ["suspended", 403, { message: "Repository was archived so is read-only." }, {}],
  ["suspended", 403, { message: "This installation has been suspended" }, {}],
  ["locked", 403, { message: "Unable to create comment because issue is locked." }, {}],
  ["locked", 403, { message: "Unable to create comment because issue is lock." }, {}],
  ["rate_limited", 403, { message: "You have exceeded a secondary rate limit." }, {}],
  ["rate_limited", 403, { message: "You have triggered an abuse detection mechanism." }, {}],
  ["rate_limited", 403, { message: "Forbidden" }, { "retry-after": "3" }],
  ["rate_limited", 429, "slow down", {}],
  // The last allowed request of the hour may still be refused for another reason.
  [
    "permission_missing",
    403,
    { message: "Resource not accessible by integration" },
    { "x-ratelimit-remaining": "0" },
  ],
  ["not_found", 404, { message: "Not Found" }, {}],
  ["not_found", 410, { message: "This issue was deleted" }, {}],
  ["conflict", 409, { message: "Git Repository is empty." }, {}],
  ["conflict", 422, { message: "Reference already exists" }, {}],
  [
    "conflict",
    422,
    {
      message: "Validation Failed",
      errors: [{ code: "custom", message: "A pull request already exists for a:b." }],
    },
    {},
  ],
  [
    "too_long",
    422,
    { message: "Validation Failed", errors: [{ message: "Body is too long (maximum is 65536 characters)" }] },
    {},
  ],
  ["too_long", 422, { message: "Validation Failed", errors: ["body is too long"] }, {}],
  ["too_long", 413, "Payload Too Large", {}],
  [
    "invalid",
    422,
    { message: "Validation Failed", errors: [{ message: "No commits between a:main and a:b" }] },
    {},
  ],
  ["invalid", 400, { message: "Problems parsing JSON" }, {}],
  [
    "permission_missing",
    422,
    { message: "The permissions requested are not granted to this installation." },
    {},
  ],
  [
    "not_found",
    422,
    {
      message:
        "There is at least one repository that does not exist or is not accessible to the parent installation.",
    },
    {},
  ],
  ["server_error", 500, "", {}],
  ["server_error", 503, "<html>unicorn</html>", {}],
];

for (const [code, status, body, headers] of CODES)
  test(`${status} ${JSON.stringify(body).slice(0, 70)} is ${code}`, () => {
    const failure = failureOf({ status, body, headers }, NOW);
    assert.equal(failure.code, code);
    assert.equal(failure.status, status);
  });

test("the message carries GitHub's words, with the details of a validation error and the permission that would do", () => {
  const body = {
    message: "Validation Failed",
    errors: [{ resource: "PullRequest", field: "head", code: "invalid" }],
  };
  assert.match(
    failureOf({ status: 422, body, headers: {} }, NOW).message,
    /GitHub answered 422: Validation Failed \(PullRequest head invalid\)/,
  );
  const missing = failureOf(
    {
      status: 403,
      body: { message: "Resource not accessible by integration" },
      headers: { "x-accepted-github-permissions": "issues=write; pull_requests=write" },
    },
    NOW,
  );
  assert.match(missing.message, /one of "issues=write; pull_requests=write" is needed\. Grant it/);
});

test("any body gives a bounded message and no exception", () => {
  fc.assert(
    fc.property(fc.anything(), fc.integer({ min: 400, max: 599 }), (body, status) => {
      const failure = failureOf({ status, body: fc.stringify(body), headers: {} }, NOW);
      assert.ok(failure.message.length < 900);
      assert.ok(
        failureOf({ status, body: JSON.parse(JSON.stringify(body) ?? "null"), headers: {} }, NOW).message,
      );
    }),
    { numRuns: FULL ? 10_000 : 500 },
  );
});

for (const [headers, expected] of [
  [{ "retry-after": "7" }, 7_000],
  [{ "retry-after": "Wed, 01 Jan 2025 00:00:09 GMT" }, 9_000],
  [{ "retry-after": "Tue, 31 Dec 2024 00:00:00 GMT" }, 0],
  [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(NOW / 1000 + 30) }, 30_000],
  [{ "x-ratelimit-remaining": "12", "x-ratelimit-reset": String(NOW / 1000 + 30) }, null],
  [{ "retry-after": "soon" }, null],
  [{}, null],
] as readonly (readonly [Headers, number | null])[])
  test(`the wait in ${JSON.stringify(headers)} is ${expected}`, () => {
    const body = { message: "You have exceeded a secondary rate limit" };
    assert.equal(failureOf({ status: 429, body, headers }, NOW).retryAfterMs, expected);
  });

test("B06: the sum of the waits of one call never passes the bound, whatever GitHub asks for", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 200_000 }))), (asked) => {
      let waited = 0;
      asked.every((retryAfterMs, index) => {
        const failure: GitHubFailure = { code: "rate_limited", status: 429, message: "", retryAfterMs };
        const progress = { kind: "write", broken: 0, limited: index + 1, limitWaitMs: waited } as const;
        const wait = nextWait(failure, progress);
        waited += wait ?? 0;
        return wait !== null;
      });
      assert.ok(waited <= MAX_LIMIT_WAIT_MS);
    }),
    { numRuns: FULL ? 10_000 : 1_000 },
  );
});

test("only server and network failures are tried again, and only for reads", () => {
  const codes: readonly GitHubFailure["code"][] = [
    "not_found",
    "forbidden",
    "permission_missing",
    "unauthorized",
    "invalid",
    "conflict",
    "too_long",
    "locked",
    "cancelled",
    "server_error",
    "unreachable",
  ];
  for (const code of codes)
    for (const kind of ["read", "write"] as const) {
      const failure = { code, status: null, message: "", retryAfterMs: null };
      const wait = nextWait(failure, { kind, broken: 1, limited: 0, limitWaitMs: 0 });
      const again = kind === "read" && (code === "server_error" || code === "unreachable");
      assert.equal(wait !== null, again, `${kind} ${code}`);
    }
});

const ROLES: readonly (readonly [string, CollaboratorAnswer])[] = [
  ["admin", { permission: "admin", role_name: "admin" }],
  ["maintain", { permission: "write", role_name: "maintain" }],
  ["write", { permission: "write", role_name: "write" }],
  ["triage", { permission: "read", role_name: "triage" }],
  ["read", { permission: "read", role_name: "read" }],
  ["none", { permission: "none", role_name: "" }],
  ["write", { permission: "write", role_name: "Release captain" }],
  [
    "maintain",
    { permission: "write", role_name: "Release captain", user: { permissions: { maintain: true } } },
  ],
  ["triage", { permission: "read", role_name: "Helper", user: { permissions: { triage: true } } }],
  ["read", { permission: "read" }],
  // A role's name cannot raise anybody above the base that GitHub states.
  ["read", { permission: "read", role_name: "admin" }],
  ["read", { permission: "read", role_name: "maintain" }],
  ["write", { permission: "write", role_name: "admin" }],
  ["none", { permission: "none", role_name: "maintain" }],
  ["none", { permission: "something new", role_name: "write" }],
];

for (const [role, answer] of ROLES)
  test(`${JSON.stringify(answer)} is ${role}`, () => {
    assert.equal(roleOf(answer), role);
  });

test("F19: missing permissions are named with the level that is needed", () => {
  const wanted = { metadata: "read", contents: "write", issues: "write", pull_requests: "write" } as const;
  assert.deepEqual(missingPermissions(wanted, { contents: "read", issues: "write" }), [
    "contents: write",
    "pull_requests: write",
  ]);
  assert.deepEqual(
    missingPermissions(wanted, { contents: "admin", issues: "write", pull_requests: "write" }),
    [],
  );
});
