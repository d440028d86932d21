/** Preloaded into every Node process of a test run: when that process is a test runner, asks it for a report outside the workspace. */

"use strict";

const { appendFileSync } = require("node:fs");
const { join } = require("node:path");

const PACKAGES = {
  "jest-cli": "jest",
  _mocha: "mocha",
  "@tapjs/run": "tap",
};

/** The package whose program this process runs; empty for any other program. */
function program(path) {
  const found =
    [...path.matchAll(/node_modules[\\/](?:\.bin[\\/])?((?:@[^\\/]+[\\/])?[^\\/]+)/g)].at(-1)?.[1] ?? "";
  const name = found.replaceAll("\\", "/").replace(/\.(?:c|m)?js$/, "");
  return PACKAGES[name] ?? name;
}

function fresh(name, extension) {
  return join(__dirname, "..", `${name}-${process.pid}-${process.hrtime.bigint()}.${extension}`);
}

/** Behind a bare `--` everything is a file name. */
function add(...options) {
  const end = process.argv.indexOf("--");
  process.argv.splice(end < 0 ? process.argv.length : end, 0, ...options);
}

/** ava and uvu report on standard output only: what the controlling process writes there is kept in a file as well. */
function copyOutput(path) {
  const write = process.stdout.write;
  process.stdout.write = function (chunk, ...rest) {
    appendFileSync(path, chunk);
    return write.call(this, chunk, ...rest);
  };
}

/** ava names the file of a test only where it runs several: the files are noted as it starts a worker for each. */
function noteWorkers(path) {
  const threads = require("node:worker_threads");
  const { syncBuiltinESMExports } = require("node:module");
  const Original = threads.Worker;
  threads.Worker = class extends Original {
    constructor(where, options) {
      super(where, options);
      const file = options?.workerData?.options?.file;
      if (file !== undefined) appendFileSync(path, `# file ${file}\n`);
    }
  };
  syncBuiltinESMExports();
}

const ASK = {
  vitest() {
    const chosen = process.argv.some((argument) => argument.startsWith("--reporter"));
    if (!chosen) add("--reporter=default");
    add("--reporter=json", `--outputFile.json=${fresh("vitest", "json")}`);
  },
  jest() {
    add("--json", `--outputFile=${fresh("jest", "json")}`);
  },
  mocha() {
    add("--reporter", join(__dirname, "mocha-reporter.cjs"));
  },
  jasmine() {
    add(`--reporter=${join(__dirname, "jasmine-reporter.mjs")}`);
  },
  ava() {
    const path = fresh("ava", "tap");
    add("--tap");
    noteWorkers(path);
    copyOutput(path);
  },
  tap() {
    add(`--output-file=${fresh("tap", "tap")}`);
  },
  uvu() {},
};

const words = process.execArgv;
const isNodeTest = words.some((word) => word === "--test" || word.startsWith("--test="));
const ask = ASK[program(process.argv[1] ?? "")];

if (process.env.SUITE_REPORT_TAKEN === undefined && process.env.NODE_TEST_CONTEXT === undefined) {
  if (ask !== undefined) ask();
  if (ask !== undefined || isNodeTest) {
    // What the tests themselves start is no part of the suite, even where it is a test runner.
    process.env.SUITE_REPORT_TAKEN = "1";
    const ours = process.env.SUITE_REPORT_NODE_OPTIONS ?? "";
    const left = (process.env.NODE_OPTIONS ?? "").replace(ours, "").trim();
    if (left === "") delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = left;
  }
}
