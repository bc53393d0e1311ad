import { type Backend, wrapBackend } from "@idk/storage";
import type { OwnRepository } from "./repositories.ts";
import type { Repository } from "../../src/repository/repository.ts";
import { chainOf } from "../../src/format/names/chain.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

/** A request of an owner that others may come before: a listing of the settings, or the put of a marker. */
interface Step {
  readonly owner: number;
  readonly kind: "list" | "put";
}

/** What an owner does. */
export type Act = (repository: Repository) => Promise<unknown>;

/** An owner whose listings of settings and markers wait until they are let through. */
interface Owner {
  /** What it waits for; undefined once it has ended. */
  readonly next: () => Promise<Step["kind"] | undefined>;
  readonly letThrough: () => void;
  readonly result: Promise<unknown>;
}

async function startOwner(given: OwnRepository, act: Act): Promise<Owner> {
  const chain = chainOf(given.repository, "");
  let isGated = false;
  let waiting = Promise.withResolvers<Step["kind"] | undefined>();
  let pass = Promise.withResolvers<void>();
  const gate = async (kind: Step["kind"]) => {
    if (!isGated) return;
    const passing = pass.promise;
    waiting.resolve(kind);
    await passing;
  };
  const backend: Backend = wrapBackend(given.backend, {
    listMarkers: (list) =>
      async function* listed(prefix, options) {
        // A listing of the chain begins with one key, and its other pages follow at once.
        if (prefix === `${chain}/` && options?.limit === 1) await gate("list");
        yield* list(prefix, options);
      },
    putMarker: (put) => async (name, options) => {
      await gate("put");
      await put(name, options);
    },
  });
  const memory = volatileHeadMemory();
  const gated = await given.open(memory, backend);
  await gated.settings();
  // What it reads before and after the change decides nothing.
  const { settings } = await given.open(memory);
  isGated = true;
  const result = act({ ...gated, settings });
  const end = () => waiting.resolve(undefined);
  result.then(end, end);
  return {
    next: () => waiting.promise,
    letThrough() {
      const passed = pass;
      waiting = Promise.withResolvers();
      pass = Promise.withResolvers();
      passed.resolve();
    },
    result,
  };
}

/** Which of those that wait goes on. */
export type Choice = (waiting: readonly Step[]) => number;

interface Ending {
  readonly steps: readonly Step[];
  readonly results: readonly PromiseSettledResult<unknown>[];
}

/**
 * Runs owners in an order.
 *
 * @returns undefined if the order is another one that was run, too
 */
export async function runOwners(
  given: OwnRepository,
  acts: readonly Act[],
  choose: Choice,
): Promise<Ending | undefined> {
  const owners = await Promise.all(acts.map((act) => startOwner(given, act)));
  const steps: Step[] = [];
  let before: readonly Step[] = [];
  for (;;) {
    const waiting: Step[] = [];
    for (const [owner, one] of owners.entries()) {
      const kind = await one.next();
      if (kind !== undefined) waiting.push({ owner, kind });
    }
    if (waiting.length === 0) break;
    const last = steps.at(-1);
    // Two of one kind that follow each other may as well come in the other order.
    const options = waiting.filter(({ owner, kind }) => {
      const isSwapped = last?.kind === kind && owner < last.owner;
      return !isSwapped || !before.some((other) => other.owner === owner && other.kind === kind);
    });
    if (options.length === 0) return undefined;
    const step = options[choose(options)]!;
    steps.push(step);
    before = waiting;
    given.clock.now += 1;
    owners[step.owner]!.letThrough();
  }
  return { steps, results: await Promise.allSettled(owners.map(({ result }) => result)) };
}

export const textOf = (steps: readonly Step[]): string =>
  steps.map(({ owner, kind }) => `${kind} ${owner}`).join(", ");

/** Every order, each once. */
export async function inEveryOrder(runWith: (choose: Choice) => Promise<void>): Promise<void> {
  /** What was chosen, and how many there were to choose from. */
  let path: { taken: number; readonly of: number }[] = [];
  do {
    let at = 0;
    await runWith(({ length }) => {
      path[at] ??= { taken: 0, of: length };
      // The address decides between heads of one generation, and is another each time.
      return Math.min(path[at++]!.taken, length - 1);
    });
    path = path.slice(0, path.findLastIndex(({ taken, of }) => taken + 1 < of) + 1);
    const last = path.at(-1);
    if (last !== undefined) last.taken += 1;
  } while (path.length > 0);
}
