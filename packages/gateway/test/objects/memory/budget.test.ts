import { expect, test } from "bun:test";
import { failureOf } from "../support.ts";
import { type Budget, createBudget, type Share } from "../../../src/objects/memory/budget.ts";

const need = (bytes: number) => ({ least: bytes, most: bytes });
/** Of a holder that looks whether its share is over. */
async function take(budget: Budget, bytes: number, owner?: string): Promise<Share> {
  const share = await budget.acquire(need(bytes), { owner });
  share.onStall(() => {});
  return share;
}
const soon = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test("shares are granted in order, and more than the least only while nobody waits", async () => {
  const budget = createBudget(100);
  const first = await budget.acquire({ least: 10, most: 60 });
  const second = await budget.acquire({ least: 30, most: 60 });
  expect([first.bytes, second.bytes, budget.used()]).toEqual([60, 30, 90]);
  const order: number[] = [];
  const waiting = [65, 5].map((bytes) =>
    budget.acquire(need(bytes)).then((share) => {
      order.push(bytes);
      return share;
    }),
  );
  // Five would fit, but was asked for later.
  await soon(1);
  expect([order, budget.waiting()]).toEqual([[], 2]);
  first.release();
  first.release();
  await Promise.all(waiting);
  expect([order, budget.used()]).toEqual([[65, 5], 100]);
});

test("more than the whole budget is granted once nothing else is in use", async () => {
  const budget = createBudget(100);
  const small = await budget.acquire(need(1));
  const large = budget.acquire(need(1000));
  await soon(1);
  expect(budget.waiting()).toBe(1);
  small.release();
  expect((await large).bytes).toBe(1000);
});

test("a signal ends the wait, and those behind it go on", async () => {
  const budget = createBudget(100);
  await budget.acquire(need(60));
  const controller = new AbortController();
  const large = budget.acquire(need(90), { signal: controller.signal });
  const behind = budget.acquire(need(40));
  controller.abort(new Error("gone"));
  expect((await failureOf(large)).message).toContain("gone");
  expect((await behind).bytes).toBe(40);
});

test("a wait has a limit, and those behind it go on", async () => {
  const budget = createBudget(100);
  const held = await budget.acquire(need(60));
  const patient = budget.acquire(need(90));
  const late = budget.acquire(need(90), { limitMs: 20 });
  expect(await failureOf(late)).toMatchObject({ code: "SlowDown", closesConnection: true });
  expect(budget.waiting()).toBe(1);
  held.release();
  (await patient).release();
  // It is over with the wait.
  const inTime = budget.acquire(need(90), { limitMs: 20 });
  await soon(40);
  expect((await inTime).isOver()).toBe(false);
});

test("a client that stalls loses its share while others wait, and only then", async () => {
  const budget = createBudget(100, { slice: 10_000, stall: 20 });
  const stalled: Share[] = [];
  const take = async (): Promise<Share> => {
    const share = await budget.acquire(need(50));
    share.onStall(() => {
      stalled.push(share);
      share.release();
    });
    return share;
  };
  const idle = await take();
  const active = await take();
  idle.idle();
  await soon(60);
  expect(stalled).toEqual([]);
  const third = await take();
  expect(stalled).toEqual([idle]);
  expect([idle.isOver(), active.isOver(), third.isOver()]).toEqual([true, false, false]);
});

test("a share that is held for long is over while others wait", async () => {
  const budget = createBudget(100, { slice: 30, stall: 20 });
  const share = await take(budget, 100);
  await soon(60);
  expect(share.isOver()).toBe(false);
  const waiting = budget.acquire(need(10));
  while (!share.isOver()) await soon(5);
  share.release();
  expect((await waiting).bytes).toBe(10);
});

test("a share that nobody would give back does not count as coming soon", async () => {
  const budget = createBudget(100, { slice: 20, stall: 20 });
  const deaf = await budget.acquire(need(40));
  const idle = await budget.acquire(need(60));
  // It is long past its time by then.
  const early = failureOf(budget.acquire(need(10), { limitMs: 60 }));
  expect(await early).toMatchObject({ code: "SlowDown" });
  expect(deaf.isOver()).toBe(false);
  idle.onStall(() => idle.release());
  idle.idle();
  expect((await budget.acquire(need(10), { limitMs: 2000 })).bytes).toBe(10);
});

test("a share is wanted while a call waits that has had none", async () => {
  const budget = createBudget(100);
  const share = await budget.acquire(need(100));
  expect(share.isWanted()).toBe(false);
  const again = budget.acquire(need(100), { isAgain: true });
  expect(share.isWanted()).toBe(false);
  const first = budget.acquire(need(100));
  expect(share.isWanted()).toBe(true);
  share.release();
  const next = await first;
  expect(next.isWanted()).toBe(false);
  next.release();
  (await again).release();
});

test("of those that wait, most that have had no share go before those that have", async () => {
  const budget = createBudget(100);
  let share = await budget.acquire(need(100));
  const order: string[] = [];
  const granted: Share[] = [];
  const wait = async (name: string, isAgain: boolean): Promise<void> => {
    granted.push(await budget.acquire(need(100), { isAgain }));
    order.push(name);
  };
  const all = [
    ...["old 1", "old 2", "old 3"].map(async (name) => wait(name, true)),
    ...["new 1", "new 2", "new 3", "new 4"].map(async (name) => wait(name, false)),
  ];
  while (order.length < all.length) {
    share.release();
    await soon(1);
    share = granted.at(-1)!;
  }
  await Promise.all(all);
  // One in four is for those that go on, so that they get on as well.
  expect(order).toEqual(["new 1", "new 2", "new 3", "old 1", "new 4", "old 2", "old 3"]);
});

test("an owner has at most half, or one share, and waits only for itself", async () => {
  const budget = createBudget(100);
  const large = await budget.acquire(need(60), { owner: "a" });
  const order: string[] = [];
  const wait = async (owner: string): Promise<Share> => {
    const share = await budget.acquire(need(20), { owner });
    order.push(owner);
    return share;
  };
  const own = wait("a");
  const others = [await wait("b"), await wait("c")];
  expect([order, budget.used(), budget.waiting()]).toEqual([["b", "c"], 100, 1]);
  // What others give back is not for it.
  for (const share of others) share.release();
  await soon(1);
  expect(budget.waiting()).toBe(1);
  large.release();
  (await own).release();
  expect([order, budget.used()]).toEqual([["b", "c", "a"], 0]);
});

test("shares are taken back from the owner that waits for itself", async () => {
  const budget = createBudget(100, { slice: 30, stall: 20 });
  const other = await take(budget, 40, "b");
  const own = await take(budget, 50, "a");
  const waiting = budget.acquire(need(50), { owner: "a" });
  while (!own.isOver()) await soon(5);
  await soon(60);
  expect(other.isOver()).toBe(false);
  own.release();
  expect((await waiting).bytes).toBe(50);
});

test("a share that needs less lets others in, and one that needs more delays them", async () => {
  const budget = createBudget(100);
  const share = await budget.acquire(need(90));
  const small = budget.acquire(need(40));
  share.resize(50);
  (await small).release();
  share.resize(120);
  expect(budget.used()).toBe(120);
  const late = budget.acquire(need(10));
  await soon(1);
  expect(budget.waiting()).toBe(1);
  share.release();
  share.resize(50);
  expect([(await late).bytes, budget.used()]).toEqual([10, 10]);
});

test("small calls of an owner do not go before a large one of the same owner that came first", async () => {
  const budget = createBudget(100);
  let share = await budget.acquire(need(20), { owner: "a" });
  const order: string[] = [];
  const large = budget.acquire(need(60), { owner: "a" }).then((granted) => {
    order.push("large");
    return granted;
  });
  const small = budget.acquire(need(20), { owner: "a" }).then((granted) => {
    order.push("small");
    return granted;
  });
  const other = await budget.acquire(need(20), { owner: "b" });
  share.release();
  share = await large;
  expect(order).toEqual(["large"]);
  other.release();
  share.release();
  (await small).release();
  expect([order, budget.used()]).toEqual([["large", "small"], 0]);
});

test("the time of a share begins when it is known what it needs", async () => {
  const budget = createBudget(100, { slice: 30, stall: 20 });
  const share = await take(budget, 100);
  const waiting = budget.acquire(need(50));
  while (!share.isOver()) await soon(5);
  share.resize(80);
  expect(share.isOver()).toBe(false);
  while (!share.isOver()) await soon(5);
  share.release();
  (await waiting).release();
});
