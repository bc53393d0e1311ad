import { expect, test } from "bun:test";
import { inLanes } from "../../src/harness/interleave.ts";

test("if one item fails, no other begins, and the error comes when all have ended", async () => {
  const [begun, ended]: [number[], number[]] = [[], []];
  const working = inLanes([0, 1, 2, 3, 4], 3, async (item) => {
    begun.push(item);
    await Bun.sleep(item === 0 ? 1 : 20);
    ended.push(item);
    if (item === 0) throw new Error("the first one failed");
  });
  expect(await working.catch(String)).toContain("the first one failed");
  expect([begun, ended]).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ]);
});
