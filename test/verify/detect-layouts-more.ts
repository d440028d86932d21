/** Tiny repositories of script languages, of scripts alone, and monorepos. */

import { type Layout, pkg, script } from "./detect-layouts.ts";

export const SCRIPTED: readonly Layout[] = [
  {
    name: "rspec with bundler",
    files: { Gemfile: 'ruby "3.3.1"\ngem "rspec"\n', "Gemfile.lock": "", "spec/a_spec.rb": "" },
    test: "bundle exec rspec",
    runner: "rspec",
    setup: /BUNDLE_FROZEN=true bundle install/,
    needs: ["ruby 3.3.1 (Gemfile)"],
  },
  {
    name: "rspec without bundler",
    files: { "spec/a_spec.rb": "" },
    test: "rspec",
    runner: "rspec",
    setup: null,
  },
  {
    name: "rails",
    files: { Gemfile: "", "bin/rails": "", "test/models/a_test.rb": "", ".ruby-version": "3.2.2\n" },
    test: "bin/rails test",
    runner: "minitest",
    needs: ["ruby 3.2.2 (.ruby-version)"],
  },
  {
    name: "rake and minitest",
    files: { Rakefile: 'Rake::TestTask.new { |t| t.pattern = "test/**/*_test.rb" }', "test/a_test.rb": "" },
    test: "rake test",
    runner: "minitest",
    because: /Rakefile/,
  },
  {
    name: "minitest files alone",
    files: { "test/test_a.rb": "" },
    test: `ruby -Itest -Ilib -e "Dir['test/**/{*_test,test_*}.rb'].sort.each { |f| require File.expand_path(f) }"`,
    runner: "minitest",
  },
  {
    name: "phpunit of composer",
    files: {
      "composer.json": pkg({ require: { php: "^8.2" }, "require-dev": { "phpunit/phpunit": "^11" } }),
      "phpunit.xml.dist": "",
      "tests/ATest.php": "",
    },
    test: "vendor/bin/phpunit",
    runner: "phpunit",
    setup: /composer install/,
    needs: ["php ^8.2 (composer.json)"],
  },
  {
    name: "a composer script",
    files: {
      "composer.json": pkg({
        scripts: { test: ["@lint", "@unit"], lint: "x", unit: "phpunit" },
        require: { "a/b": "1" },
      }),
    },
    test: "composer test",
    because: /scripts\.test in composer\.json/,
  },
  {
    name: "pest",
    files: { "composer.json": pkg({ "require-dev": { "pestphp/pest": "^3" } }), "phpunit.xml": "" },
    test: "vendor/bin/pest",
    runner: "phpunit",
  },
  {
    name: "elixir",
    files: { "mix.exs": 'def project, do: [elixir: "~> 1.16"]', "mix.lock": "", "test/a_test.exs": "" },
    test: "mix test",
    runner: "mix",
    setup: /mix deps\.get/,
    needs: ["elixir ~> 1.16 (mix.exs)"],
  },
  {
    name: "perl",
    files: { "t/a.t": "", cpanfile: "requires 'perl', '5.036';\n" },
    test: "prove -lr t",
    runner: "prove",
    setup: /cpanm/,
    needs: ["perl ≥ 5.036 (cpanfile)"],
  },
  { name: "bats", files: { "test/a.bats": "" }, test: "bats -r test", runner: "bats" },
  {
    name: "bats within the repository",
    files: { "test/bats/bin/bats": "", "test/a.bats": "" },
    test: "./test/bats/bin/bats -r test",
    runner: "bats",
  },
  {
    name: "script/test",
    files: { "script/test": "#!/usr/bin/env bash\nset -e\npython3 -m pytest\n" },
    test: "bash script/test",
    runner: "pytest",
    because: /script\/test/,
  },
  {
    name: "run_tests.sh without an interpreter",
    files: { "run_tests.sh": "./a\n" },
    test: "sh run_tests.sh",
    runner: "unknown",
  },
  {
    name: "just",
    files: { justfile: "build:\n  x\n\ntest: build\n  cargo test\n" },
    test: "just test",
    runner: "cargo",
  },
  {
    name: "a task file",
    files: { "Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds: [go test ./...]\n" },
    test: "task test",
    runner: "go",
  },
  {
    name: "make check before a script",
    files: { Makefile: "check:\n\tprove t\n", "test.sh": "" },
    test: "make check",
    runner: "prove",
    note: /Not run: `sh test\.sh`/,
  },
];

export const MONOREPOS: readonly Layout[] = [
  {
    name: "G10: the changed package of a monorepo",
    near: ["packages/b/src/x.js", "packages/b/test/x.test.js"],
    files: {
      "package.json": pkg({ workspaces: ["packages/*"] }),
      "package-lock.json": "{}",
      "packages/a/package.json": pkg({ scripts: { test: "jest" } }),
      "packages/b/package.json": pkg({ scripts: { test: "vitest run" } }),
    },
    test: "npm test",
    runner: "vitest",
    directory: "packages/b",
    setup: /^npm ci/,
    note: /changed files lie in packages\/b/,
  },
  {
    name: "G10: changes in two packages are the root's",
    near: ["packages/a/x.js", "packages/b/x.js"],
    files: {
      "package.json": pkg({ workspaces: ["packages/*"] }),
      "packages/a/package.json": pkg({ scripts: { test: "jest" } }),
      "packages/b/package.json": pkg({ scripts: { test: "jest" } }),
    },
    test: "npm test --workspaces --if-present",
    runner: "jest",
  },
  {
    name: "G10: a changed package without tests is the root's",
    near: ["packages/c/x.js"],
    files: { ...script("jest"), "packages/c/package.json": "{}" },
    test: "npm test",
    runner: "jest",
  },
  {
    name: "G10: a changed crate among other languages",
    near: ["native/src/lib.rs"],
    files: { ...script("jest"), "native/Cargo.toml": "[package]\n" },
    test: "cargo test --no-fail-fast",
    runner: "cargo",
    directory: "native",
  },
  {
    name: "the only project below a bare root",
    files: { "README.md": "", "backend/go.mod": "module x\n", "backend/a_test.go": "" },
    test: "go test ./...",
    runner: "go",
    directory: "backend",
    note: /only directory with tests/,
  },
  {
    name: "G10: several projects below a bare root are no guess",
    files: {
      "api/go.mod": "module x\n",
      "api/a_test.go": "",
      "web/package.json": pkg({ scripts: { test: "jest" } }),
      "tool/Cargo.toml": "[package]",
    },
    test: null,
    note: /Tests were found in api, tool, web/,
  },
  {
    name: "examples and fixtures are no projects",
    files: {
      "examples/a/package.json": pkg({ scripts: { test: "jest" } }),
      "examples/b/package.json": pkg({ scripts: { test: "jest" } }),
    },
    test: null,
  },
];
