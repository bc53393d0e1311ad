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

test("the bound is for the memory, which may be longer than the blobs in it", () => {
  const recent = createRecentBlobs();
  const takenOf = (name: string, length: number): Uint8Array<ArrayBuffer> | undefined => {
    recent.keep(name, filled(length, 1));
    return recent.take(name);
  };
  recent.giveBack(takenOf("long", 4 * MIB)!);
  // A blob in the memory of the long one.
  const short = takenOf("short", MIB + 1)!;
  expect(short.buffer.byteLength).toBe(4 * MIB);
  expect(takenOf("more than what is left", MIB + 1)).toBeUndefined();
  const rest = takenOf("what is left", MIB)!;
  expect(rest.length).toBe(MIB);
  recent.giveBack(short);
  recent.giveBack(rest);
  // Memory that is kept to be used again makes room for what it is too short for.
  expect(takenOf("of the longest", 5 * MIB)!.buffer.byteLength).toBe(5 * MIB);
  expect(takenOf("beside it", 1)).toBeUndefined();
});

test.each([
  [4, true],
  [5, false],
])("memory to be used again is kept beside %p blobs of half a MiB: %p", (blobs, isKept) => {
  const recent = createRecentBlobs();
  recent.keep("first", filled(3 * MIB, 1));
  const first = recent.take("first")!;
  recent.giveBack(first);
  // Too short for that memory.
  const names = Array.from({ length: blobs }, (_, n) => `${n}`);
  for (const name of names) recent.keep(name, filled(MIB / 2, 1));
  for (const name of names) recent.drop(recent.take(name)!);
  recent.keep("next", filled(3 * MIB, 1));
  expect(recent.take("next")!.buffer === first.buffer).toBe(isKept);
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
