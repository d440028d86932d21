/** bubblewrap passes the conformance suite as whoever runs the tests. */

import { sandboxConformance } from "#test/sandbox/conformance.ts";
import { bubblewrapBackend } from "#test/sandbox/rig.ts";

sandboxConformance(await bubblewrapBackend());
