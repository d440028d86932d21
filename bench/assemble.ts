/** What reading a reply costs: a 5 MB event stream of three-byte argument fragments ÷ parsing the JSON of the same events. */

import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createAssembler } from "#src/model/assemble.ts";
import { readReply } from "#src/model/reply-stream.ts";
import { createStallWatch } from "#src/model/stall-watch.ts";
import { alternate, type Bench, median, timed } from "./row.ts";

const RUNS = 25;
const WARM_UP = 5;
const STREAM_BYTES = 5 * 1024 * 1024;
const READ_BYTES = 16 * 1024;
const TARGET = 2;

function chunk(delta: object, finish: string | null = null): string {
  return JSON.stringify({
    ...{ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "bench" },
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
}

function makeEvents(): readonly string[] {
  const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
  const events = [
    call({ id: "call_1", type: "function", function: { name: "edit_file", arguments: '{"new":"' } }),
  ];
  let bytes = 0;
  for (let n = 0; bytes < STREAM_BYTES; n++) {
    const event = call({ function: { arguments: (n % 1_000).toString().padStart(3, "0") } });
    bytes += event.length + "data: \n\n".length;
    events.push(event);
  }
  return [...events, call({ function: { arguments: '"}' } }), chunk({}, "tool_calls")];
}

async function assemble(stream: Uint8Array): Promise<void> {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let at = 0; at < stream.length; at += READ_BYTES)
        controller.enqueue(stream.subarray(at, at + READ_BYTES));
      controller.close();
    },
  });
  const watch = createStallWatch(systemClock, 60_000, new AbortController().signal);
  const options = { ids: systemIds, usedCallIds: new Set<string>(), toolNames: new Set(["edit_file"]) };
  const reading = readReply(body, createAssembler(options), watch);
  let step = await reading.next();
  while (step.done !== true) step = await reading.next();
  watch.close();
  if (step.value.type !== "reply") throw new Error(`the stream was not read: ${step.value.type}`);
}

export const assembleBench: Bench = async () => {
  const events = makeEvents();
  const stream = new TextEncoder().encode([...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join(""));
  const ours = () => timed(() => assemble(stream));
  const floor = () =>
    timed(() => {
      for (const event of events) JSON.parse(event);
    });
  await alternate(WARM_UP, { ours, floor });
  const times = await alternate(RUNS, { ours, floor });
  return [
    {
      name: "assemble",
      what: "reading a reply of 5 MB in three-byte fragments ÷ JSON.parse of the same events",
      unit: "×",
      values: times.ratios,
      target: TARGET,
      note: `${median(times.ours).toFixed(0)} ms ÷ ${median(times.floor).toFixed(0)} ms, ${events.length} events`,
    },
  ];
};
