/** Detection for Rust: crates are fetched by set-up, the tests of all members of a workspace run to the end. */

import type { Detected, DetectedCommand } from "../verify.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

/** A dependency table that is not empty, in the manifest or one of its members'. */
const DEPENDENCIES =
  /^\s*\[(?:[\w.'"()=-]*\.)?(?:dev-|build-)?dependencies(?:\.[\w-]+)?\]\s*\n(?:\s*#.*\n|\s*\n)*\s*[\w-]+/m;

async function workspaceOf(tree: Tree, directory: string): Promise<string> {
  for (const here of upwards(directory)) {
    const text = await tree.text(inside(here, "Cargo.toml"));
    if (text !== null && /^\s*\[workspace\b/m.test(text)) return here;
  }
  return directory;
}

export async function rustSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "Cargo.toml")));
  if (home === undefined) return null;
  const root = await workspaceOf(tree, home);
  const prefix = root === "." ? "" : `${root}/`;
  for (const path of tree.paths) {
    if (!path.startsWith(prefix) || !/(?:^|\/)Cargo\.toml$/.test(path)) continue;
    if (!DEPENDENCIES.test((await tree.text(path)) ?? "")) continue;
    const locked = tree.has(inside(root, "Cargo.lock"));
    return {
      command: `cargo fetch${locked ? " --locked" : ""}`,
      directory: root,
      because: locked ? inside(root, "Cargo.lock") : path,
    };
  }
  return null;
}

export async function detectRust(tree: Tree, directory: string): Promise<Detected | null> {
  const path = inside(directory, "Cargo.toml");
  const text = await tree.text(path);
  if (text === null) return null;
  const virtual = /^\s*\[workspace\b/m.test(text);
  return {
    setup: await rustSetup(tree, directory),
    test: {
      command: `cargo test${virtual ? " --workspace" : ""} --no-fail-fast`,
      directory,
      runner: "cargo",
      because: path,
    },
    notes: [],
  };
}
