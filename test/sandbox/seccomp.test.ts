/** The system call filter, played by an interpreter of its instructions: what it lets through, call by call. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { seccompProgram } from "#src/sandbox/bubblewrap/seccomp.ts";

const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

/** "allow", or the error number that the call fails with. */
function answerTo(
  arch: string,
  audit: number,
  call: number,
  ...arguments_: readonly number[]
): string | number {
  const program = seccompProgram(arch);
  assert.ok(program !== null);
  const description = Buffer.alloc(64);
  description.writeUInt32LE(call, 0);
  description.writeUInt32LE(audit, 4);
  for (const [index, argument] of arguments_.entries()) description.writeUInt32LE(argument, 16 + 8 * index);
  let word = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    const value = program.readUInt32LE(at * 8 + 4);
    const jumps = [program[at * 8 + 2] ?? 0, program[at * 8 + 3] ?? 0] as const;
    const code = program.readUInt16LE(at * 8);
    if (code === 0x20) word = description.readUInt32LE(value);
    else if (code === 0x15) at += word === value ? jumps[0] : jumps[1];
    else if (code === 0x35) at += word >= value ? jumps[0] : jumps[1];
    else if (code === 0x06) return value === 0x7fff0000 ? "allow" : value - 0x50000;
    else assert.fail(`an unknown instruction ${code}`);
  }
  return assert.fail("the program has no end");
}

test("sockets of families that a network name space holds can be made, others cannot", () => {
  for (const [arch, audit, socket, pair] of [
    ["x64", X64, 41, 53],
    ["arm64", ARM64, 198, 199],
  ] as const)
    for (const call of [socket, pair]) {
      for (const family of [1, 2, 10, 16]) assert.equal(answerTo(arch, audit, call, family), "allow");
      for (const family of [0, 3, 17 + 12, 30, 31, 38, 40, 44, 0xffffffff])
        assert.equal(answerTo(arch, audit, call, family), 97, `${arch} ${family}`);
    }
});

test("key rings and io_uring seem absent, dangerous calls are not permitted, and everything else goes through", () => {
  for (const call of [248, 249, 250, 425, 426, 427, 323]) assert.equal(answerTo("x64", X64, call), 38);
  for (const call of [321, 298, 304, 165, 308, 428, 169]) assert.equal(answerTo("x64", X64, call), 1);
  for (const call of [217, 218, 219, 425]) assert.equal(answerTo("arm64", ARM64, call), 38);
  for (const call of [0, 1, 2, 9, 42, 56, 57, 59, 61, 101, 202, 231, 257, 272, 302, 334, 435, 439])
    assert.equal(answerTo("x64", X64, call), "allow", String(call));
});

test("a terminal cannot be typed into, and every other control of a file works", () => {
  for (const request of [0x5412, 0x541c]) assert.equal(answerTo("x64", X64, 16, 1, request), 1);
  for (const request of [0x5401, 0x5413, 0x541b, 0x8912])
    assert.equal(answerTo("x64", X64, 16, 1, request), "allow");
  assert.equal(answerTo("arm64", ARM64, 29, 1, 0x5412), 1);
});

test("there is no way past it by another table of calls", () => {
  for (const call of [1, 20, 102, 359]) assert.equal(answerTo("x64", 0x40000003, call), 38);
  assert.equal(answerTo("x64", X64, 0x40000000 + 41, 40), 38);
  assert.equal(answerTo("arm64", 0x40000028, 281, 40), 38);
});

test("a machine whose calls are not known gets none", () => {
  assert.equal(seccompProgram("riscv64"), null);
});
