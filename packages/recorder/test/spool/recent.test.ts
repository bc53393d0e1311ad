import { expect, test } from "bun:test";
import { createRecentBlobs } from "../../src/spool/recent.ts";

const MIB = 2 ** 20;

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

test("a kept blob is a copy, and is taken once", () => {
  const recent = createRecentBlobs();
  const bytes = filled(MIB, 1);
  recent.keep("a", bytes);
  bytes.fill(9);
  expect(recent.take("a")).toEqual(Buffer.alloc(MIB, 1));
  expect(recent.take("a")).toBeUndefined();
});

test("blobs that are taken count until they are given back or dropped", () => {
  const recent = createRecentBlobs();
  for (const name of ["a", "b", "c"]) recent.keep(name, filled(2 * MIB, 1));
  const [a, b] = [recent.take("a")!, recent.take("b")!];
  expect(recent.take("c")).toBeUndefined();
  recent.keep("d", filled(2 * MIB, 1));
  expect(recent.take("d")).toBeUndefined();
  recent.giveBack(a);
  recent.drop(b);
  for (const name of ["e", "f"]) recent.keep(name, filled(2 * MIB, 1));
  expect([recent.take("e")?.length, recent.take("f")?.length]).toEqual([2 * MIB, 2 * MIB]);
});

test("the memory of a blob is used again if it was given back, and not if it was dropped", () => {
  const recent = createRecentBlobs();
  recent.keep("dropped", filled(MIB, 1));
  const dropped = recent.take("dropped")!;
  recent.drop(dropped);
  recent.keep("given back", filled(MIB, 2));
  const givenBack = recent.take("given back")!;
  expect(givenBack.buffer).not.toBe(dropped.buffer);
  expect(dropped[0]).toBe(1);
  recent.giveBack(givenBack);
  // A root that only refers to a chunk does not take the memory of one.
  recent.keep("root", filled(1000, 3));
  recent.keep("chunk", filled(MIB - 1, 4));
  expect(recent.take("root")!.buffer).not.toBe(givenBack.buffer);
  const chunk = recent.take("chunk")!;
  expect(chunk.buffer).toBe(givenBack.buffer);
  expect(chunk).toEqual(Buffer.alloc(MIB - 1, 4));
});

test("blobs that nobody took are forgotten, and those that are taken stay", () => {
  const recent = createRecentBlobs();
  for (const name of ["a", "b"]) recent.keep(name, filled(2 * MIB, 1));
  const a = recent.take("a")!;
  recent.clear();
  expect(recent.take("b")).toBeUndefined();
  expect(a[0]).toBe(1);
  for (const name of ["c", "d"]) recent.keep(name, filled(2 * MIB, 1));
  expect(recent.take("c")?.length).toBe(2 * MIB);
  expect(recent.take("d")).toBeUndefined();
});
