import type { Address, Store } from "@idk/storage";
import { pMapIterable } from "p-map";
import { codeOf, Failure, type FailureCode, isUnanswered } from "../errors/failures.ts";
import { createListFailures, type ItemFailures } from "../errors/item-failures.ts";
import { flushBehind } from "../output/flush-behind.ts";
import type { Meter } from "../progress/meter.ts";
import type { Session } from "../session.ts";
import { type AddressSource, type Listed, type Target, readAddresses } from "./address-list.ts";

/** Consecutive store failures that end the run. */
export const REFUSALS_MAX = 16;

/** Roots rewritten concurrently; each may take 4 MiB of memory. */
export const ROOTS_AT_ONCE = 12;

/** Counts store failures in a row. */
export interface Refusals {
  /** Counts a failure, or with undefined a success. @throws Failure if the store failed too often */
  add(code: FailureCode | undefined): void;
}

/** @param noun what the store failed, such as `blob` */
export function createRefusals(noun: string): Refusals {
  let refusals = 0;
  return {
    add(code) {
      refusals = code !== undefined && isUnanswered(code) ? refusals + 1 : 0;
      if (code === undefined || refusals < REFUSALS_MAX) return;
      throw new Failure(code, `stopped: the store failed ${refusals} ${noun}s in a row`);
    },
  };
}

export interface ManyOptions<T> {
  readonly concurrency: number;
  readonly failures: ItemFailures;
  /** What failures are printed with. */
  readonly nameOf: (item: T) => string;
  /** Called for each item that has succeeded or failed. */
  readonly onDone: () => void;
  /** Ends the run if the store fails many items in a row; by default nothing does. */
  readonly refusals?: Refusals | undefined;
}

/**
 * Works on many items concurrently. A failed item does not stop the others.
 *
 * @param work prints its own result, so that no result is lost if the run ends early
 * @throws the first error that no item caused, when all work under way has ended; Failure if the
 *   store fails too many items
 */
export async function runMany<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T, signal: AbortSignal) => Promise<void>,
  { concurrency, failures, nameOf, onDone, refusals }: ManyOptions<T>,
  session: Session,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([session.signal, stop.signal]);
  const runOne = async (item: T): Promise<void> => {
    try {
      await work(item, signal);
      refusals?.add(undefined);
    } catch (error) {
      // Another item has ended the run, or a write.
      if (stop.signal.aborted) throw error;
      await failures.add(nameOf(item), error);
      refusals?.add(codeOf(error));
    } finally {
      onDone();
    }
  };
  let isUnwritten = false;
  const flushing = flushBehind(session.out, () => {
    isUnwritten = true;
    stop.abort();
  });
  const inFlight = new Set<Promise<void>>();
  const start = async (item: T): Promise<void> => {
    const running = runOne(item);
    inFlight.add(running);
    try {
      await running;
    } finally {
      inFlight.delete(running);
    }
  };
  try {
    const all = pMapIterable(items, start, { concurrency, preserveOrder: false });
    for await (const _ of all) flushing.start();
    await flushing.settled();
  } catch (error) {
    // First, because a reader that is slow keeps the write waiting.
    stop.abort();
    // A write that failed has ended the run: its error is the cause.
    if (isUnwritten) await flushing.settled();
    // Otherwise wait for what is being written, but not after an interrupt, for a reader that reads no more.
    if (!session.signal.aborted) await flushing.settled().catch(() => {});
    throw error;
  } finally {
    // Wait: each removes what is incomplete, or prints where it is kept.
    stop.abort();
    await Promise.allSettled(inFlight);
  }
}

/** `runMany` for addresses; one that could not be found is a failure. */
export function runAddresses(
  listed: AsyncIterable<Listed> | Iterable<Listed>,
  work: (target: Target, signal: AbortSignal) => Promise<void>,
  options: Omit<ManyOptions<Listed>, "nameOf">,
  session: Session,
): Promise<void> {
  const workOn = async (target: Listed, signal: AbortSignal): Promise<void> => {
    if (target.address === undefined) throw target.error;
    await work(target, signal);
  };
  return runMany(listed, workOn, { ...options, nameOf: nameOfListed }, session);
}

/** What its failure is printed with. */
export function nameOfListed({ given, address }: Listed): string {
  return address ?? given;
}

/** A place in a queue. */
export interface Turn {
  /** Resolves when all that began before have ended their turns. */
  readonly mine: Promise<void>;
  end(): void;
}

/** Lets concurrent work take turns in the order in which it began. */
export function createTurns(): () => Turn {
  let last = Promise.resolve();
  return () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const mine = last;
    last = mine.then(() => promise);
    return { mine, end: resolve };
  };
}

/** How a command works on several addresses. */
export interface AddressTask {
  readonly command: string;
  readonly concurrency: number;
  /** The fewest digits of an address; by default those that let a command act. */
  readonly minDigits?: number;
  /** What has been done, such as `shared 3 addresses`. */
  readonly summary: (addresses: number) => string;
  /** Works on an address and prints the result. */
  readonly work: (address: Address, signal: AbortSignal, meter: Meter) => Promise<void>;
  /** Works on all of them together, after each. */
  readonly finish?: (failures: ItemFailures, meter: Meter) => Promise<void>;
  /** What is not done if the run ends early; by default, that the others are left to do. */
  readonly left?: () => string | undefined;
  /** Prints notes after the summary, or throws what did not succeed of `finish`. */
  readonly notes?: () => Promise<void>;
}

/**
 * Runs a command on several addresses: with progress, a summary, and the exit code of the worst
 * failure.
 */
export async function forEachAddress(
  source: AddressSource,
  opened: Pick<Store, "resolve">,
  { command, concurrency, minDigits, summary, work, finish, left, notes }: AddressTask,
  session: Session,
): Promise<void> {
  const { out } = session;
  const totalItems = source.fromFile === undefined ? source.address.length : undefined;
  using meter = session.progress.start({ command, noun: "address", totalItems });
  const failures = createListFailures(session, "address", "address");
  let [done, all] = [0, 0];
  try {
    await runAddresses(
      readAddresses(source, opened, session, minDigits),
      async ({ address }, signal) => {
        await work(address, signal, meter);
        done += 1;
      },
      { concurrency, failures, onDone: () => meter.itemDone(), refusals: createRefusals("item") },
      session,
    );
    await finish?.(failures, meter);
    all = done + failures.count;
  } catch (error) {
    meter.finish();
    // Results that cannot be written do not hide why the run ended, nor, after an interrupt, delay the note.
    const flushed = out.flush().catch(() => {});
    if (!session.signal.aborted) await flushed;
    if (done > 0 && !out.json) {
      await out.note(
        `idk: ${summary(done)} before it stopped; ${left?.() ?? "the others are left to do"}`,
      );
    }
    throw error;
  }
  meter.finish();
  await out.flush();
  await out.note(`${summary(done)}; ${failures.count || "none"} failed`);
  await notes?.();
  failures.throwIfAny(all);
}
