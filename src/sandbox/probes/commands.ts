/** Probes: how commands are started, fed, read and ended, and the programs that the app needs inside. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { withArgument } from "#src/sandbox/command/processes.ts";
import { exits, isKilled, type Probe, prints, textOf } from "#src/sandbox/probes/probe.ts";

const REPORT = "this is a fault of agent-fix on this system: please report it";
const IMAGE =
  "commands of the app itself need it: install it on the host, or for containers in every image of IMAGES_ALLOWED";
const TOOLS =
  "node npm pnpm yarn python3 pip uv poetry go cargo java mvn gradle ruby bundle php composer dotnet make gcc";

export const COMMAND_PROBES: readonly Probe[] = [
  {
    name: "commands start",
    kind: "any",
    script: "true",
    holds: exits(0),
    held: "a command was started and ended well",
    remedy: "nothing can run here",
  },
  {
    name: "output and exit code",
    kind: "any",
    script: "echo out; echo err >&2; exit 3",
    holds: (result) =>
      exits(3)(result) && textOf(result) === "out\n" && result.stderr.head + result.stderr.tail === "err\n",
    held: "both streams and the code come back, apart",
    remedy: REPORT,
  },
  {
    name: "odd words",
    kind: "any",
    script: `printf '[%s]' "a b" "" '$HOME' "line
break" 'ümläut 🌍' -n --`,
    holds: prints("[a b][][$HOME][line\nbreak][ümläut 🌍][-n][--]"),
    held: "arguments arrive byte for byte",
    remedy: REPORT,
  },
  {
    name: "missing programs",
    kind: "any",
    script: "no-such-program-here 2>/dev/null",
    holds: exits(127),
    held: "a missing program is exit code 127",
    remedy: REPORT,
  },
  {
    name: "signals",
    kind: "any",
    script: "kill -SEGV $$",
    holds: exits(139),
    held: "a command that dies from a signal says which",
    remedy: REPORT,
  },
  {
    name: "input is at its end",
    kind: "any",
    script: 'read -r line; echo "[$line]"; cat',
    timeoutMs: 10_000,
    holds: prints("[]\n"),
    held: "nothing waits for a person to type",
    remedy: REPORT,
  },
  {
    name: "given input",
    kind: "any",
    script: "sha256sum | cut -c1-8",
    stdin: "0123456789".repeat(20_000),
    holds: (result) => /^[0-9a-f]{8}\n$/.test(textOf(result)),
    held: "a command can be fed",
    remedy: REPORT,
  },
  {
    name: "streams by name",
    kind: "any",
    script: "echo one > /dev/stdout; echo two | tee /dev/stderr > /dev/null",
    holds: (result) => exits(0)(result) && textOf(result) === "one\n",
    held: "/dev/stdout and /dev/stderr can be opened",
    remedy: REPORT,
  },
  {
    name: "no terminal",
    kind: "any",
    script: "test -t 0 || test -t 1 || (: < /dev/tty) 2>/dev/null || exit 5",
    holds: exits(5),
    held: "no prompt can reach a terminal",
    remedy: REPORT,
  },
  {
    name: "settings for machines",
    kind: "any",
    script: 'echo "$CI $PAGER $GIT_TERMINAL_PROMPT $GIT_EDITOR"',
    holds: prints("true cat 0 true\n"),
    held: "CI is set, and no pager, editor or prompt waits",
    remedy: REPORT,
  },
  {
    name: "workspace",
    kind: "any",
    script: "pwd >/dev/null && mkdir -p a/b && echo 1 > a/b/file && cat a/b/file && rm -r a",
    holds: prints("1\n"),
    held: "the workspace can be written",
    remedy: "the workspace has to belong to the user that commands run as, on a file system that takes files",
  },
  {
    name: "user",
    kind: "any",
    script: "touch who",
    holds: async (_, { workspace }) => (await stat(join(workspace, "who"))).uid !== 0,
    held: async (_, { workspace, isRoot }) => {
      const { uid } = await stat(join(workspace, "who"));
      const weaker =
        "; this is the app's own user, so only namespaces separate commands from its files: start agent-fix as root to have them run as another user";
      return `commands run as uid ${uid}${isRoot ? "" : weaker}`;
    },
    remedy: "commands ran as root: never run agent-fix with this sandbox",
  },
  {
    name: "home and tmp",
    kind: "any",
    script: 'ls -A ~ && echo h > ~/h && echo t > "$TMPDIR/t" && cat ~/h "$TMPDIR/t"',
    holds: prints("h\nt\n"),
    held: "an empty home and a tmp of its own, both writable",
    remedy: "DATA_DIR has to be on a file system that takes files, with room left",
  },
  {
    name: "bounded output",
    kind: "any",
    script: "seq 1 100000",
    outputBytes: 100,
    holds: ({ stdout }) =>
      stdout.head.startsWith("1\n2\n") && stdout.tail.endsWith("100000\n") && stdout.totalBytes === 588_895,
    held: "head and tail are kept, the rest is counted",
    remedy: REPORT,
  },
  {
    name: "time limit",
    kind: "any",
    script: "trap '' TERM INT HUP QUIT; while :; do sleep 0.1; done",
    timeoutMs: 2_000,
    holds: isKilled("timeout"),
    held: "a command that ignores every polite signal ends on time",
    remedy: REPORT,
  },
  {
    name: "daemons die",
    kind: "any",
    script: `setsid sh -c 'sleep 300' "$UNIQUE" </dev/null >/dev/null 2>&1 & true`,
    holds: async (_, { unique }) => (await withArgument(unique)).length === 0,
    held: "nothing outlives its command",
    remedy: "a process stayed behind: stop it by hand, and report this",
  },
  {
    name: "orphans die",
    kind: "any",
    script: `(setsid sh -c '(sleep 300 & sleep 300) &' "$UNIQUE" </dev/null >/dev/null 2>&1 &) ; (sleep 300; : "$UNIQUE") >/dev/null 2>&1 & disown`,
    holds: async (_, { unique }) => (await withArgument(unique)).length === 0,
    held: "nor does what left its parent and its session",
    remedy: "a process stayed behind: stop it by hand, and report this",
  },
  {
    name: "held streams",
    kind: "any",
    script: "(while :; do echo x; sleep 0.2; done) & echo done",
    timeoutMs: 15_000,
    holds: (result) => exits(0)(result) && textOf(result).includes("done\n"),
    held: "a background process does not hold the call",
    remedy: REPORT,
  },
  {
    name: "bash",
    kind: "any",
    script: "bash --version | head -n 1",
    holds: (result) => Number(/version (\d+)/.exec(textOf(result))?.[1]) >= 4,
    held: (result) => textOf(result).trim(),
    remedy: `bash 4 or newer is missing; ${IMAGE}`,
  },
  {
    name: "git",
    kind: "any",
    script: "cd ~ && git init -q probe && git -C probe status --porcelain && git --version && rm -r probe",
    holds: exits(0),
    held: (result) => textOf(result).trim(),
    remedy: `git does not work inside; ${IMAGE}`,
  },
  {
    name: "file tools",
    kind: "any",
    script:
      "cd ~ && : > f && find . -name f -printf '%P' && printf 'a\\0' | sort -z | comm -z -12 - <(printf 'a\\0') | tr '\\0' ' ' && stat --printf %s f && printf 'f\\0' | xargs -0 -r ls && rm f",
    holds: prints("fa 0f\n"),
    held: "GNU find, sort, comm, stat and xargs",
    remedy: `GNU coreutils and findutils are missing (busybox is not enough); ${IMAGE}`,
  },
  {
    name: "ripgrep",
    kind: "any",
    script: "rg --version | head -n 1",
    holds: (result) => textOf(result).startsWith("ripgrep"),
    held: (result) => textOf(result).trim(),
    remedy: "no rg inside: run npm ci again, or install the package ripgrep",
  },
  {
    name: "toolchains",
    kind: "any",
    script: `for tool in ${TOOLS}; do command -v $tool; done; true`,
    holds: (result) => textOf(result).trim() !== "",
    held: (result) => textOf(result).trim().replaceAll("\n", " "),
    remedy: "no compiler or interpreter is there inside: install what your repositories' tests need",
  },
];
