import { describe, expect, test } from "bun:test";
import { createContentBudget } from "../../../src/store/flow/budget.ts";
import { createWindow } from "../../../src/store/flow/window.ts";
import { createStore } from "../../../src/index.ts";
import { memory } from "../../../src/backend/memory.ts";

/** A window of items of 10 bytes. */
function windowOf({
  budget = createContentBudget(1000),
  limit = 8,
  most = 64,
  itemBytes = 10,
  varies = false,
} = {}) {
  const allowed = { limit, largest: Infinity };
  const controller = { limit: () => allowed.limit, largest: () => allowed.largest };
  const abort = new AbortController();
  const window = createWindow({
    controller,
    budget,
    most,
    itemBytes,
    varies,
    signal: abort.signal,
  });
  let entered = 0;
  /** Enters as often as there is room. */
  const fill = async (): Promise<number> => {
    let waits = false;
    while (!waits) {
      waits = true;
      const enterOnce = async () => {
        if ((await window.enter()) !== undefined) entered += 1;
        waits = false;
      };
      const enter = enterOnce();
      enter.catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
    }
    return entered;
  };
  return { window, abort, allowed, fill, entered: () => entered };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the window of a pipeline", () => {
  test("is as wide as the controller and the caller allow", async () => {
    expect(await windowOf({ limit: 8 }).fill()).toBe(8);
    expect(await windowOf({ limit: 8, most: 3 }).fill()).toBe(3);
  });

  test("lets the next in as one leaves, and more if the limit has grown", async () => {
    const { window, allowed, fill, entered } = windowOf({ limit: 2 });
    expect(await fill()).toBe(2);
    window.leave();
    await turn();
    expect(entered()).toBe(3);
    allowed.limit = 4;
    // Two more than the two that are in.
    expect(await fill()).toBe(5);
    window.leave();
    await turn();
    expect(entered()).toBe(6);
  });

  test("shares a budget, but always has two", async () => {
    const budget = createContentBudget(50);
    const first = windowOf({ budget });
    const second = windowOf({ budget });
    expect(await first.fill()).toBe(5);
    expect(await second.fill()).toBe(2);
    expect(budget.used()).toBe(70);
    // The second gets what the first gives back, in turn.
    first.window.close();
    await turn();
    expect(second.entered()).toBe(3);
    second.window.close();
    expect(budget.used()).toBe(0);
  });

  test("takes less memory for items once they are known to be small", async () => {
    const MiB = 2 ** 20;
    const budget = createContentBudget(8 * MiB);
    const items = { itemBytes: 2 * MiB, varies: true };
    const { window, allowed, fill, entered } = windowOf({ budget, limit: 20, ...items });
    expect(await fill()).toBe(4);
    allowed.largest = 112 * 1024;
    for (let left = 0; left < 4; left++) window.leave();
    await turn();
    // The one that waited counts as the mean of those that it was among, and each other as half a MiB.
    await fill();
    expect(entered()).toBe(4 + 1 + 12);
    allowed.largest = MiB;
    for (let left = 0; left < 13; left++) window.leave();
    expect(budget.used()).toBeLessThanOrEqual(4 * MiB);
    window.close();
    expect(budget.used()).toBe(0);
  });

  test("takes memory for what an item has, if that is known, and gives back as much", async () => {
    const MiB = 2 ** 20;
    const budget = createContentBudget(100 * MiB);
    const { window } = windowOf({ budget, limit: 20, itemBytes: 48 * MiB, varies: true });
    const long = await window.enter(16 * MiB);
    const short = await window.enter(2 ** 16);
    expect([long, short]).toEqual([48 * MiB, 2 ** 16 + 2 ** 18]);
    expect(budget.used()).toBe(long! + short!);
    window.leave(short);
    expect(budget.used()).toBe(long!);
    window.leave(long);
    expect(budget.used()).toBe(0);
  });

  test("takes no place for a wait that its own signal ends", async () => {
    const budget = createContentBudget(1000);
    const { window } = windowOf({ budget, limit: 2 });
    const held = [await window.enter(1), await window.enter(1)];
    for (const order of ["abort", "leave"]) {
      const own = new AbortController();
      const waiting = window.enter(1, own.signal).catch((error: unknown) => error);
      await turn();
      if (order === "abort") own.abort();
      window.leave(held.pop());
      if (order === "leave") own.abort();
      expect(await waiting).toMatchObject({ code: "aborted" });
      held.push(await window.enter(1));
    }
    expect(budget.used()).toBe(held[0]! + held[1]!);
    window.close();
  });

  test("ends a wait when it is closed or aborted, and gives everything back", async () => {
    const budget = createContentBudget(1000);
    const closed = windowOf({ budget, limit: 1 });
    await closed.window.enter();
    const waiting = closed.window.enter();
    closed.window.close();
    expect(await waiting).toBeUndefined();
    const stopped = windowOf({ budget, limit: 1 });
    await stopped.window.enter();
    const aborted = stopped.window.enter();
    stopped.abort.abort();
    expect(await aborted.catch((error: unknown) => error)).toMatchObject({ code: "aborted" });
    stopped.window.close();
    expect(budget.used()).toBe(0);
  });
});

test.each([0, -1, Number.NaN, "256M", {}, null])("%p is not a budget", (given) => {
  const options = { backend: memory(), memory: given as number };
  expect(() => createStore(options)).toThrow(/memory must be/);
});
