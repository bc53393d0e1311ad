import { describe, expect, test } from "bun:test";
import { type Controller, createController } from "../../../src/store/flow/controller.ts";

const MiB = 2 ** 20;

/** Completes one call after another with as many in flight as allowed, at a rate that depends on that. */
function driver(controller: Controller, rateOf: (running: number) => number) {
  let now = 0;
  const calls: ReturnType<Controller["start"]>[] = [];
  const limits: number[] = [];
  const complete = (count: number, bytes = 4 * MiB): number[] => {
    limits.length = 0;
    for (let i = 0; i < count; i++) {
      while (calls.length < controller.limit()) calls.push(controller.start(now));
      now += bytes / rateOf(calls.length);
      calls.shift()!.end(now, bytes);
      limits.push(controller.limit());
    }
    return limits;
  };
  return { calls, complete };
}

describe("the number of calls in flight", () => {
  test("doubles each round while the rate doubles", () => {
    const { complete } = driver(createController(4), (running) => running * 10_000);
    // Two rounds with 4: one to warm up, one to measure.
    expect(new Set(complete(9))).toEqual(new Set([4, 8]));
    expect(new Set(complete(100))).toEqual(new Set([8, 16, 32, 64]));
  });

  test("returns to where it began if more bring nothing, and tries again more and more rarely", () => {
    const { complete } = driver(createController(4), () => 250_000);
    expect(Math.max(...complete(40))).toBe(8);
    const later = complete(400);
    expect(Math.max(...later)).toBe(5);
    expect(later.filter((limit) => limit === 5).length).toBeLessThan(100);
  });

  test("stays where it is while a call takes longer than any round trip", () => {
    const { complete } = driver(createController(4), (running) => running * 100);
    expect(new Set(complete(200))).toEqual(new Set([4]));
  });

  test("stays where it is while the consumer or the producer is what it waits for", () => {
    const controller = createController(4);
    for (let now = 0; now < 100; now++) {
      controller.start(now).end(now + 1, MiB);
      expect(controller.limit()).toBe(4);
    }
  });

  test("falls to where it began with one retry, and does not grow soon after", () => {
    const controller = createController(4);
    const { calls, complete } = driver(controller, (running) => running * 10_000);
    expect(complete(60).at(-1)).toBeGreaterThan(8);
    calls[0]!.retry();
    expect(controller.limit()).toBe(4);
    expect(new Set(complete(100))).toEqual(new Set([4]));
    expect(Math.max(...complete(200))).toBeGreaterThan(4);
  });

  test("falls to two while nothing succeeds, and recovers with each call that ends", () => {
    const controller = createController(4);
    const calls = Array.from({ length: 4 }, () => controller.start(0));
    for (const call of calls) call.retry();
    expect(controller.limit()).toBe(2);
    calls[0]!.end(10, MiB);
    expect(controller.limit()).toBe(3);
    calls[1]!.end(11, undefined);
    expect(controller.limit()).toBe(4);
  });

  test("falls back when the line that earned it gets slower", () => {
    let most = Infinity;
    const controller = createController(4);
    const { complete } = driver(controller, (running) => Math.min(most, running * 10_000));
    complete(200);
    expect(controller.limit()).toBe(64);
    most = 40_000;
    complete(400);
    expect(controller.limit()).toBeLessThan(8);
  });
});
