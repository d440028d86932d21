import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/base/clock.ts";
import { silentLog } from "#src/base/log.ts";
import { createTokenizer } from "#src/harness/tokenizer.ts";

test("the tokenizer counts in its thread, takes control tokens for text, and is not slowed down by one long word", async () => {
  const tokenizer = createTokenizer({ clock: systemClock, log: silentLog });
  try {
    const counts = await tokenizer.count([
      "hello world",
      "",
      "<|endoftext|>",
      "a".repeat(50_000),
      "😀".repeat(1_500),
    ]);
    assert.deepEqual(counts?.slice(0, 2), [2, 0]);
    assert.ok((counts?.[2] ?? 0) > 1, "a control token in a text is several tokens of text");
    assert.ok((counts?.[3] ?? 0) > 5_000);
    assert.deepEqual(await tokenizer.count(["hello world"]), [2]);
  } finally {
    await tokenizer.close();
  }
});
