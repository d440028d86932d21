/** Every backend that whoever runs the tests can open passes the conformance suite. */

import { sandboxConformance } from "#test/sandbox/conformance.ts";
import { backendsHere } from "#test/sandbox/rig.ts";

for (const backend of await backendsHere()) sandboxConformance(backend);
