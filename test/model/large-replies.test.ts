import assert from "node:assert/strict";
import { test } from "node:test";
import { createAssembler } from "#src/model/assemble.ts";
import { settleArguments } from "#src/model/call-arguments.ts";
import { createSseDecoder } from "#src/model/sse.ts";
import { FULL } from "#test/support/tier.ts";
import { callDelta, delta } from "#test/support/wire-server.ts";
import { countingIds } from "./chat-adapter.ts";

/** Ten times the size may take forty times as long before it counts as quadratic, which would be a hundred. */
const ALLOWED_RATIO = 40;
/** The quick tier shows the same growth with less: two megabytes are far above what small inputs hide. */
const LARGE = FULL ? 5_000_000 : 2_000_000;
const WARM_UP = LARGE / 50;

/** Processor time, since the wall clock also measures whatever else the machine does. */
function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const spent = process.cpuUsage(before);
  return Math.max(1, (spent.user + spent.system) / 1_000);
}

function assertLinear(run: (bytes: number) => void): void {
  run(WARM_UP);
  const small = Math.min(
    cpuMs(() => run(LARGE / 10)),
    cpuMs(() => run(LARGE / 10)),
  );
  const ratio = cpuMs(() => run(LARGE)) / small;
  assert.ok(ratio < ALLOWED_RATIO, `ten times the size took ${ratio.toFixed(1)} times as long`);
}

test("megabytes of arguments in pieces of three bytes take time in proportion to their size", () => {
  assertLinear((bytes) => {
    const folded = createAssembler({ ids: countingIds(), usedCallIds: new Set(), toolNames: new Set() });
    folded.add(callDelta({ index: 0, id: "c", function: { name: "write", arguments: '{"content":"' } }));
    const piece = callDelta({ index: 0, function: { arguments: "abc" } });
    for (let sent = 0; sent < bytes; sent += 3) folded.add(piece);
    folded.add(callDelta({ index: 0, function: { arguments: '"}' } }));
    folded.add(delta({}, "tool_calls"));
    const end = folded.end(true);
    assert.ok(end.ok && end.value.calls[0]?.malformed === undefined);
    assert.ok((end.value.calls[0]?.arguments.length ?? 0) >= bytes);
  });
});

test("megabytes of stream in reads of any size, and one line of that size, are decoded in linear time", () => {
  for (const line of [`data: ${JSON.stringify(delta({ content: "abc" }))}\r\n\r\n`, "x"]) {
    assertLinear((bytes) => {
      const stream = new TextEncoder().encode(line.repeat(Math.ceil(bytes / line.length)));
      const decoder = createSseDecoder();
      for (let at = 0; at < stream.length; at += 700) decoder.push(stream.subarray(at, at + 700));
      decoder.end();
    });
  }
});

test("megabytes of arguments with raw line breaks, and of text that never closes, are settled in linear time", () => {
  assertLinear((bytes) => {
    const broken = `{"content":"${"a line of forty characters, as in sources\n".repeat(bytes / 40)}"}`;
    assert.equal(settleArguments(broken).malformed, undefined);
    assert.notEqual(settleArguments(broken.slice(0, -2)).malformed, undefined);
  });
});
