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
  /** Whether it may not have happened, because nobody was told its outcome. */
  isOptional(operation: Operation): boolean;
}

/** How far an order was found. */
export interface Outcome<State, Operation> {
  readonly isLinearizable: boolean;
  /** If there is no order: the calls that cannot follow the longest one that was found, and its state. */
  readonly stuck: readonly Call<Operation>[];
  readonly state: State;
}

/** An order so far. Calls are numbers of those that happened, and of optional ones, each by their start. */
interface Configuration<State> {
  /** All that happened before this one are in it. */
  readonly base: number;
  /** Those after it that are in it, in ascending order. */
  readonly done: readonly number[];
  /** Optional ones that are in it, and could still be. In ascending order. */
  readonly taken: readonly number[];
  /** The latest start of all that are in it. */
  readonly latest: number;
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
  const certain = sorted.filter(({ operation }) => !model.isOptional(operation));
  const optional = sorted.filter(({ operation }) => model.isOptional(operation));
  const visited = new Set<string>();
  const begin = { base: 0, done: [], taken: [], latest: Number.NEGATIVE_INFINITY, state: initial };
  const stack: Configuration<State>[] = [begin];
  let longest = { length: -1, stuck: [] as readonly Call<Operation>[], state: initial };
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { base, done, taken, latest, state } = at;
    if (base === certain.length) return { isLinearizable: true, stuck: [], state };
    const name = `${base} ${done.join(",")} ${taken.join(",")} ${latest} ${model.name(state)}`;
    if (visited.has(name)) continue;
    visited.add(name);
    if (visited.size > limit) throw new Error(`no order was found in ${limit} steps`);
    const { candidates, firstEnd } = candidatesOf(certain, base, done);
    if (base + done.length > longest.length) {
      const stuck = candidates.map((index) => certain[index]!);
      longest = { length: base + done.length, stuck, state };
    }
    // The last one is tried first.
    stack.push(
      ...withOptional(model, optional, at, firstEnd),
      ...withCertain(model, certain, optional, at, candidates),
    );
  }
  return { isLinearizable: false, ...longest };
}

/** The calls that may be next: they began before any of those that are left had ended. */
function candidatesOf<Operation>(
  certain: readonly Call<Operation>[],
  base: number,
  done: readonly number[],
): { readonly candidates: readonly number[]; readonly firstEnd: number } {
  const isDone = new Set(done);
  const candidates: number[] = [];
  let firstEnd = Number.POSITIVE_INFINITY;
  for (let index = base; index < certain.length; index += 1) {
    const { start, end } = certain[index]!;
    if (start > firstEnd) break;
    if (isDone.has(index)) continue;
    candidates.push(index);
    firstEnd = Math.min(firstEnd, end);
  }
  return { candidates, firstEnd };
}

/** The orders with one more call that happened. */
function withCertain<State, Operation>(
  model: Model<State, Operation>,
  certain: readonly Call<Operation>[],
  optional: readonly Call<Operation>[],
  { base, done, taken, latest, state }: Configuration<State>,
  candidates: readonly number[],
): readonly Configuration<State>[] {
  const found: { readonly end: number; readonly configuration: Configuration<State> }[] = [];
  for (const index of candidates) {
    const { operation, start, end } = certain[index]!;
    const now = Math.max(latest, start);
    for (const next of model.next(state, operation)) {
      const configuration = {
        ...withDone(base, done, index),
        // What has ended by then cannot follow any more, in it or not.
        taken: now === latest ? taken : taken.filter((other) => optional[other]!.end >= now),
        latest: now,
        state: next,
      };
      // If any order is one, so is that in which what changes nothing comes as soon as it can, unless
      // it is too late then for something else.
      const expires = optional.some((call) => call.end >= latest && call.end < now);
      if (model.changesNothing(operation) && !expires) return [configuration];
      found.push({ end, configuration });
    }
  }
  return found.toSorted((a, b) => b.end - a.end).map(({ configuration }) => configuration);
}

/**
 * The orders with one more call that may not have happened. Of those that have begun and lead to the same
 * state, only the one that ends first: the others can still follow for longer.
 */
function withOptional<State, Operation>(
  model: Model<State, Operation>,
  optional: readonly Call<Operation>[],
  { base, done, taken, latest, state }: Configuration<State>,
  firstEnd: number,
): readonly Configuration<State>[] {
  const present = model.name(state);
  const found = new Map<string, { readonly index: number; readonly next: State }>();
  for (const [index, { operation, start, end }] of optional.entries()) {
    if (start > firstEnd) break;
    if (end < latest || taken.includes(index)) continue;
    for (const next of model.next(state, operation)) {
      const name = model.name(next);
      if (name === present) continue;
      const group = start > latest ? `${index} ${name}` : name;
      const other = found.get(group);
      if (other === undefined || optional[other.index]!.end > end)
        found.set(group, { index, next });
    }
  }
  return [...found.values()].map(({ index, next }) => {
    const now = Math.max(latest, optional[index]!.start);
    const all = [...taken, index].filter((other) => optional[other]!.end >= now);
    return { base, done, taken: all.toSorted((a, b) => a - b), latest: now, state: next };
  });
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
