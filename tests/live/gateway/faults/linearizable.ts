/*
 * Whether there is an order in which requests that overlapped could have been done one after another, with
 * the outcomes that their clients saw: Wing and Gong, "Testing and verifying concurrent objects" (1993), with
 * the memory of visited configurations of Lowe, "Testing for linearizability" (2017).
 */

/** A request between two moments. It took effect at one moment between them. */
export interface Call<Operation> {
  readonly operation: Operation;
  /** When it was sent, in ms. */
  readonly start: number;
  /** When its answer was there, in ms; `Infinity` if it may still take effect. */
  readonly end: number;
}

/** What operations do. */
export interface Model<State, Operation> {
  /** The states that there may be after an operation; none if it cannot have had its outcome. */
  next(state: State, operation: Operation): readonly State[];
  /** The same text for equal states alone. */
  name(state: State): string;
  /** Whether an operation with its outcome changes no state at all. */
  changesNothing(operation: Operation): boolean;
}

/** How far an order was found. */
export interface Outcome<State, Operation> {
  readonly isLinearizable: boolean;
  /** If there is no order: the calls that cannot follow the longest one that was found, and its state. */
  readonly stuck: readonly Call<Operation>[];
  readonly state: State;
}

interface Configuration<State> {
  /** All calls before this one are done. */
  readonly base: number;
  /** Calls after it that are done, in ascending order. */
  readonly done: readonly number[];
  readonly state: State;
}

/** @throws Error if the search takes more than `limit` steps */
export function findOrder<State, Operation>(
  model: Model<State, Operation>,
  initial: State,
  calls: readonly Call<Operation>[],
  limit = 2_000_000,
): Outcome<State, Operation> {
  const sorted = calls.toSorted((a, b) => a.start - b.start);
  const visited = new Set<string>();
  const stack: Configuration<State>[] = [{ base: 0, done: [], state: initial }];
  let longest = { length: -1, stuck: [] as readonly Call<Operation>[], state: initial };
  let steps = 0;
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { base, done, state } = at;
    if (base === sorted.length) return { isLinearizable: true, stuck: [], state };
    const name = `${base} ${done.join(",")} ${model.name(state)}`;
    if (visited.has(name)) continue;
    visited.add(name);
    steps += 1;
    if (steps > limit) throw new Error(`no order was found in ${limit} steps`);
    const candidates = candidatesOf(sorted, base, done);
    if (base + done.length > longest.length) {
      const stuck = candidates.map((index) => sorted[index]!);
      longest = { length: base + done.length, stuck, state };
    }
    stack.push(...following(model, sorted, at, candidates));
  }
  return { isLinearizable: false, ...longest };
}

/** The calls that may be next: they began before any of those that are not done had ended. */
function candidatesOf<Operation>(
  sorted: readonly Call<Operation>[],
  base: number,
  done: readonly number[],
): readonly number[] {
  const isDone = new Set(done);
  const candidates: number[] = [];
  let firstEnd = Number.POSITIVE_INFINITY;
  for (let index = base; index < sorted.length; index += 1) {
    const { start, end } = sorted[index]!;
    if (start > firstEnd) break;
    if (isDone.has(index)) continue;
    candidates.push(index);
    firstEnd = Math.min(firstEnd, end);
  }
  return candidates;
}

/** The configurations after one more call, the most promising one last. */
function following<State, Operation>(
  model: Model<State, Operation>,
  sorted: readonly Call<Operation>[],
  { base, done, state }: Configuration<State>,
  candidates: readonly number[],
): readonly Configuration<State>[] {
  const found: { readonly end: number; readonly configuration: Configuration<State> }[] = [];
  for (const index of candidates) {
    const { operation, end } = sorted[index]!;
    const states = model.next(state, operation);
    const after = (next: State): Configuration<State> => ({
      ...withDone(base, done, index),
      state: next,
    });
    // If any order is one, so is that in which what changes nothing comes as soon as it can.
    const [only] = states;
    if (only !== undefined && model.changesNothing(operation)) return [after(only)];
    for (const next of states) found.push({ end, configuration: after(next) });
  }
  return found.toSorted((a, b) => b.end - a.end).map(({ configuration }) => configuration);
}

function withDone(
  base: number,
  done: readonly number[],
  index: number,
): { readonly base: number; readonly done: readonly number[] } {
  const all = [...done, index].toSorted((a, b) => a - b);
  let next = base;
  let taken = 0;
  while (all[taken] === next) {
    next += 1;
    taken += 1;
  }
  return { base: next, done: all.slice(taken) };
}
