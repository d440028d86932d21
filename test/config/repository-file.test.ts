/** `.github/agent-fix.yml` can only tighten, names everything that is wrong with it, and hostile keys have no effect. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { protectingGlob } from "#src/config/protected-paths.ts";
import {
  mergeRepositoryFile,
  type OperatorLimits,
  parseRepositoryFile,
  type RepositorySettings,
  readRepositorySettings,
} from "#src/config/repository-file.ts";
import { FULL } from "#test/support/tier.ts";

const OPERATOR: OperatorLimits = {
  model: "gpt-5",
  modelsAllowed: ["gpt-5-mini"],
  imagesAllowed: ["node:24"],
  networkAllow: ["registry.npmjs.org", "pypi.org"],
  protectedExcept: [],
  budgetUsd: 5,
  maxTurns: 50,
  maxMinutes: 30,
};

function read(text: string | null): RepositorySettings {
  const settings = readRepositorySettings(OPERATOR, text);
  assert.ok(settings.ok, settings.ok ? "" : settings.error.join("\n"));
  return settings.value;
}

function errorsOf(text: string): readonly string[] {
  const parsed = parseRepositoryFile(text);
  return parsed.ok ? [] : parsed.error;
}

const DEFAULTS: RepositorySettings = {
  setup: null,
  test: null,
  checks: { lint: null, format: null, typecheck: null },
  workingDirectory: null,
  targetBranch: null,
  instructions: null,
  image: null,
  model: "gpt-5",
  networkAllow: ["registry.npmjs.org", "pypi.org"],
  protectedPaths: { added: [], except: [] },
  approvers: null,
  approverPermission: "write",
  budget: { usd: 5, turns: 50, minutes: 30 },
  gates: ["change"],
  notes: [],
};

describe("the repository file", () => {
  for (const [name, text] of [
    ["no file", null],
    ["an empty file", ""],
    ["only comments", "# nothing\n"],
    ["an empty map", "{}"],
    ["keys without values", "test:\nbudget:\nprotected:\n"],
  ] as const) {
    test(`${name} means the operator's settings`, () => {
      assert.deepEqual(read(text), DEFAULTS);
    });
  }

  test("with everything in it is taken where it tightens", () => {
    const text = `
setup: npm ci --offline
test: npm test
checks: { lint: npm run lint, format: npm run format, typecheck: tsc }
working_directory: ./packages/a/
target_branch: release/1.x
instructions: |
  Be brief.
image: node:24
model: gpt-5-mini
network: { allow: [PyPI.org] }
protected: [migrations/**]
approvers: ["@Alice", bob, "@Acme/Core.Team"]
approver_permission: maintain
budget: { usd: 2, turns: 10, minutes: 5 }
gates: [intent]
`;
    assert.deepEqual(read(text), {
      setup: "npm ci --offline",
      test: "npm test",
      checks: { lint: "npm run lint", format: "npm run format", typecheck: "tsc" },
      workingDirectory: "packages/a",
      targetBranch: "release/1.x",
      instructions: "Be brief.\n",
      image: "node:24",
      model: "gpt-5-mini",
      networkAllow: ["pypi.org"],
      protectedPaths: { added: ["migrations/**"], except: [] },
      approvers: ["alice", "bob", "acme/core.team"],
      approverPermission: "maintain",
      budget: { usd: 2, turns: 10, minutes: 5 },
      gates: ["intent", "change"],
      notes: [],
    });
  });

  test("wishes beyond the operator's lists are refused and named", () => {
    const settings = read(
      "model: huge\nimage: evil\nnetwork: {allow: [pypi.org, evil.example]}\nbudget: {usd: 99, turns: 999, minutes: 999}\n",
    );
    assert.deepEqual({ ...settings, notes: [] }, { ...DEFAULTS, networkAllow: ["pypi.org"] });
    assert.deepEqual(settings.notes, [
      'model: "huge" is not among what the operator allows (gpt-5, gpt-5-mini); gpt-5 is used',
      'image: "evil" is not among what the operator allows (node:24); the usual one is used (IMAGES_ALLOWED)',
      'network.allow: "evil.example" is not among what the operator allows (registry.npmjs.org, pypi.org); it stays closed',
    ]);
  });

  test("H10: keys that would choose an end point, approve by themselves or lift a limit have no effect and are reported", () => {
    const text = `base_url: http://127.0.0.1:9/
auto-approve: true
auto_approve: true
OPENAI_BASE_URL: http://127.0.0.1:9/
sandbox: none
verdict: proven
budget: { usd: 1, unlimited: true }
network: { allow: [], proxy: "http://127.0.0.1:9/" }
gates: []
__proto__: { gates: [] }
constructor: x
`;
    const settings = read(text);
    assert.deepEqual(
      { ...settings, notes: [] },
      { ...DEFAULTS, networkAllow: [], budget: { usd: 1, turns: 50, minutes: 30 } },
    );
    const named = settings.notes.map((note) => /"([^"]+)": no setting of this file/.exec(note)?.[1]);
    assert.deepEqual(named, [
      ...["base_url", "auto-approve", "auto_approve", "OPENAI_BASE_URL", "sandbox", "verdict"],
      ...["budget.unlimited", "network.proxy", "__proto__", "constructor"],
    ]);
    assert.match(settings.notes[1] ?? "", /^line 2: /);
  });

  test("any file that is read only tightens", () => {
    const name = fc.constantFrom(
      "gpt-5",
      "gpt-5-mini",
      "pypi.org",
      "registry.npmjs.org",
      "node:24",
      "other",
      "change",
      "intent",
    );
    const amount = fc.option(fc.double({ min: 0.01, max: 1_000, noNaN: true }), { nil: undefined });
    const file = fc.record(
      {
        model: name,
        image: name,
        network: fc.record({ allow: fc.array(name) }),
        protected: fc.array(name),
        budget: fc.record({
          usd: amount,
          turns: fc.option(fc.integer({ min: 1, max: 999 }), { nil: undefined }),
          minutes: amount,
        }),
        gates: fc.array(fc.constantFrom("change" as const, "intent" as const)),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(file, (wish) => {
        const merged = mergeRepositoryFile(OPERATOR, wish);
        assert.ok(["gpt-5", "gpt-5-mini"].includes(merged.model));
        assert.ok(merged.image === null || merged.image === "node:24");
        assert.ok(merged.networkAllow.every((host) => OPERATOR.networkAllow.includes(host)));
        assert.ok(merged.budget.usd <= 5 && merged.budget.turns <= 50 && merged.budget.minutes <= 30);
        assert.ok(merged.gates.includes("change"));
        assert.notEqual(protectingGlob(".github/workflows/ci.yml", merged.protectedPaths), null);
        assert.deepEqual(JSON.parse(JSON.stringify(merged)), merged, "plain JSON");
      }),
      { numRuns: FULL ? 10_000 : 1_000 },
    );
  });
});

describe("a wrong repository file", () => {
  test("is refused with all its mistakes, each with its line", () => {
    const text = `test: 5
budget:
  usd: -1
  turns: 1.5
working_directory: ../other
target_branch: "a..b"
approvers: [a/b/c]
protected: ["!src/**"]
gates: [never]
network: open
`;
    assert.deepEqual(errorsOf(text), [
      'line 1: "test": must be a shell command (one text)',
      'line 5: "working_directory": must be a directory inside the repository, with forward slashes and without ..',
      'line 6: "target_branch": must be a branch name that git allows, without refs/heads/',
      'line 10: "network": must be a map with allow',
      'line 8: "protected.0": must not start with !: a repository can only protect more',
      'line 7: "approvers.0": must be a GitHub login, or a team as org/team',
      'line 3: "budget.usd": must be an amount in US dollars, more than 0',
      'line 4: "budget.turns": must be a whole number',
      'line 9: "gates.0": must be intent or change',
    ]);
  });

  for (const [name, text] of [
    ["a list", "- a\n- b\n"],
    ["a text", "hello"],
    ["a number", "42"],
    ["broken YAML", "test: [a\n"],
    ["the same key twice", "test: a\ntest: b\n"],
    ["two documents", "test: a\n---\ntest: b\n"],
    ["an alias", "a: &x [1]\nb: *x\n"],
    [
      "an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefgh"
        .split("")
        .map((key, n) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[n]}`).join(",")}]\n`)
        .join("")}`,
    ],
    ["a merge of aliases", "base: &b {test: x}\n<<: *b\n"],
    ["a tag that makes other things", "test: !!js/function 'x'\n"],
    ["a nesting without end", "[".repeat(30_000)],
    ["a nesting with an end", "[".repeat(15_000) + "]".repeat(15_000)],
    ["a list in a list in one line", "- ".repeat(15_000)],
    [
      "a nesting of maps",
      Array.from({ length: 300 }, (_, n) => `${" ".repeat(n)}a:\n`)
        .join("")
        .concat(`${" ".repeat(300)}b: [*x]`),
    ],
    ["too much of it", `instructions: ${"x".repeat(70_000)}`],
    ["binary", "\0\u0001\u0002: \u0003"],
    ["a NUL in a command", 'test: "a\\0b"'],
  ] as const) {
    test(`that is ${name} is refused in a sentence, at once`, () => {
      const before = performance.now();
      const errors = errorsOf(text);
      assert.ok(errors.length > 0);
      for (const error of errors) assert.ok(error.length < 400 && !error.includes("\n"), error);
      assert.ok(performance.now() - before < 10_000);
    });
  }

  for (const branch of [
    "",
    "-x",
    "a b",
    "a~1",
    "refs/heads/a",
    "a.lock",
    "a/.b",
    "a//b",
    "@",
    "a@{1}",
    "a\\b",
    "x".repeat(201),
    "..",
  ]) {
    test(`target branch ${JSON.stringify(branch.slice(0, 20))} is refused`, () => {
      assert.equal(errorsOf(`target_branch: ${JSON.stringify(branch)}`).length, 1);
    });
  }

  for (const directory of ["/etc", "..", "a/../../b", "C:/x", "a\\b", ".git/hooks", "a/.git"]) {
    test(`working directory ${directory} is refused`, () => {
      assert.equal(errorsOf(`working_directory: ${JSON.stringify(directory)}`).length, 1);
    });
  }

  test("no text makes the reader throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab:[]{}&*!|>-#'\"\n ,?%@`t0") }), (text) => {
        parseRepositoryFile(text);
      }),
      { numRuns: FULL ? 10_000 : 1_000 },
    );
  });
});

describe("protected paths", () => {
  const plain = { added: [], except: [] };
  for (const path of [
    ...[
      ".github/workflows/ci.yml",
      ".github/agent-fix.yml",
      ".GitHub/workflows/a.yml",
      ".gitattributes",
      "sub/.gitmodules",
    ],
    ...[
      "a/.git/config",
      ".gitlab-ci.yml",
      ".circleci/config.yml",
      "Jenkinsfile",
      "azure-pipelines.yml",
      ".travis.yml",
    ],
  ]) {
    test(`${path} is protected by default`, () => {
      assert.notEqual(protectingGlob(path, plain), null);
    });
  }

  for (const path of ["src/github/a.ts", "github/x", "docs/.hidden", "git/x", "a.gitx", "README.md"]) {
    test(`${path} may be changed`, () => {
      assert.equal(protectingGlob(path, plain), null);
    });
  }

  test("the repository adds, with and without wildcards, also for hidden files", () => {
    const paths = { added: ["migrations", "secrets/", "*.lock", "deep/**/x"], except: [] };
    assert.equal(protectingGlob("migrations/1.sql", paths), "migrations");
    assert.equal(protectingGlob("secrets/.env", paths), "secrets/");
    assert.equal(protectingGlob("yarn.lock", paths), "*.lock");
    assert.equal(protectingGlob("deep/.a/b/x", paths), "deep/**/x");
    assert.equal(protectingGlob("other/1.sql", paths), null);
  });

  test("the operator's exception lifts the default, never what the repository added", () => {
    const except = [".github/ISSUE_TEMPLATE/**"];
    assert.equal(protectingGlob(".github/ISSUE_TEMPLATE/a.md", { added: [], except }), null);
    assert.notEqual(protectingGlob(".github/workflows/a.yml", { added: [], except }), null);
    assert.notEqual(protectingGlob(".github/ISSUE_TEMPLATE/a.md", { added: [".github/**"], except }), null);
  });

  test("no glob takes long", () => {
    const added = [
      `${"*a".repeat(60)}b`,
      `${"**/".repeat(60)}b`,
      "{a,a}".repeat(10),
      "+(a|aa)+(a|aa)+(a|aa)b",
    ];
    const before = performance.now();
    protectingGlob("a".repeat(200), { added, except: [] });
    assert.ok(performance.now() - before < 10_000);
  });
});
