/** The attack suite against every backend that whoever runs the tests can open. */

import { attackSuite } from "#test/attacks/suite.ts";
import { backendsHere } from "#test/sandbox/rig.ts";

for (const backend of await backendsHere()) attackSuite(backend);
