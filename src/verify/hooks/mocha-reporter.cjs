/** A mocha reporter that writes one JSON line per test next to its own folder and prints mocha's usual list; runs inside the sandbox. */

"use strict";

const { openSync, realpathSync, writeSync } = require("node:fs");
const { createRequire } = require("node:module");
const { join } = require("node:path");

const MESSAGE_CHARACTERS = 2000;

function messageOf(error) {
  const stack = typeof error?.stack === "string" ? error.stack : "";
  const said = String(error?.message ?? error);
  return (stack.includes(said) ? stack : `${said}\n${stack}`).slice(0, MESSAGE_CHARACTERS);
}

module.exports = class SuiteReport {
  constructor(runner, options) {
    const { reporters } = createRequire(realpathSync(process.argv[1]))("mocha");
    new reporters.Spec(runner, options);
    const name = `mocha-${process.pid}-${process.hrtime.bigint()}.ndjson`;
    const descriptor = openSync(join(__dirname, "..", name), "wx");
    const write = (line) => writeSync(descriptor, `${JSON.stringify(line)}\n`);
    const record = (test, outcome, error) =>
      write({
        file: test.file ?? test.parent?.file ?? "",
        names: test.titlePath(),
        outcome,
        message: outcome === "fail" ? messageOf(error) : "",
      });
    write({ begin: "mocha", cwd: process.cwd() });
    runner.on("pass", (test) => record(test, "pass"));
    runner.on("pending", (test) => record(test, "skip"));
    runner.on("fail", (test, error) => record(test, "fail", error));
    runner.once("end", () => write({ end: true }));
  }
};
