/** What of a manifest installs something, per ecosystem: the one half of each pair does, the other does not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { changedDependencies } from "#src/verify/dependencies.ts";

/** Path, the text before, one that installs something else, one that does not. */
const PAIRS: readonly (readonly [path: string, before: string, other: string, same: string])[] = [
  [
    "package.json",
    '{"version":"1.0.0","scripts":{"test":"a"},"dependencies":{"a":"1"}}',
    '{"version":"1.0.0","scripts":{"test":"a"},"dependencies":{"a":"2"}}',
    '{"version":"2.0.0","scripts":{"test":"b"},"dependencies":{"a":"1"}}',
  ],
  ["requirements.txt", "a==1\n", "a==1\nb\n", "# why\na==1\n"],
  [
    "pyproject.toml",
    '[project]\nname = "x"\ndependencies = ["a"]\n',
    '[project]\nname = "x"\ndependencies = ["b"]\n',
    '[project]\nname = "y"\ndependencies = ["a"]\n',
  ],
  [
    "crates/one/Cargo.toml",
    '[package]\nname = "x"\nversion = "1.0.0"\n\n[dev-dependencies]\na = "1"\n',
    '[package]\nname = "x"\nversion = "1.0.0"\n\n[dev-dependencies]\na = { version = "1", features = ["b"] }\n',
    '[package]\nname = "x"\nversion = "1.0.1"\ndescription = "new"\n\n[dev-dependencies]\n# why\na = "1"\n',
  ],
  [
    "go.mod",
    "module m\n\ngo 1.22\n\nrequire a.org/b v1.0.0\n",
    "module m\n\ngo 1.22\n\nrequire a.org/b v1.1.0\n",
    "module m\n\ngo 1.22\n// why\n\nrequire a.org/b v1.0.0 // indirect\n",
  ],
  [
    "pom.xml",
    "<project><version>1</version><dependencies><dependency><artifactId>a</artifactId></dependency></dependencies></project>",
    "<project><version>1</version><dependencies><dependency><artifactId>b</artifactId></dependency></dependencies></project>",
    "<project><version>2</version><!-- why --><dependencies>\n <dependency><artifactId>a</artifactId></dependency></dependencies></project>".replace(
      "<dependencies>\n <",
      "<dependencies><",
    ),
  ],
  [
    "build.gradle.kts",
    'dependencies { a("b") }\n',
    'dependencies { a("c") }\n',
    '// why\ndependencies { a("b") }\n',
  ],
  ["Gemfile", "gem 'a'\n", "gem 'a', '2'\n", "# why\ngem 'a'\n"],
  [
    "composer.json",
    '{"description":"x","require":{"a/b":"1"}}',
    '{"description":"x","require":{"a/b":"2"}}',
    '{"description":"y","require":{"a/b":"1"}}',
  ],
];

for (const [path, before, other, same] of PAIRS) {
  test(`${path}: only what installs something counts as a change of dependencies`, () => {
    const change = (after: string) =>
      changedDependencies({
        changes: [{ path, status: "modified", mode: "100644", sha256: "0", added: 1, removed: 1 }],
        baseText: () => before,
        patchedText: () => after,
      });
    assert.deepEqual(change(other), [path]);
    assert.deepEqual(change(same), []);
  });
}

test("any change of a lock file, or of where packages come from, counts", () => {
  const paths = [
    "Cargo.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "pnpm-lock.yaml",
    "uv.lock",
    ".npmrc",
    "rust-toolchain.toml",
  ];
  const changes = paths.map((path) => ({
    ...{ path, status: "modified", mode: "100644", sha256: "0", added: 1, removed: 1 },
  })) as Parameters<typeof changedDependencies>[0]["changes"];
  assert.deepEqual(changedDependencies({ changes, baseText: () => "a", patchedText: () => "b" }), paths);
});
