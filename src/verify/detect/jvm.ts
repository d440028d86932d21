/** Detection for Java, Kotlin and their kin: Gradle or Maven, by the repository's wrapper where it has one. */

import { filling } from "../package-caches.ts";
import type { Detected, DetectedCommand } from "../verify.ts";
import { below } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { inside, upwards } from "./manifests.ts";

const GRADLE_FILES = ["settings.gradle.kts", "settings.gradle", "build.gradle.kts", "build.gradle"] as const;
const TESTS = /(?:^|\/)src\/(?:test|\w+Test)\/(?:java|kotlin|groovy|scala)\//;

interface Build {
  readonly kind: "gradle" | "maven";
  /** The root of a build with modules: there its wrapper and its settings lie. */
  readonly root: string;
  readonly file: string;
  readonly program: string;
}

/** The outermost build file upwards counts: a module alone cannot be built without its parent. */
function buildOf(tree: Tree, directory: string): Build | null {
  let found: Build | null = null;
  for (const here of upwards(directory)) {
    const gradle = GRADLE_FILES.find((name) => tree.has(inside(here, name)));
    if (gradle !== undefined) {
      const program = tree.has(inside(here, "gradlew")) ? "./gradlew" : "gradle";
      found = { kind: "gradle", root: here, file: inside(here, gradle), program };
      if (gradle.startsWith("settings")) break;
    } else if (tree.has(inside(here, "pom.xml")) && found?.kind !== "gradle") {
      const program = tree.has(inside(here, "mvnw")) ? "./mvnw" : "mvn";
      found = { kind: "maven", root: here, file: inside(here, "pom.xml"), program };
    }
  }
  return found;
}

function setupOf(build: Build): DetectedCommand {
  const { program, root, file } = build;
  // What only a run of the tests resolves (their engine, the runtime class path) is fetched by one whose result does not count.
  const command =
    build.kind === "gradle"
      ? `${program} --no-daemon testClasses && { ${program} --no-daemon --continue test || true; }`
      : `${program} -B test-compile && { ${program} -B -fae test || true; }`;
  return {
    command: build.kind === "maven" ? filling(["MAVEN_USER_HOME"], command) : command,
    directory: root,
    because: file,
  };
}

export async function jvmSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const build = buildOf(tree, directory);
  return build === null ? null : setupOf(build);
}

/** `services/pay` is Gradle's project `:services:pay`. */
function gradleTask(build: Build, directory: string): string {
  if (directory === build.root) return "test";
  const below = build.root === "." ? directory : directory.slice(build.root.length + 1);
  return `:${below.replaceAll("/", ":")}:test`;
}

export async function detectJvm(tree: Tree, directory: string): Promise<Detected | null> {
  const build = buildOf(tree, directory);
  if (build === null) return null;
  const [first] = below(tree, directory, TESTS);
  if (first === undefined) return null;
  const module = build.root === "." ? directory : directory.slice(build.root.length + 1);
  const command =
    build.kind === "gradle"
      ? `${build.program} --no-daemon --offline --continue ${gradleTask(build, directory)}`
      : `${build.program} -B -o -fae${directory === build.root ? "" : ` -pl '${module}' -am`} test`;
  return {
    setup: setupOf(build),
    test: { command, directory: build.root, runner: build.kind, because: `${build.file} and ${first}` },
    notes: [],
  };
}
