/** A jasmine reporter that writes one JSON line per spec next to its own folder and prints a short list; runs inside the sandbox. */

import { openSync, writeSync } from "node:fs";
import { join } from "node:path";

const MESSAGE_CHARACTERS = 2000;
const OUTCOMES = { passed: "pass", failed: "fail" };

export default class SuiteReport {
  jasmineStarted() {
    const name = `jasmine-${process.pid}-${process.hrtime.bigint()}.ndjson`;
    this.descriptor = openSync(join(import.meta.dirname, "..", name), "wx");
    this.parents = [];
    this.write({ begin: "jasmine", cwd: process.cwd() });
  }

  write(line) {
    writeSync(this.descriptor, `${JSON.stringify(line)}\n`);
  }

  record(result, names) {
    const outcome = OUTCOMES[result.status] ?? "skip";
    const message = (result.failedExpectations ?? [])
      .map((one) => (one.stack?.includes(one.message) ? one.stack : `${one.message}\n${one.stack ?? ""}`))
      .join("\n");
    this.write({
      file: result.filename ?? "",
      names,
      outcome,
      message: outcome === "fail" ? message.slice(0, MESSAGE_CHARACTERS) : "",
    });
    process.stdout.write(`${outcome} ${names.join(" ")}\n${outcome === "fail" ? `${message}\n` : ""}`);
  }

  suiteStarted(result) {
    this.parents.push(result.description);
  }

  suiteDone(result) {
    // A failed fixture belongs to its suite.
    if (result.failedExpectations?.length > 0)
      this.record({ ...result, status: "failed" }, [...this.parents, "afterAll"]);
    this.parents.pop();
  }

  specDone(result) {
    this.record(result, [...this.parents, result.description]);
  }

  jasmineDone(result) {
    // A file that could not be loaded is a failure of the whole run.
    for (const one of result.failedExpectations ?? [])
      this.record({ status: "failed", failedExpectations: [one], filename: one.filename }, ["loading"]);
    this.write({ end: true });
  }
}
