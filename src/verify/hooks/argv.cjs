/** Preloaded into every Node process of a test run: when that process is vitest or jest, asks it for a JSON report as well. */

"use strict";

const { join, basename } = require("node:path");

const program = basename(process.argv[1] ?? "").replace(/\.(c|m)?js$/, "");
const inside = /node_modules[\\/](?:vitest|jest|jest-cli)[\\/]|node_modules[\\/]\.bin[\\/]/.test(
  process.argv[1] ?? "",
);
const report = join(__dirname, "..", `${program}-${process.pid}-${process.hrtime.bigint()}.json`);

if (inside && program === "vitest") {
  const chosen = process.argv.some((argument) => argument.startsWith("--reporter"));
  if (!chosen) process.argv.push("--reporter=default");
  process.argv.push("--reporter=json", `--outputFile.json=${report}`);
}
if (inside && program === "jest") process.argv.push("--json", `--outputFile=${report}`);
