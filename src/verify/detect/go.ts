/** Detection for Go: modules are fetched by set-up, all packages of the module are tested. */

import type { Detected, DetectedCommand } from "../verify.ts";
import { below } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

export async function goSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "go.mod")));
  if (home === undefined) return null;
  const text = (await tree.text(inside(home, "go.mod"))) ?? "";
  const vendored = tree.has(inside(home, "vendor/modules.txt"));
  if (vendored || !/^\s*require\b/m.test(text)) return null;
  return {
    command: "go mod download",
    directory: home,
    because: inside(home, "go.mod"),
  };
}

export async function detectGo(tree: Tree, directory: string): Promise<Detected | null> {
  const module = upwards(directory).find((here) => tree.has(inside(here, "go.mod")));
  if (module === undefined && !tree.has(inside(directory, "go.work"))) return null;
  const tests = below(tree, directory, /_test\.go$/);
  const [first] = tests;
  if (first === undefined) return null;
  const workspace = tree.has(inside(directory, "go.work"));
  const members = below(tree, directory, /(?:^|\/)go\.mod$/).map((path) => path.replace(/\/?go\.mod$/, ""));
  const packages = workspace
    ? members.map((member) => `./${member.slice(directory === "." ? 0 : directory.length + 1)}/...`)
    : ["./..."];
  return {
    setup: await goSetup(tree, directory),
    test: {
      command: `go test ${packages.map((one) => one.replace(".//", "./")).join(" ")}`,
      directory,
      runner: "go",
      because: `${workspace ? inside(directory, "go.work") : inside(module ?? directory, "go.mod")} and ${first}`,
    },
    notes: [],
  };
}
