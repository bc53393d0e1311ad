import { expect, test } from "bun:test";
import { loadNaCl } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { measureParts, partsMeter } from "../../src/suites/object-store/parts.ts";

const NAMES = { cipher: "encrypt", header: "header", hash: "hash", transfer: "upload" };

test("parts are times of operations whose results are compared", async () => {
  const meter = partsMeter(await loadNaCl(), memory());
  const checked: unknown[] = [];
  const measure = (check: (result: unknown) => unknown) =>
    measureParts(1000, NAMES, meter, { run: () => "the result", check }, { rounds: 2 });
  expect(await measure((result) => checked.push(result))).toHaveLength(5);
  expect(checked).toEqual(Array.from({ length: 3 }, () => "the result"));
  const wrong = () => Promise.reject(new Error("wrong bytes came back"));
  expect(await measure(wrong).catch(String)).toContain("wrong bytes");
});
