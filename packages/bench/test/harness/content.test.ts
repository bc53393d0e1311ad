import { expect, test } from "bun:test";
import { sizeName } from "../../src/harness/content.ts";

test("sizeName uses the largest unit that divides the size", () => {
  const sizes = [0, 777, 1000, 1024, 100_000, 65_536, 25_100_000, 2 ** 20, 2 ** 30, 5e9, 1536];
  expect(sizes.map(sizeName)).toEqual([
    "0 bytes",
    "777 bytes",
    "1 KB",
    "1 KiB",
    "100 KB",
    "64 KiB",
    "25100 KB",
    "1 MiB",
    "1 GiB",
    "5 GB",
    "1536 bytes",
  ]);
});
