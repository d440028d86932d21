/** What is let in as an address, a branch and a path. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { allowUrl, isBranchName, isPlainName, isTreePath } from "#src/workspace/names.ts";

const HOSTS = ["github.com", "127.0.0.1:4000", "localhost", "GHE.example.com"];

const refusedUrls = [
  "http://github.com/o/n.git",
  "https://evil.example/o/n.git",
  "https://github.com:444/o/n.git",
  "https://x-access-token:ghs_TESTSECRETTESTSECRET@github.com/o/n.git",
  "https://github.com/o/n.git?x=1",
  "https://github.com/",
  "http://127.0.0.1:4001/o/n.git",
  "http://ghe.example.com/o/n.git",
  "git://github.com/o/n.git",
  "ssh://git@github.com/o/n.git",
  "git@github.com:o/n.git",
  "ext::sh -c touch% /tmp/x",
  "-u./payload",
  "file:///etc",
  "file:///srv/repo/../other",
  "/srv/repo",
  "",
];
for (const url of refusedUrls) {
  test(`E11: the address ${JSON.stringify(url)} is refused`, () => {
    const result = allowUrl(url, HOSTS, ["/srv/repo"]);
    assert.equal(result.ok, false);
    assert.equal(!result.ok && result.error.code, "refused_url");
    assert.doesNotMatch(JSON.stringify(result), /TESTSECRET/);
  });
}

for (const [url, protocol] of [
  ["https://github.com/o/n.git", "https"],
  ["https://ghe.example.com/o/n", "https"],
  ["http://127.0.0.1:4000/o/n.git", "http"],
  ["http://localhost:1234/o/n.git", "http"],
  ["file:///srv/repo", "file"],
] as const) {
  test(`the address ${url} is let in`, () => {
    assert.deepEqual(allowUrl(url, HOSTS, ["/srv/repo"]), { ok: true, value: { url, protocol } });
  });
}

test("H08: branch names follow git's rules, odd ones included", () => {
  const good = [
    "main",
    "a/b",
    `main;touch${"$"}{IFS}/tmp/x`,
    "`id`",
    "$(id)",
    "-x",
    "ü",
    "a'b\"c",
    "--upload-pack=x",
    "a&b|c",
  ];
  const bad = [
    "",
    "@",
    "a b",
    "a..b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "/a",
    "a/",
    "a//b",
    ".a",
    "a/.b",
    "a.lock",
    "a.",
    "a@{b",
    "a\nb",
    "a\u007f",
  ];
  for (const name of good) assert.equal(isBranchName(name), true, name);
  for (const name of bad) assert.equal(isBranchName(name), false, name);
});

test("a path in a tree is relative, normal and has no spelling of .git", () => {
  const good = ["a", "a/b c", ".gitignore", ".github/x", "a.git/x", "git~2", "$(x).js", "-rf", "a\\b", ":x"];
  const bad = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    "./a",
    ".git",
    ".git/config",
    "a/.GIT/x",
    "GIT~1",
    ".git ",
    ".git.",
    ".g\u200cit/x",
    ".git::$INDEX_ALLOCATION/x",
    "a\\.git",
    "a\\.git\\b",
    "a\0b",
  ];
  for (const path of good) assert.equal(isTreePath(path), true, path);
  for (const path of bad) assert.equal(isTreePath(path), false, JSON.stringify(path));
});

test("names of directories hold no separator and do not start with a dot", () => {
  for (const name of ["work-1", "01jabc", "a.b_c"]) assert.equal(isPlainName(name), true);
  for (const name of ["", ".", "..", ".x", "a/b", "a b", "-x", "x".repeat(101)])
    assert.equal(isPlainName(name), false, name);
});
