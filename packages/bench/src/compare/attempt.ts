import type { Random } from "../statistics/random.ts";
import type { Attempt, Round, TaskComparison } from "./comparison.ts";
import { isSettled, judge } from "./decide.ts";

/** Which process: `again` is a second one of the base. */
export type Side = keyof Round;

const SIDES: readonly Side[] = ["base", "again", "head"];

/** How often to measure. */
export interface Plan {
  /** Rounds before the first judgement. */
  readonly rounds: number;
  /** Rounds at most, while the judgement is not settled. */
  readonly maxRounds: number;
  /** Rounds before those, which do not count. */
  readonly warmups: number;
}

/** Rounds between one judgement and the next. */
const STEP = 10;

/**
 * Measures one task in rounds of three fresh processes, each round in another random order, so that
 * neither a slow moment of the machine nor what ran before is always the same one's.
 *
 * @param measure runs a process, and gives its seconds
 */
export async function attempt(
  bound: TaskComparison["bound"],
  { rounds: least, maxRounds, warmups }: Plan,
  random: Random,
  measure: (side: Side) => Promise<number>,
): Promise<Attempt> {
  const once = async (): Promise<Round> => {
    const round = { base: 0, again: 0, head: 0 };
    for (const side of shuffled(SIDES, random)) round[side] = await measure(side);
    return round;
  };
  for (let i = 0; i < warmups; i++) await once();
  const rounds: Round[] = [];
  const measureUpTo = async (count: number): Promise<Attempt> => {
    while (rounds.length < count) rounds.push(await once());
    return judge([...rounds], bound, random);
  };
  let result = await measureUpTo(least);
  while (!isSettled(result, bound) && rounds.length < maxRounds) {
    result = await measureUpTo(Math.min(rounds.length + STEP, maxRounds));
  }
  return result;
}

/** Fisher and Yates's way: each order as likely as another. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
