/** Detection for ecosystems of few rules: .NET, Elixir, Perl, Deno, bats, and scripts by their name. */

import { CACHES, filling } from "../package-caches.ts";
import { recognise } from "../runners.ts";
import type { Detected, DetectedCommand } from "../verify.ts";
import { below, firstText } from "./ecosystem.ts";
import type { Tree } from "./manifests.ts";
import { directoryOf, inside, upwards } from "./manifests.ts";

export async function dotnetSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const [project] = below(tree, directory, /\.(?:sln|slnx|csproj|fsproj|vbproj)$/);
  return project === undefined
    ? null
    : { command: filling(["NUGET_PACKAGES"], "dotnet restore"), directory, because: project };
}

export async function detectDotnet(tree: Tree, directory: string): Promise<Detected | null> {
  for (const path of below(tree, directory, /\.(?:cs|fs|vb)proj$/).slice(0, 60)) {
    if (!/Microsoft\.NET\.Test\.Sdk|MSTest\.Sdk|xunit|NUnit/i.test((await tree.text(path)) ?? "")) continue;
    const solution = below(tree, directory, /^[^/]*\.slnx?$/)[0];
    const target =
      solution === undefined ? ` '${directory === "." ? path : path.slice(directory.length + 1)}'` : "";
    return {
      setup: await dotnetSetup(tree, directory),
      test: { command: `dotnet test${target} --no-restore`, directory, runner: "dotnet", because: path },
      notes: [],
    };
  }
  return null;
}

export async function elixirSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "mix.lock")));
  return home === undefined
    ? null
    : {
        command: filling(
          ["MIX_HOME", "HEX_HOME"],
          "mix local.hex --force --if-missing && mix local.rebar --force --if-missing && MIX_ENV=test mix deps.get",
        ),
        directory: home,
        because: inside(home, "mix.lock"),
      };
}

export async function detectElixir(tree: Tree, directory: string): Promise<Detected | null> {
  const [first] = below(tree, directory, /(?:^|\/)test\/.*_test\.exs$/);
  if (first === undefined || !tree.has(inside(directory, "mix.exs"))) return null;
  return {
    setup: await elixirSetup(tree, directory),
    test: {
      command: "mix test",
      directory,
      runner: "mix",
      because: `${inside(directory, "mix.exs")} and ${first}`,
    },
    notes: [],
  };
}

export async function perlSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "cpanfile")));
  return home === undefined
    ? null
    : {
        command: `cpanm --notest --quiet --local-lib-contained ${CACHES}/perl --installdeps .`,
        directory: home,
        because: inside(home, "cpanfile"),
      };
}

export async function detectPerl(tree: Tree, directory: string): Promise<Detected | null> {
  const [first] = below(tree, directory, /^t\/.*\.t$/);
  if (first === undefined) return null;
  return {
    setup: await perlSetup(tree, directory),
    test: { command: "prove -lr t", directory, runner: "prove", because: first },
    notes: [],
  };
}

const DENO_FILES = ["deno.json", "deno.jsonc"];

export async function denoSetup(tree: Tree, directory: string): Promise<DetectedCommand | null> {
  const home = upwards(directory).find((here) => tree.has(inside(here, "deno.lock")));
  return home === undefined
    ? null
    : {
        command: filling(["DENO_DIR"], "deno install --frozen"),
        directory: home,
        because: inside(home, "deno.lock"),
      };
}

export async function detectDeno(tree: Tree, directory: string): Promise<Detected | null> {
  const manifest = await firstText(tree, directory, DENO_FILES);
  if (manifest === null) return null;
  const task = /"test"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|\{[^}]*"command"\s*:\s*"((?:[^"\\]|\\.)*)")/.exec(
    manifest.text,
  );
  const text = task?.[1] ?? task?.[2] ?? null;
  const [first] = below(tree, directory, /(?:[._]test|(?:^|\/)test)\.(?:m?[jt]sx?)$/);
  if (text === null && first === undefined) return null;
  const direct = text !== null && /^deno test(?:\s[^&|;]*)?$/.test(text) ? text : null;
  return {
    setup: await denoSetup(tree, directory),
    test: {
      // A task runs in deno's own shell, where no report can be added: a plain call is made directly.
      command: text === null ? "deno test --allow-all" : (direct ?? "deno task test"),
      directory,
      runner: text === null || direct !== null ? "deno" : recognise(text),
      because: text === null ? `${manifest.path} and ${first}` : `tasks.test in ${manifest.path}`,
    },
    notes: [],
  };
}

export async function detectBats(tree: Tree, directory: string): Promise<Detected | null> {
  const tests = below(tree, directory, /\.bats$/).filter((path) => !/(?:^|\/)(?:bats|libs?)\//.test(path));
  const [first] = tests;
  if (first === undefined) return null;
  const own = below(tree, directory, /(?:^|\/)bats(?:-core)?\/bin\/bats$/)[0];
  const relative = (path: string) => (directory === "." ? path : path.slice(directory.length + 1));
  const folders = [...new Set(tests.map((path) => relative(path).split("/").slice(0, -1)[0] ?? "."))];
  return {
    setup: null,
    test: {
      command: `${own === undefined ? "bats" : `./${relative(own)}`}${folders.includes(".") ? "" : " -r"} ${folders.map((one) => (one === "." ? "*.bats" : one)).join(" ")}`,
      directory,
      runner: "bats",
      because: first,
    },
    notes: [],
  };
}

const SCRIPTS = [
  "script/test",
  "scripts/test",
  "bin/test",
  "script/cibuild",
  "test.sh",
  "tests.sh",
  "run-tests.sh",
  "run_tests.sh",
  "runtests.sh",
  "scripts/test.sh",
  "scripts/run-tests.sh",
  "test/run.sh",
  "tests/run.sh",
];

export async function detectScript(tree: Tree, directory: string): Promise<Detected | null> {
  const script = await firstText(tree, directory, SCRIPTS);
  if (script === null) return null;
  const interpreter = /^#!\s*(?:\/usr\/bin\/env\s+)?(?:\S*\/)?([\w.+-]+)/.exec(script.text)?.[1];
  const path = directory === "." ? script.path : script.path.slice(directory.length + 1);
  const runner = recognise(script.text);
  return {
    setup: null,
    test: {
      // The executable bit may be missing, and a checkout on some systems loses it.
      command: `${interpreter ?? "sh"} ${path}`,
      directory,
      runner: runner === "unknown" ? "unknown" : runner,
      because: script.path,
    },
    notes: directoryOf(script.path) === "bin" ? [`${script.path} was taken for the tests by its name.`] : [],
  };
}

export async function detectTaskFile(tree: Tree, directory: string): Promise<Detected | null> {
  const just = await firstText(tree, directory, ["justfile", "Justfile", ".justfile"]);
  const recipe = just === null ? null : /^@?test(?:\s[^:=]*)?:(?!=).*\n((?:[ \t]+.*\n?)*)/m.exec(just.text);
  if (just !== null && recipe !== null)
    return {
      setup: null,
      test: {
        command: "just test",
        directory,
        runner: recognise(recipe[1] ?? ""),
        because: `recipe test in ${just.path}`,
      },
      notes: [],
    };
  const task = await firstText(tree, directory, ["Taskfile.yml", "Taskfile.yaml"]);
  if (task === null || !/^ {2}test:/m.test(task.text)) return null;
  return {
    setup: null,
    test: {
      command: "task test",
      directory,
      runner: recognise(task.text),
      because: `task test in ${task.path}`,
    },
    notes: [],
  };
}
