import { describe, expect, test } from "bun:test";
import { outcome } from "../../support.ts";
import { createContentBudget } from "../../../src/store/flow/budget.ts";
import { createGate } from "../../../src/store/flow/gate.ts";
import { memory } from "../../../src/backend/memory.ts";

const limits = { most: 64, itemBytes: 10, varies: false };

describe("a gate", () => {
  test("lets as many in as begin, and the next one once a call has ended", async () => {
    const gate = createGate(memory(), createContentBudget(1000), 4, limits);
    const calls = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    let entered = 0;
    const all = calls.map(({ promise }) =>
      gate.pass(async () => {
        entered += 1;
        await promise;
      }, undefined),
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
    const gate = createGate(memory(), budget, 2, limits);
    const held = Promise.withResolvers<void>();
    const holding = [1, 2].map(() => gate.pass(() => held.promise, undefined));
    const controller = new AbortController();
    const waiting = gate.pass(async () => expect.unreachable(), controller.signal);
    const next = gate.pass(async () => "next", undefined);
    await Bun.sleep(1);
    controller.abort();
    expect(await outcome(waiting)).toBe("aborted");
    held.resolve();
    await Promise.all(holding);
    expect(await next).toBe("next");
    await Bun.sleep(1);
    expect(budget.used()).toBe(0);
  });

  test("gives back the place of a call that fails", async () => {
    const budget = createContentBudget(1000);
    const gate = createGate(memory(), budget, 2, limits);
    for (let i = 0; i < 10; i++) {
      const failing = gate.pass(() => Promise.reject(new Error("it failed")), undefined);
      expect(await failing.catch((error: Error) => error.message)).toBe("it failed");
    }
    expect(budget.used()).toBe(0);
  });

  test("lets in two without memory", async () => {
    const gate = createGate(memory(), createContentBudget(0), 4, limits);
    let [now, most] = [0, 0];
    const call = async () => {
      now += 1;
      most = Math.max(most, now);
      await Bun.sleep(1);
      now -= 1;
    };
    await Promise.all(Array.from({ length: 10 }, () => gate.pass(call, undefined)));
    expect(most).toBe(2);
  });
});
