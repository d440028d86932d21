/** Detection for Ruby: rspec by its folder, minitest by rails, rake or its files; gems by Bundler. */

import type { Detected, DetectedCommand, DetectedSuite } from "../verify.ts";
import { below, firstText } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

export async function rubySetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "Gemfile")));
  if (home === undefined) return null;
  const locked = tree.has(inside(home, "Gemfile.lock"));
  return {
    command: `${locked ? "BUNDLE_FROZEN=true " : ""}bundle install`,
    directory: home,
    because: inside(home, locked ? "Gemfile.lock" : "Gemfile"),
  };
}

async function suiteOf(tree: Tree, directory: string): Promise<DetectedSuite | null> {
  const bundled = upwards(directory).some((here) => tree.has(inside(here, "Gemfile")));
  const start = bundled ? "bundle exec " : "";
  const [spec] = below(tree, directory, /^spec\/.*_spec\.rb$/);
  if (spec !== undefined) return { command: `${start}rspec`, directory, runner: "rspec", because: spec };
  const [first] = below(tree, directory, /^test\/.*(?:_test|test_[^/]*)\.rb$/);
  if (first === undefined) return null;
  if (tree.has(inside(directory, "bin/rails")))
    return { command: "bin/rails test", directory, runner: "minitest", because: `bin/rails and ${first}` };
  const rakefile = await firstText(tree, directory, ["Rakefile", "rakefile", "Rakefile.rb"]);
  if (rakefile !== null && /TestTask|task\s*\(?:?["']?:?test\b|Minitest::TestTask/.test(rakefile.text))
    return { command: `${start}rake test`, directory, runner: "minitest", because: rakefile.path };
  const files = "Dir['test/**/{*_test,test_*}.rb'].sort.each { |f| require File.expand_path(f) }";
  return {
    command: `${start}ruby -Itest -Ilib -e "${files}"`,
    directory,
    runner: "minitest",
    because: first,
  };
}

export async function detectRuby(tree: Tree, directory: string): Promise<Detected | null> {
  const test = await suiteOf(tree, directory);
  return test === null ? null : { setup: await rubySetup(tree, directory), test, notes: [] };
}
