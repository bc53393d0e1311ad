import { describe, expect, test } from "bun:test";
import {
  type ControlledCall,
  type Controller,
  createController,
} from "../../../src/store/flow/controller.ts";

const MiB = 2 ** 20;

/** A line that transfers one call after another, at a distance. */
interface Line {
  /** Milliseconds. */
  readonly roundTrip: number;
  /** Bytes per millisecond. */
  rate: number;
}

/** Completes one call after another with as many in flight as allowed. */
function driver(controller: Controller, line: Line) {
  let now = 0;
  let lineFree = 0;
  const calls: { readonly call: ControlledCall; readonly ends: number }[] = [];
  const complete = (count: number, bytes = 4 * MiB): number[] => {
    const limits: number[] = [];
    for (let i = 0; i < count; i++) {
      while (calls.length < controller.limit()) {
        lineFree = Math.max(lineFree, now) + bytes / line.rate;
        calls.push({ call: controller.start(now), ends: lineFree + line.roundTrip });
      }
      const { call, ends } = calls.shift()!;
      now = ends;
      call.end(now, bytes);
      limits.push(controller.limit());
    }
    return limits;
  };
  /** Completes all calls, and makes none for so many milliseconds. */
  const pause = (ms: number, bytes = 4 * MiB): void => {
    for (const { call, ends } of calls.splice(0)) {
      now = ends;
      call.end(now, bytes);
    }
    now += ms;
  };
  /** Aborts all calls after so many milliseconds. */
  const fail = (ms: number): void => {
    now += ms;
    for (const { call } of calls.splice(0)) call.end(now, undefined);
  };
  return { calls, complete, pause, fail };
}

const far = (): Line => ({ roundTrip: 400, rate: 1e6 });

test("what calls transfer at most is not known from those that transfer nothing", () => {
  const controller = createController(4);
  expect(controller.largest()).toBe(Infinity);
  controller.start(0).end(50, 0);
  expect(controller.largest()).toBe(Infinity);
  controller.start(50).end(100, 1000);
  controller.start(100).end(150, 0);
  expect(controller.largest()).toBe(1000);
});

describe("the number of calls in flight", () => {
  test("doubles each round while the rate doubles", () => {
    const { complete } = driver(createController(4), far());
    // The first one to complete begins a round of 4, to warm up.
    expect(complete(5)).toEqual([4, 4, 4, 4, 8]);
    expect(new Set(complete(100))).toEqual(new Set([8, 16, 32, 64]));
  });

  test("at first become as many as a process can use, and at most twice as many", () => {
    const afterFirst = (roundTrip: number, bytes: number) =>
      driver(createController(4), { roundTrip, rate: 1e9 }).complete(5, bytes).at(-1);
    // 400 MiB/s are 4 MiB in 10 ms.
    expect(afterFirst(39, 4 * MiB)).toBe(4);
    expect(afterFirst(59, 4 * MiB)).toBe(6);
    expect(afterFirst(500, 4 * MiB)).toBe(8);
    expect(afterFirst(59, 40 * MiB)).toBe(4);
  });

  test("double from sixteen on if they are small and none fails, wherever the store is", () => {
    // The last one carries as much with four.
    for (const [roundTrip, rate] of [
      [1, 1e9],
      [50, 1e9],
      [1, 4096],
    ] as const) {
      const controller = createController(4);
      const limits = driver(controller, { roundTrip, rate }).complete(400, 4096);
      expect(limits.slice(0, 5)).toEqual([4, 4, 4, 4, 16]);
      expect([...new Set(limits)]).toEqual([4, 16, 32, 64]);
      controller.retry();
      expect(controller.limit()).toBe(4);
    }
  });

  test("fall back if the rate of small ones falls below half, at once or step by step", () => {
    for (const factor of [0.3, 0.6]) {
      const line = { roundTrip: 1, rate: 4096 };
      const controller = createController(4);
      const { complete } = driver(controller, line);
      for (let before = 0; before < controller.limit();) {
        before = controller.limit();
        complete(before + 5, 4096);
        line.rate *= factor;
      }
      expect(complete(200, 4096).at(-1)).toBeLessThanOrEqual(16);
    }
  });

  test("return to four if sixteen small ones have less than half of the rate of four", () => {
    const line = { roundTrip: 1, rate: 4096 };
    const controller = createController(4);
    const { complete } = driver(controller, line);
    expect(complete(5, 4096).at(-1)).toBe(16);
    line.rate /= 3;
    expect(complete(40, 4096).at(-1)).toBe(4);
  });

  test("are as many as at first once one is not small", () => {
    const controller = createController(4);
    const small = driver(controller, { roundTrip: 1, rate: 4096 });
    expect(small.complete(200, 4096).at(-1)).toBe(64);
    const large = driver(controller, { roundTrip: 10, rate: 250_000 });
    expect(new Set(large.complete(400, 4 * MiB))).toEqual(new Set([4]));
    const many = createController(24);
    expect(driver(many, { roundTrip: 1, rate: 4096 }).complete(300, 4096).at(-1)).toBe(64);
    expect(driver(many, { roundTrip: 10, rate: 250_000 }).complete(100).at(-1)).toBe(24);
    const other = createController(4);
    driver(other, far()).complete(100, 4096);
    expect(Math.max(...driver(other, far()).complete(200))).toBe(64);
  });

  test("stay as many as at first if one of the first fails", () => {
    const controller = createController(4);
    const { complete } = driver(controller, far());
    complete(2);
    controller.retry();
    expect(new Set(complete(100))).toEqual(new Set([4]));
  });

  test("returns to where it began if more bring nothing, and tries again more and more rarely", () => {
    const { complete } = driver(createController(4), { roundTrip: 20, rate: 600_000 });
    expect(Math.max(...complete(40))).toBe(8);
    const later = complete(400);
    expect(Math.max(...later)).toBe(5);
    expect(later.filter((limit) => limit === 5).length).toBeLessThan(100);
  });

  test("stays where it is while calls wait for each other", () => {
    const { complete } = driver(createController(4), { roundTrip: 10, rate: 250_000 });
    expect(new Set(complete(400))).toEqual(new Set([4]));
  });

  test("grows when a store nearby is far away later", () => {
    const line = { roundTrip: 2, rate: 1e6 };
    const { complete } = driver(createController(4), line);
    expect(new Set(complete(40))).toEqual(new Set([4]));
    line.roundTrip = 400;
    complete(8000);
    expect(Math.max(...complete(1))).toBeGreaterThan(4);
  });

  test("grows to a store far away although calls that transferred less were shorter", () => {
    const controller = createController(4);
    for (let now = -10; now < 0; now++) controller.start(now).end(now + 1, MiB / 4);
    expect(Math.max(...driver(controller, far()).complete(200))).toBe(64);
  });

  test("stays where it is while a call takes longer than any round trip", () => {
    const { complete } = driver(createController(4), { roundTrip: 3000, rate: 1e6 });
    expect(new Set(complete(200))).toEqual(new Set([4]));
  });

  test("stays where it is while the consumer or the producer is what it waits for", () => {
    const controller = createController(4);
    // Small, because those need not show that they wait for nothing.
    for (let now = 0; now < 100; now++) {
      controller.start(now).end(now + 1, 1000);
      expect(controller.limit()).toBe(4);
    }
  });

  test("stays what it has become while the consumer is what it waits for", () => {
    const controller = createController(4);
    const { calls, complete } = driver(controller, far());
    complete(200);
    expect(controller.limit()).toBe(64);
    for (const { call, ends } of calls) call.end(ends, 4 * MiB);
    for (let now = 1e6; now < 2e6; now += 1000) {
      controller.start(now).end(now + 400, 4 * MiB);
      expect(controller.limit()).toBe(64);
    }
  });

  test("stays what it has become after a while without calls", () => {
    const { complete, pause } = driver(createController(4), far());
    expect(complete(200).at(-1)).toBe(64);
    for (const ms of [100, 10_000, 100]) {
      pause(ms);
      expect(new Set(complete(200))).toEqual(new Set([64]));
    }
  });

  test("falls back when the line gets slower, for calls that pause before as many are completed", () => {
    const line = far();
    const controller = createController(4);
    const { complete, pause } = driver(controller, line);
    complete(200);
    line.rate = 40_000;
    for (let burst = 0; burst < 40; burst++) {
      pause(10_000);
      complete(1);
    }
    expect(controller.limit()).toBe(8);
  });

  test("falls back when the line gets slower, although the last call before each pause fails", () => {
    const line = far();
    const controller = createController(4);
    const { calls, complete, pause } = driver(controller, line);
    complete(200);
    line.rate = 40_000;
    for (let burst = 0; burst < 40; burst++) {
      complete(1);
      const { call, ends } = calls.pop()!;
      pause(10_000);
      call.end(ends, undefined);
    }
    expect(controller.limit()).toBe(8);
  });

  test("stays what it has become while each pause is after as many calls as are allowed", () => {
    // Eight are worth it: a quarter of the time is the line's.
    const { complete, pause } = driver(createController(4), { roundTrip: 100, rate: 400_000 });
    const limit = complete(200).at(-1)!;
    expect(limit).toBeGreaterThan(6);
    for (let burst = 0; burst < 40; burst++) {
      pause(1000);
      expect(complete(1)).toEqual([limit]);
    }
  });

  test("is not changed by the time of calls that failed together before a pause", () => {
    const controller = createController(4);
    const { complete, pause, fail } = driver(controller, far());
    complete(200);
    for (let burst = 0; burst < 4; burst++) {
      pause(100);
      complete(10);
      fail(20_000);
    }
    complete(200);
    expect(controller.limit()).toBe(64);
  });

  test("falls to where it began with one retry, and does not grow soon after", () => {
    const controller = createController(4);
    const { complete } = driver(controller, far());
    expect(complete(60).at(-1)).toBeGreaterThan(8);
    controller.retry();
    expect(controller.limit()).toBe(4);
    expect(new Set(complete(100))).toEqual(new Set([4]));
    expect(Math.max(...complete(200))).toBeGreaterThan(4);
  });

  test("falls to two while nothing succeeds, and recovers with each call that ends", () => {
    const controller = createController(4);
    const calls = Array.from({ length: 4 }, () => controller.start(0));
    for (const _ of calls) controller.retry();
    expect(controller.limit()).toBe(2);
    calls[0]!.end(10, MiB);
    expect(controller.limit()).toBe(3);
    calls[1]!.end(11, undefined);
    expect(controller.limit()).toBe(4);
  });

  test("falls to four while more than a tenth fails, and grows slowly once nothing does", () => {
    const controller = createController(24);
    const succeed = (count: number) => {
      for (let i = 0; i < count; i++) controller.start(0).end(10, MiB);
    };
    const fail = (others: number) => {
      const call = controller.start(0);
      controller.retry();
      succeed(others);
      call.end(10, MiB);
    };
    for (let i = 0; i < 100; i++) fail(18);
    expect(controller.limit()).toBe(24);
    for (let i = 0; i < 100; i++) fail(1);
    expect(controller.limit()).toBe(4);
    succeed(8 * 4);
    expect(controller.limit()).toBe(5);
    succeed(8 * 24 * 20);
    expect(controller.limit()).toBe(24);
  });

  test("falls back when the line that earned it gets slower", () => {
    const line = far();
    const controller = createController(4);
    const { complete } = driver(controller, line);
    complete(200);
    expect(controller.limit()).toBe(64);
    line.rate = 40_000;
    complete(400);
    expect(controller.limit()).toBe(8);
  });
});
