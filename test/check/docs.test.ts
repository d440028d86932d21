/** The documentation check fails on a dead link, a missing path or command, and a stale page; the project's own pages pass. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { checkDocs, type GeneratedPage } from "#scripts/check/docs.ts";
import { formatProblem } from "#scripts/check/problem.ts";
import { generatedPages } from "#scripts/docs.ts";
import { writeTree } from "#test/support/file-tree.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const TREE = {
  "package.json": JSON.stringify({ scripts: { demo: "x", test: "x", "test:full": "x" } }),
  "docs/a.md": "# Big things, small things\n\n## Twice\n\n## Twice\n",
  "src/cli/serve.ts": "",
};

async function problemsOf(
  readme: string,
  generated: readonly GeneratedPage[] = [],
): Promise<readonly string[]> {
  await using dir = await tempDir();
  await writeTree(dir.path, { ...TREE, "README.md": readme });
  return checkDocs(dir.path, generated).map((problem) => formatProblem(problem).replace(/: .*/, ""));
}

describe("the documentation check", () => {
  for (const [name, text, found] of [
    ["a link to no file", "[a](docs/b.md)", "dead-link"],
    ["a picture that is not there", "![a](docs/a.png)", "dead-link"],
    ["a link out of the repository", "[a](../other/README.md)", "dead-link"],
    ["an anchor of no heading", "[a](docs/a.md#small)", "dead-link"],
    ["an anchor of no heading on the page itself", "# A\n[a](#b)", "dead-link"],
    ["a path in code that is not there", "`src/cli/demo.ts`", "missing-path"],
    ["a command that package.json does not have", "```sh\nnpm ci && npm run bench\n```", "missing-script"],
    ["npm start without a start script", "`npm start`", "missing-script"],
    ["a subcommand that is not there", "```\nbin/agent-fix doctor\n```", "missing-subcommand"],
  ] as const) {
    test(`finds ${name}`, async () => {
      const problems = await problemsOf(`${text}\n`);
      assert.equal(problems.length, 1, problems.join("\n"));
      assert.match(problems[0] ?? "", new RegExp(`^README\\.md:\\d+ {2}${found}$`));
    });
  }

  test("lets good pages pass, and reads no links in code", async () => {
    const text = [
      "# Title",
      "[a](docs/a.md), [b](docs/a.md#big-things-small-things), [c](docs/a.md#twice-1), [d](#title), [e](https://x.test/y)",
      "`src/cli/serve.ts`, `npm run demo`, `npm test`, `npm run test:full`, `agent-fix serve`, the label `agent-fix`",
      "`[x](nowhere.md)` and agent-fix is a tool",
      "```sh\ngit clone x agent-fix && cd agent-fix && agent-fix serve\n[y](nowhere.md)\n```",
    ];
    assert.deepEqual(await problemsOf(text.join("\n\n")), []);
  });

  test("finds a generated page that is missing, and one that is stale", async () => {
    const page = { command: "npm run docs", text: "new\n" };
    assert.deepEqual(await problemsOf("", [{ ...page, path: "docs/b.md" }]), ["docs/b.md:1  stale-page"]);
    assert.deepEqual(await problemsOf("", [{ ...page, path: "docs/a.md" }]), ["docs/a.md:1  stale-page"]);
    assert.deepEqual(await problemsOf("", [{ ...page, path: "docs/a.md", text: TREE["docs/a.md"] }]), []);
  });

  test("finds nothing in this project", () => {
    const root = join(import.meta.dirname, "../..");
    assert.deepEqual(checkDocs(root, generatedPages()).map(formatProblem), []);
  });
});
