/** Keeps the head and the tail of an endless stream in constant memory, without ever splitting a UTF-8 character. */

import type { Captured } from "#src/sandbox/sandbox.ts";

export interface Capture {
  /** Takes the next bytes; the buffer may be reused by the caller afterwards. */
  push(chunk: Uint8Array): void;
  /** What was kept so far. */
  finish(): Captured;
}

/** Keeps at most `maxBytes`: the first half and the last half. Memory is allocated as needed and never exceeds that. */
export function createCapture(maxBytes: number): Capture {
  const headSize = Math.ceil(Math.max(0, maxBytes) / 2);
  const tailSize = Math.max(0, maxBytes) - headSize;
  const head = growing(headSize);
  const tail = createRing(tailSize);
  let total = 0;
  return {
    push: (chunk) => {
      total += chunk.length;
      const room = headSize - head.length();
      if (room > 0) head.append(chunk.subarray(0, room));
      if (chunk.length > room) tail.append(chunk.subarray(Math.max(0, room)));
    },
    finish: () => describe(head.bytes(), tail.bytes(), total),
  };
}

/** An empty capture, for commands that never started. */
export const NOTHING: Captured = { head: "", tail: "", totalBytes: 0, droppedBytes: 0 };

function describe(head: Uint8Array, tail: Uint8Array, totalBytes: number): Captured {
  if (totalBytes === head.length + tail.length) {
    return { head: decode(Buffer.concat([head, tail])), tail: "", totalBytes, droppedBytes: 0 };
  }
  const headEnd = head.length - unfinishedBytes(head);
  const tailStart = continuationBytes(tail);
  const droppedBytes = totalBytes - headEnd - (tail.length - tailStart);
  return {
    head: decode(head.subarray(0, headEnd)),
    tail: decode(tail.subarray(tailStart)),
    totalBytes,
    droppedBytes,
  };
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Bytes at the end that begin a character which the cut took the rest of; 0 to 3. */
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/** Bytes at the start that continue a character which the cut took the beginning of; 0 to 3. */
function continuationBytes(bytes: Uint8Array): number {
  let count = 0;
  while (count < Math.min(3, bytes.length) && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}

const FIRST_ALLOCATION = 4096;

function growing(capacity: number) {
  let store = new Uint8Array(Math.min(capacity, FIRST_ALLOCATION));
  let used = 0;
  return {
    length: () => used,
    append: (chunk: Uint8Array) => {
      if (used + chunk.length > store.length) {
        const larger = new Uint8Array(Math.min(capacity, Math.max(store.length * 2, used + chunk.length)));
        larger.set(store.subarray(0, used));
        store = larger;
      }
      store.set(chunk, used);
      used += chunk.length;
    },
    bytes: () => store.subarray(0, used),
  };
}

/** The last `capacity` bytes appended. Grows until the capacity is reached, then overwrites the oldest. */
function createRing(capacity: number) {
  const linear = growing(capacity);
  let ring: Uint8Array | null = null;
  let next = 0;
  const overwrite = (store: Uint8Array, chunk: Uint8Array) => {
    const kept = chunk.subarray(Math.max(0, chunk.length - capacity));
    const untilEnd = Math.min(kept.length, capacity - next);
    store.set(kept.subarray(0, untilEnd), next);
    store.set(kept.subarray(untilEnd), 0);
    next = (next + kept.length) % capacity;
  };
  return {
    append: (chunk: Uint8Array) => {
      if (capacity === 0) return;
      if (ring !== null) return overwrite(ring, chunk);
      const room = capacity - linear.length();
      linear.append(chunk.subarray(0, room));
      if (chunk.length <= room) return;
      ring = linear.bytes();
      overwrite(ring, chunk.subarray(room));
    },
    bytes: () =>
      ring === null ? linear.bytes() : Buffer.concat([ring.subarray(next), ring.subarray(0, next)]),
  };
}
