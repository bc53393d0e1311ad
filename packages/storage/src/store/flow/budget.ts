import { typeName } from "../../bytes.ts";
import { usage } from "../../errors.ts";

/**
 * Memory for content in flight, shared by all stores that are created with it. A call that could go
 * faster with more than is left goes on with what it has.
 */
export interface MemoryBudget {
  /** How much there is for content. */
  readonly bytes: number;
  /** How much is in use. It may be more than there is, because each call may always have two chunks. */
  used(): number;
  /** Takes so many bytes if they are left. */
  tryTake(bytes: number): boolean;
  /** Takes so many bytes, whether or not they are left. */
  take(bytes: number): void;
  /** Gives back so many bytes that were taken. */
  give(bytes: number): void;
  /** Calls back each time memory was given back, in the order of the calls to this, until removed. */
  onGiven(callback: () => void): void;
  /** Ends the calls that `onGiven` asked for. */
  removeOnGiven(callback: () => void): void;
}

/**
 * Bytes that a process takes with no chunk in flight: the runtime, two threads, and memory that is not
 * collected yet. Measured with Bun; so much of a budget is not for content.
 */
const RUNTIME_MEMORY = 160 * 2 ** 20;

/**
 * Creates a budget of memory to pass to `createStore`.
 *
 * @param bytes what the process may take, more than 0; `Infinity` for no bound. 160 MiB of it are for
 *   the runtime and its threads, and the rest is for content in flight. With less, each call has the
 *   two chunks that it always has
 * @throws StorageError `usage`
 */
export function createMemoryBudget(bytes: number): MemoryBudget {
  if (!(typeof bytes === "number" && bytes > 0)) {
    throw usage("memory must be a number of bytes, more than 0");
  }
  return createContentBudget(Math.max(0, bytes - RUNTIME_MEMORY));
}

/** @param bytes for content, without those for the runtime */
export function createContentBudget(bytes: number): MemoryBudget {
  const waiting = new Set<() => void>();
  let used = 0;
  return {
    bytes,
    used: () => used,
    tryTake(wanted) {
      if (used + wanted > bytes) return false;
      used += wanted;
      return true;
    },
    take(wanted) {
      used += wanted;
    },
    give(given) {
      used -= given;
      for (const callback of waiting) callback();
    },
    onGiven: (callback) => void waiting.add(callback),
    removeOnGiven: (callback) => void waiting.delete(callback),
  };
}

/** A part of a budget, which leaves the rest to others. */
export function partOf(budget: MemoryBudget, bytes: number): MemoryBudget {
  const own = createContentBudget(bytes);
  return {
    ...own,
    tryTake(wanted) {
      if (own.used() + wanted > bytes || !budget.tryTake(wanted)) return false;
      own.take(wanted);
      return true;
    },
    take(wanted) {
      budget.take(wanted);
      own.take(wanted);
    },
    give(given) {
      own.give(given);
      budget.give(given);
    },
    // What others give back may be what the part waits for; its own is given back to the whole as well.
    onGiven: budget.onGiven,
    removeOnGiven: budget.removeOnGiven,
  };
}

/**
 * Bytes of memory for a chunk in flight: its buffer, what the backend and the runtime copy of it, and
 * what has not been collected yet. Measured, it is 10 to 11 MiB for a chunk of 4 MiB.
 */
export function leafMemory(chunkSize: number): number {
  return 3 * chunkSize;
}

/** What a process may take by default. */
const MEMORY_DEFAULT = 256 * 2 ** 20;

const processBudget: MemoryBudget = createMemoryBudget(MEMORY_DEFAULT);

/**
 * The budget for the option `memory` of a store.
 *
 * @throws StorageError `usage`
 */
export function budgetOf(memory: number | MemoryBudget | undefined): MemoryBudget {
  if (memory === undefined) return processBudget;
  if (typeof memory === "number") return createMemoryBudget(memory);
  if (typeof memory?.tryTake === "function") return memory;
  throw usage(`memory must be a number of bytes or a budget, got ${typeName(memory)}`);
}
