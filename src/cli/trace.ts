/** `agent-fix trace <run id>`: tells from the trace file what a run did. */

import { parseArgs } from "node:util";
import { processEnvironment } from "#src/config/environment.ts";
import { readTrace } from "#src/trace/read.ts";
import { renderTrace, renderTraceJson } from "#src/trace/render.ts";
import { dataDirOf, findTrace, knownTraces } from "./places.ts";

const USAGE = `agent-fix trace <run id>: what a run did, turn by turn.

  --json      the events as they are, one a line
  --no-color  plain text

Traces lie in DATA_DIR/traces; without a run id the newest ones are listed.`;

export async function trace(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: {
      json: { type: "boolean", default: false },
      color: { type: "boolean", default: process.stdout.isTTY === true },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const dataDir = dataDirOf(processEnvironment());
  const [runId] = positionals;
  if (runId === undefined) return list(dataDir);
  if (!/^[0-9a-z]{1,40}$/.test(runId)) {
    console.error(`${JSON.stringify(runId)} is not a run id; agent-fix trace lists them.`);
    return 2;
  }
  const read = await readTrace(await findTrace(dataDir, runId));
  if (!read.ok) {
    console.error(read.error.message);
    return 1;
  }
  const story = values.json
    ? renderTraceJson(read.value.events)
    : renderTrace(read.value, { colour: values.color });
  console.log(story.trimEnd());
  return 0;
}

async function list(dataDir: string): Promise<number> {
  const traces = await knownTraces(dataDir);
  if (traces.length === 0) {
    console.error(
      `There is no trace in ${dataDir}/traces. Set DATA_DIR if the server keeps its state elsewhere.`,
    );
    return 1;
  }
  for (const runId of traces.slice(0, 50)) console.log(runId);
  return 0;
}
