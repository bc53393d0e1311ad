import { describe, expect, test } from "bun:test";
import { outcome } from "../../support.ts";
import { StorageError } from "../../../src/errors.ts";
import { createContentBudget } from "../../../src/store/flow/budget.ts";
import { createBlobGate, createGate } from "../../../src/store/flow/gate.ts";

const toolOf = () => undefined;
const limits = { most: 64, itemBytes: 10, varies: false };

describe("a gate", () => {
  test("lets as many in as begin, and the next one once a call has ended", async () => {
    const gate = createGate(toolOf, createContentBudget(1000), 4, limits);
    const calls = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    let entered = 0;
    const all = calls.map(({ promise }) =>
      gate.pass(async () => {
        entered += 1;
        await promise;
      }, {}),
    );
    await Bun.sleep(1);
    expect(entered).toBe(4);
    calls[2]!.resolve();
    await Bun.sleep(1);
    expect(entered).toBe(5);
    for (const { resolve } of calls) resolve();
    await Promise.all(all);
    expect(entered).toBe(6);
  });

  test("ends a wait at once when its signal fires, and keeps no place for it", async () => {
    const budget = createContentBudget(1000);
    const gate = createGate(toolOf, budget, 2, limits);
    const held = Promise.withResolvers<void>();
    const holding = [1, 2].map(() => gate.pass(() => held.promise, {}));
    const controller = new AbortController();
    const waiting = gate.pass(async () => expect.unreachable(), { signal: controller.signal });
    const next = gate.pass(async () => "next", {});
    await Bun.sleep(1);
    controller.abort();
    expect(await outcome(waiting)).toBe("aborted");
    held.resolve();
    await Promise.all(holding);
    expect(await next).toBe("next");
    await Bun.sleep(1);
    expect(budget.used()).toBe(0);
  });

  test("lets nobody in before those that wait", async () => {
    const gate = createGate(toolOf, createContentBudget(1000), 2, limits);
    const order: number[] = [];
    const pass = (call: number) =>
      gate.pass(async () => {
        order.push(call);
        await Promise.resolve();
      }, {});
    const all = [1, 2, 3, 4].map(pass);
    // At each of the next moments, when those before have not all been let in yet.
    for (let call = 5; call < 40; call++) {
      await Promise.resolve();
      all.push(pass(call));
    }
    await Promise.all(all);
    expect(order).toEqual(Array.from({ length: 39 }, (_, index) => index + 1));
  });

  test("gives back the place of a call that fails", async () => {
    const budget = createContentBudget(1000);
    const gate = createGate(toolOf, budget, 2, limits);
    for (let i = 0; i < 10; i++) {
      const failing = gate.pass(() => Promise.reject(new Error("it failed")), {});
      expect(await failing.catch((error: Error) => error.message)).toBe("it failed");
    }
    expect(budget.used()).toBe(0);
  });

  test("lets in two without memory", async () => {
    const gate = createGate(toolOf, createContentBudget(0), 4, limits);
    let [now, most] = [0, 0];
    const call = async () => {
      now += 1;
      most = Math.max(most, now);
      await Bun.sleep(1);
      now -= 1;
    };
    await Promise.all(Array.from({ length: 10 }, () => gate.pass(call, {})));
    expect(most).toBe(2);
  });
});

describe("a gate for whole blobs", () => {
  const MiB = 2 ** 20;
  /** How many calls of these sizes are let in at once. */
  const entered = async (sizes: readonly (number | undefined)[], budget = Infinity) => {
    const gate = createBlobGate(toolOf, createContentBudget(budget), 64);
    const held = Promise.withResolvers<void>();
    const inside: (number | undefined)[] = [];
    const passing = sizes.map((size) =>
      gate.pass(
        async () => {
          inside.push(size);
          await held.promise;
        },
        { size },
      ),
    );
    await Bun.sleep(1);
    const first = inside.toSorted((a = 0, b = 0) => b - a);
    held.resolve();
    await Promise.all(passing);
    return first;
  };

  test("lets short ones in beside long ones", async () => {
    const long = Array.from({ length: 5 }, () => 16 * MiB);
    const short = Array.from({ length: 5 }, () => 1000);
    expect(await entered([...long, undefined, ...short])).toEqual([
      ...long.slice(0, 4),
      ...short.slice(0, 4),
    ]);
  });

  test("lets four in if two long ones take all the memory", async () => {
    const sizes = [16 * MiB, 16 * MiB, 16 * MiB, 1000, 1000, 1000];
    expect(await entered(sizes, 96 * MiB)).toEqual([16 * MiB, 16 * MiB, 1000, 1000]);
  });

  test("calls again for any size, counted by the longest, if a blob is longer than listed", async () => {
    const budget = createContentBudget(96 * MiB);
    const gate = createBlobGate(toolOf, budget, 64);
    let [now, most] = [0, 0];
    const fetching = async (_: undefined, size: number | undefined) => {
      if (size !== undefined) throw new StorageError("limit", "longer than listed");
      most = Math.max(most, ++now);
      await Bun.sleep(1);
      now -= 1;
      return "whole";
    };
    for (const size of [100, 2 ** 16 + 1]) {
      const all = Array.from({ length: 12 }, () => gate.pass(fetching, { size }));
      expect(await Promise.all(all)).toEqual(Array.from({ length: 12 }, () => "whole"));
    }
    expect(most).toBe(2);
    expect(budget.used()).toBe(0);
  });

  test("throws if a blob of unknown size is too long, or fails in another way", async () => {
    const gate = createBlobGate(toolOf, createContentBudget(96 * MiB), 64);
    for (const [code, size] of [
      ["limit", undefined],
      ["address", 100],
    ] as const) {
      let calls = 0;
      const failing = gate.pass(
        async () => {
          calls += 1;
          throw new StorageError(code, "it failed");
        },
        { size },
      );
      expect(await outcome(failing)).toBe(code);
      expect(calls).toBe(1);
    }
  });

  test.each([Number.NaN, -1, Infinity, 1.5])("takes the size %p for none", async (size) => {
    const budget = createContentBudget(1000 * MiB);
    const gate = createBlobGate(toolOf, budget, 64);
    await gate.pass(async (_, known) => expect(known).toBeUndefined(), { size });
    expect(budget.used()).toBe(0);
  });

  test("takes one of unknown size for a long one", async () => {
    // Memory for two of 16 MiB; a short one takes next to nothing.
    const unknown = Array.from({ length: 4 }, () => undefined);
    expect(await entered(unknown, 100 * MiB)).toHaveLength(2);
    expect(await entered([2 * MiB, 2 * MiB, 2 * MiB, 2 * MiB], 100 * MiB)).toHaveLength(4);
  });
});
