import { expect, test } from "bun:test";
import { checkFiles, connectionsWithin } from "../../src/gateway/open-files.ts";

const limitsOf = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax processes             100                  100                  processes\nMax open files            ${soft}                 1048576              files\n`;

test("connections are fewer than the files that may be open", () => {
  expect(connectionsWithin(limitsOf("1024"))).toBe(768);
  expect(connectionsWithin(limitsOf("20"))).toBe(16);
  expect(connectionsWithin(limitsOf("unlimited"))).toBe(Number.POSITIVE_INFINITY);
  expect(connectionsWithin("")).toBe(Number.POSITIVE_INFINITY);
});

test("more than the limit of this process is lowered, and that is said", async () => {
  const faults: string[] = [];
  const out = { fault: async (text: string) => void faults.push(text) };
  const session = { out } as unknown as Parameters<typeof checkFiles>[1];
  expect(await checkFiles(1, session)).toBe(1);
  expect(faults).toEqual([]);
});
