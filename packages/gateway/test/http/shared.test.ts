import { expect, test } from "bun:test";
import { shared } from "../../src/http/shared.ts";

test("a call that is shared runs once for all callers, and again later", async () => {
  let runs = 0;
  const call = shared(
    async () => {
      runs += 1;
      await Bun.sleep(20);
      return runs;
    },
    { ok: 1000, failed: 20_000 },
  );
  expect(await Promise.all(Array.from({ length: 1000 }, call))).toEqual(
    Array.from({ length: 1000 }, () => 1),
  );
  expect(await call()).toBe(1);
  await Bun.sleep(1100);
  expect(await call()).toBe(2);
});

test("a failure is kept longer", async () => {
  let runs = 0;
  const call = shared(
    async () => {
      runs += 1;
      throw new Error("down");
    },
    { ok: 0, failed: 1000 },
  );
  for (let index = 0; index < 3; index += 1) {
    expect(await call().catch((error: unknown) => error)).toEqual(new Error("down"));
    await Bun.sleep(5);
  }
  expect(runs).toBe(1);
  await Bun.sleep(1100);
  await call().catch(() => undefined);
  expect(runs).toBe(2);
});
