import type { Random } from "../statistics/random.ts";
import type { Attempt, Round, TaskComparison } from "./comparison.ts";
import { isSettled, judge } from "./decide.ts";

/** A process of a round; `again` is a second one of the base. */
export type Side = keyof Round;

const SIDES: readonly Side[] = ["base", "again", "head"];

/** Numbers of rounds. */
export interface Plan {
  /** Rounds before the first verdict. */
  readonly rounds: number;
  /** Maximum number of rounds, if the verdict is not settled earlier. */
  readonly maxRounds: number;
  /** Unmeasured rounds before them. */
  readonly warmups: number;
}

/** Rounds between two verdicts. */
const STEP = 10;

/**
 * Measures one task in rounds of three fresh processes. Each round has a random order, so that neither
 * slow moments of the machine nor the preceding process favour one side.
 *
 * @param measure runs a process and returns its seconds
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

/** Fisher-Yates shuffle. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
