import { expect, test } from "bun:test";
import { type Side, attempt } from "../../src/compare/attempt.ts";
import { seededRandom } from "../../src/statistics/random.ts";

/** A fake machine with given process times that records the order of processes. */
function machine(seconds: (side: Side, run: number) => number) {
  const order: Side[] = [];
  const measure = async (side: Side): Promise<number> => seconds(side, order.push(side));
  return { order, measure };
}

const noisy = (share: number) => (_: Side, run: number) =>
  1 + share * (((run * 7919) % 101) / 50 - 1);

test("runs all three processes per round in varying order, and does not count warm-ups", async () => {
  const { order, measure } = machine(noisy(0.001));
  const plan = { rounds: 20, maxRounds: 60, warmups: 2 };
  const result = await attempt("cpu", plan, seededRandom(1), measure);
  expect(result.rounds).toHaveLength(20);
  expect(order).toHaveLength(22 * 3);
  const orders = Array.from({ length: 22 }, (_, i) => order.slice(i * 3, i * 3 + 3).join(" "));
  for (const each of orders) expect(each.split(" ").toSorted()).toEqual(["again", "base", "head"]);
  expect(new Set(orders).size).toBe(6);
});

test("the seed determines the order", async () => {
  const plan = { rounds: 20, maxRounds: 20, warmups: 0 };
  const orders = [1, 1, 2].map(async (seed) => {
    const { order, measure } = machine(noisy(0.001));
    await attempt("cpu", plan, seededRandom(seed), measure);
    return order.join(" ");
  });
  const [first, second, other] = await Promise.all(orders);
  expect(second).toBe(first);
  expect(other).not.toBe(first);
});

test("inconclusive rounds continue up to the maximum", async () => {
  // The heads are around the tolerance, some above and some below.
  const seconds = (side: Side, run: number) =>
    side === "head" ? 1.05 + (run % 2 === 0 ? 0.02 : -0.02) : 1;
  const plan = { rounds: 20, maxRounds: 45, warmups: 0 };
  const { measure } = machine(seconds);
  const result = await attempt("cpu", plan, seededRandom(3), measure);
  expect(result.rounds).toHaveLength(45);
  expect(result.verdict).toBe("inconclusive");
});

test("stops after the first rounds if the verdict is clear", async () => {
  const { measure } = machine((side, run) => (side === "head" ? 1.2 : 1) * noisy(0.01)(side, run));
  const plan = { rounds: 20, maxRounds: 60, warmups: 2 };
  const result = await attempt("cpu", plan, seededRandom(4), measure);
  expect(result).toMatchObject({ verdict: "slower" });
  expect(result.rounds).toHaveLength(20);
});
