/** Containers pass the conformance suite that bubblewrap passes: podman stands for docker too, which differs by name only. */

import { test } from "node:test";
import { sandboxConformance } from "#test/sandbox/conformance.ts";
import { containerBackend } from "#test/sandbox/rig.ts";
import { skipUnless } from "#test/support/tier.ts";

const backend = process.getuid?.() === 0 ? await containerBackend() : null;
const skip = skipUnless(
  backend?.missing === null,
  backend?.missing ?? "only root can try containers of podman here",
);

if (skip === false && backend !== null) sandboxConformance(backend);
else test("sandbox conformance: podman as root", { skip }, () => undefined);
