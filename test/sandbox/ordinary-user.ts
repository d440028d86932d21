/** The conformance suite for an app that is an ordinary user: bubblewrap with what such a user may do, and no sandbox at all. */

import { createBubblewrap } from "#src/sandbox/bubblewrap/bubblewrap.ts";
import { createNone } from "#src/sandbox/none.ts";
import { sandboxConformance } from "#test/sandbox/conformance.ts";
import { type CaseKind, options } from "#test/sandbox/rig.ts";

sandboxConformance({
  name: "bubblewrap as an ordinary user",
  system: "host",
  make: (dataDir) => createBubblewrap(options(dataDir)),
  skip: (kind) =>
    kind === "kernel memory"
      ? "an ordinary user makes no control groups: memory is bounded per process and by a watcher"
      : null,
});

const NOT_WITHOUT: Readonly<Record<CaseKind, string | null>> = {
  any: null,
  isolation: "without a sandbox nothing is isolated, which its warning says",
  "kernel memory": "without a sandbox memory is bounded per process and by a watcher",
  processes: "a limit on processes would count all of the user's, the app's own included",
};

sandboxConformance({
  name: "none",
  system: "host",
  make: (dataDir) => createNone(options(dataDir)),
  skip: (kind) => NOT_WITHOUT[kind],
});
