import { earlier, NOT_COVERED } from "./names.ts";

/** A level of a path: a normalized name, `*` for any one, `**` for any number of them. */
export type PathLevel = string;

/** The levels of a rule's path, and the rule's rank. */
export interface RankedPath {
  readonly levels: readonly PathLevel[];
  readonly rank: number;
}

/** How far paths match the levels down to a value. Compare with `===`. */
export interface PathState {
  /** The first rule whose path ends here, or `NOT_COVERED`. */
  readonly rank: number;
}

/**
 * Paths as an automaton: its states are sets of positions in the paths, made when they are needed, so
 * that a step takes one look-up.
 */
export interface Paths {
  /** The state of the root. */
  readonly start: PathState;
  /** The state of values that no path can reach any more. */
  readonly none: PathState;
  /** Whether a level is the number of an item. */
  readonly hasNumbers: boolean;
  /** The name if some path has it, and otherwise the empty string, which steps in the same way. */
  literal(normalized: string): string;
  step(from: PathState, literal: string): PathState;
}

interface State extends PathState {
  /** Indexes into `levels`, ascending. */
  readonly positions: readonly number[];
  readonly next: Map<string, State>;
}

/** Bodies choose which states are made; beyond this number, those that are not in use are forgotten. */
const STATES_MAX = 4096;

export function pathAutomaton(paths: readonly RankedPath[]): Paths {
  // All paths in one array, each followed by its end.
  const levels: (PathLevel | undefined)[] = [];
  const ranks: number[] = [];
  const starts: number[] = [];
  const literals = new Set<string>();
  for (const path of paths) {
    starts.push(levels.length);
    for (const level of [...path.levels, undefined]) {
      levels.push(level);
      ranks.push(path.rank);
      if (level !== undefined && level !== "*" && level !== "**") literals.add(level);
    }
  }

  const none: State = { positions: [], rank: NOT_COVERED, next: new Map() };
  let states = new Map([["", none]]);
  const stateOf = (reached: Iterable<number>): State => {
    const all = new Set<number>();
    for (let position of reached) {
      all.add(position);
      // `**` may also be no level at all.
      while (levels[position] === "**") all.add(++position);
    }
    const positions = [...all].toSorted((a, b) => a - b);
    const key = positions.join();
    const known = states.get(key);
    if (known !== undefined) return known;
    if (states.size >= STATES_MAX) {
      states = new Map([["", none]]);
      start.next.clear();
    }
    const rank = positions
      .filter((position) => levels[position] === undefined)
      .reduce((first, position) => earlier(first, ranks[position]!), NOT_COVERED);
    const made = { positions, rank, next: new Map<string, State>() };
    states.set(key, made);
    return made;
  };
  const start = stateOf(starts);

  return {
    start,
    none,
    hasNumbers: [...literals].some((literal) => /^\d+$/u.test(literal)),
    literal: (normalized) => (literals.has(normalized) ? normalized : ""),
    step(from, literal) {
      if (from === none) return none;
      const { positions, next } = from as State;
      const known = next.get(literal);
      if (known !== undefined) return known;
      const reached = positions.flatMap((position) => {
        const level = levels[position];
        if (level === "**") return [position];
        return level === "*" || (level !== undefined && level === literal) ? [position + 1] : [];
      });
      const made = stateOf(reached);
      next.set(literal, made);
      return made;
    },
  };
}
