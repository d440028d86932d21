/** The package managers that set-up is tried with, and what each installs. */

import { GO_SUM } from "#test/support/package-archives.ts";

export interface Case {
  readonly name: string;
  /** The program on the host; `npm:` has it fetched from the npm registry for the test. */
  readonly program: string;
  /** `host`: of the registry, for tools that know no mirror and read the project's own file. */
  readonly files: (host: string) => Readonly<Record<string, string>>;
  readonly setup: string;
  /** Run without a network in a copy of the workspace; null: the version that is here cannot. */
  readonly afterwards: string | null;
  /** Of the downloaded package, in the registry. */
  readonly download: RegExp;
}

const PACKAGE_JSON = JSON.stringify({
  ...{ name: "root", version: "1.0.0", private: true },
  dependencies: { tinydep: "1.0.0" },
  // pnpm asks which packages may run scripts.
  pnpm: { onlyBuiltDependencies: ["tinydep"] },
});
const IS_THERE = `node -e 'require("tinydep") === 42 || process.exit(1)'`;

export const CASES: readonly Case[] = [
  {
    name: "npm",
    program: "npm",
    files: () => ({ "package.json": PACKAGE_JSON }),
    setup: "npm install --no-audit --no-fund",
    afterwards: `npm ls && ${IS_THERE}`,
    download: /tinydep-1\.0\.0\.tgz$/,
  },
  {
    name: "pnpm",
    program: "npm:pnpm@10",
    files: () => ({ "package.json": PACKAGE_JSON }),
    setup: "node /tools/node_modules/pnpm/bin/pnpm.cjs install --no-frozen-lockfile",
    afterwards: `${IS_THERE} && ! find node_modules -type f -links +1 | grep .`,
    download: /tinydep-1\.0\.0\.tgz$/,
  },
  {
    name: "Yarn 1",
    program: "npm:yarn@1.22.22",
    files: () => ({ "package.json": PACKAGE_JSON }),
    setup: "node /tools/node_modules/yarn/bin/yarn.js install --no-lockfile",
    afterwards: IS_THERE,
    download: /tinydep-1\.0\.0\.tgz$/,
  },
  {
    name: "Yarn 4 with Plug'n'Play",
    program: "npm:@yarnpkg/cli-dist@4",
    files: () => ({ "package.json": PACKAGE_JSON, ".yarnrc.yml": "unsafeHttpWhitelist: ['127.0.0.1']\n" }),
    setup: "node /tools/node_modules/@yarnpkg/cli-dist/bin/yarn.js install --no-immutable",
    afterwards: `node /tools/node_modules/@yarnpkg/cli-dist/bin/yarn.js ${IS_THERE}`,
    download: /tinydep-1\.0\.0\.tgz$/,
  },
  {
    name: "pip",
    program: "python3",
    files: () => ({ "requirements.txt": "tinydep==1.0.0\n" }),
    setup:
      "python3 -m venv /workspace/.venv && .venv/bin/python -m pip install --trusted-host 127.0.0.1 -r requirements.txt",
    afterwards: ".venv/bin/python -c 'import tinydep; assert tinydep.ANSWER == 42'",
    download: /\.whl$/,
  },
  {
    name: "Cargo",
    program: "cargo",
    files: () => ({
      "Cargo.toml":
        '[package]\nname = "root"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\ntinydep = "1.0.0"\n',
      "src/lib.rs": "#[test]\nfn answers() {\n    assert_eq!(tinydep::ANSWER, 42);\n}\n",
    }),
    setup: "cargo fetch",
    afterwards: "cargo test --quiet",
    download: /\/download$/,
  },
  {
    name: "Maven",
    program: "mvn",
    files: () => ({
      "pom.xml":
        "<project><modelVersion>4.0.0</modelVersion><parent><groupId>tiny</groupId><artifactId>tinydep</artifactId><version>1.0.0</version><relativePath/></parent><artifactId>root</artifactId><packaging>pom</packaging></project>\n",
    }),
    setup: "mvn -B -q validate",
    afterwards: "mvn -B -q validate",
    download: /\.pom$/,
  },
  {
    name: "Poetry",
    program: "poetry",
    files: (host) => ({
      "pyproject.toml": `[tool.poetry]\nname = "root"\nversion = "0.1.0"\ndescription = ""\nauthors = []\n\n[tool.poetry.dependencies]\npython = ">=3.9"\ntinydep = "1.0.0"\n\n[[tool.poetry.source]]\nname = "ours"\nurl = "http://${host}/simple/"\ndefault = true\n\n[build-system]\nrequires = ["poetry-core"]\nbuild-backend = "poetry.core.masonry.api"\n`,
      "root/__init__.py": "",
    }),
    setup: "poetry install --no-interaction --all-extras",
    afterwards: "poetry run python -c 'import root, tinydep; assert tinydep.ANSWER == 42'",
    download: /\.whl$/,
  },
  {
    name: "Go",
    program: "go",
    files: () => ({
      "go.mod": "module example.org/root\n\ngo 1.18\n\nrequire example.org/tinydep v1.0.0\n",
      "go.sum": GO_SUM,
      "root_test.go":
        'package root\n\nimport (\n\t"testing"\n\n\t"example.org/tinydep"\n)\n\nfunc TestAnswer(t *testing.T) {\n\tif tinydep.Answer != 42 {\n\t\tt.Fatal(tinydep.Answer)\n\t}\n}\n',
    }),
    setup: "go mod download",
    afterwards: "go test ./...",
    download: /\.zip$/,
  },
  {
    name: "Bundler",
    program: "bundle",
    files: () => ({ Gemfile: 'source "https://rubygems.org"\n\ngem "tinydep", "1.0.0"\n' }),
    setup: "bundle install",
    afterwards: `bundle exec ruby -e 'require "tinydep"; exit(TINYDEP == 42)'`,
    download: /\.gem$/,
  },
  {
    name: "Composer",
    program: "composer",
    files: () => ({ "composer.json": JSON.stringify({ require: { "tiny/tinydep": "1.0.0" } }) }),
    setup: "composer install --no-interaction --no-progress --prefer-dist",
    afterwards: `composer show tiny/tinydep && php -r 'require "vendor/autoload.php"; exit(TINYDEP === 42 ? 0 : 1);'`,
    download: /dist\/.*\.zip$/,
  },
  {
    name: "Gradle",
    program: "gradle",
    files: (host) => ({
      "settings.gradle": "",
      "build.gradle": `repositories { maven { url "http://${host}/maven" } }\nconfigurations { tiny }\ndependencies { tiny "tiny:tinyjar:1.0.0" }\ntask answer { doLast { assert configurations.tiny.singleFile.name == "tinyjar-1.0.0.jar" } }\n`,
    }),
    setup: "gradle --no-daemon answer",
    // Debian's Gradle is older than 6.2, the first that reads a cache which it cannot write.
    afterwards: null,
    download: /\.jar$/,
  },
];
