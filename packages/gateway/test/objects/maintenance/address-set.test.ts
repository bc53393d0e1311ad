import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createAddressSet } from "../../../src/objects/maintenance/address-set.ts";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

test("a set knows what was added, however many there are", () => {
  const set = createAddressSet();
  for (let i = 0; i < 5000; i++) expect(set.add(hashOf(`${i}`))).toBe(true);
  for (let i = 0; i < 5000; i++) {
    expect(set.has(hashOf(`${i}`))).toBe(true);
    expect(set.has(hashOf(`other ${i}`))).toBe(false);
    expect(set.add(hashOf(`${i}`))).toBe(false);
  }
  expect(set.size).toBe(5000);
});

test("addresses that begin alike are two, and one of zeros is one", () => {
  const set = createAddressSet();
  const [first, second, zeros] = [
    "a".repeat(64),
    `${"a".repeat(16)}${"b".repeat(48)}`,
    "0".repeat(64),
  ];
  set.add(first);
  expect([set.has(second), set.has(zeros)]).toEqual([false, false]);
  expect([set.add(second), set.add(zeros), set.add(zeros)]).toEqual([true, true, false]);
  expect([set.has(zeros), set.size]).toEqual([true, 3]);
});
