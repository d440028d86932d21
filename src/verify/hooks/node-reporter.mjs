/** A node:test reporter that writes one JSON line per finished test next to its own folder; runs inside the sandbox. */

import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

const MESSAGE_CHARACTERS = 2000;
const STDERR_CHARACTERS = 2000;

/** A file of its own per process: the runner may be started several times by one script. */
function openReport() {
  const name = `node-${process.pid}-${process.hrtime.bigint()}.ndjson`;
  return openSync(join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..", name), "wx");
}

function isWholeFile(data) {
  return (
    data.nesting === 0 && data.line === 1 && typeof data.file === "string" && data.file.endsWith(data.name)
  );
}

function outcomeOf(event) {
  if (event.data.skip !== undefined || event.data.todo !== undefined) return "skip";
  return event.type === "test:pass" ? "pass" : "fail";
}

function messageOf(error) {
  const cause = error?.cause ?? error;
  const text = typeof cause?.stack === "string" ? cause.stack : String(cause ?? "");
  return text.slice(0, MESSAGE_CHARACTERS);
}

export default async function* report(source) {
  const descriptor = openReport();
  const write = (line) => writeSync(descriptor, `${JSON.stringify(line)}\n`);
  const names = new Map();
  const stderr = new Map();
  write({ begin: "node-test", cwd: process.cwd() });
  for await (const event of source) {
    const data = event.data;
    if (event.type === "test:stderr") {
      const seen = stderr.get(data.file) ?? "";
      if (seen.length < STDERR_CHARACTERS)
        stderr.set(data.file, (seen + data.message).slice(0, STDERR_CHARACTERS));
    }
    if (event.type === "test:start") {
      const path = names.get(data.file) ?? [];
      path.length = data.nesting;
      path.push(data.name);
      names.set(data.file, path);
    }
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    const failure = data.details?.error;
    const isSuite = data.details?.type === "suite";
    if (isSuite && (event.type === "test:pass" || failure?.failureType === "subtestsFailed")) continue;
    const wholeFile = isWholeFile(data);
    const parents = (names.get(data.file) ?? []).slice(0, data.nesting);
    const outcome = outcomeOf(event);
    write({
      file: data.file ?? "",
      names: wholeFile ? [] : [...parents, data.name],
      outcome,
      message:
        outcome !== "fail"
          ? ""
          : wholeFile
            ? (stderr.get(data.file) ?? messageOf(failure))
            : messageOf(failure),
    });
  }
  write({ end: true });
  closeSync(descriptor);
  yield "";
}
