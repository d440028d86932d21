/** bubblewrap passes the conformance suite as whoever runs the tests. */

import { createBubblewrap } from "#src/sandbox/bubblewrap.ts";
import { findCgroups } from "#src/sandbox/limits.ts";
import { sandboxConformance } from "#test/sandbox/conformance.ts";
import { options } from "#test/sandbox/rig.ts";

const cgroups = await findCgroups();

sandboxConformance({
  name: `bubblewrap as ${process.getuid?.() === 0 ? "root" : "an ordinary user"}`,
  make: (dataDir) => createBubblewrap(options(dataDir)),
  skip: (kind) =>
    kind === "kernel memory" && cgroups === null
      ? "no control groups can be written here: memory is bounded per process and by a watcher"
      : null,
});
