/** The attack suite against every backend that whoever runs the tests can open. */

import { attackedBackends } from "#test/attacks/backends.ts";
import { attackSuite } from "#test/attacks/suite.ts";

for (const backend of await attackedBackends()) attackSuite(backend);
