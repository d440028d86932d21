/** Runs the conformance suite as an ordinary user: directly, or, when the tests run as root, in a child that gave root up. */

import { join } from "node:path";
import { test } from "node:test";
import { runAsOrdinaryUser } from "#test/sandbox/as-ordinary-user.ts";

if (process.getuid?.() === 0) {
  test("the sandbox suites pass for an ordinary user", (context) =>
    runAsOrdinaryUser(join(import.meta.dirname, "ordinary-user.ts"), context));
} else {
  await import("#test/sandbox/ordinary-user.ts");
}
