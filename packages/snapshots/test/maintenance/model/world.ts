import { type Backend, wrapBackend } from "@idk/storage";
import {
  type Marker,
  compareMarkers,
  formatMarker,
  parseMarker,
} from "../../../src/format/names/marker.ts";
import type { Head } from "../../../src/format/records/head.ts";
import type { Random } from "./random.ts";
import { closedBehind } from "../../../src/rules/counting.ts";
import { memory } from "@idk/storage/memory";

interface ForgettingInForce {
  readonly kind: string;
  readonly marker: Marker;
  /** In real time. */
  readonly at: number;
  /** By the store's time. */
  readonly storedAt: number;
}

/** Something that a snapshot needs was lost. */
export class Lost extends Error {
  override readonly name = "Lost";
}

/** A head that a host has made, and what it needs. */
export interface Made {
  readonly marker: Marker;
  readonly kind: "snap" | "part";
  /** The name of its chain. */
  readonly name: string;
  /** Of blobs: itself, its snapshot, its list of packs and those before it, and all packs. */
  readonly needed: readonly string[];
  /** By what the host has noted: the store's time until which its marker has to be stored. */
  readonly deadline: number;
}

interface Committed extends Made {
  /** In real time. */
  readonly at: number;
  /** Whether the host takes it as its newest snapshot. */
  isGood: boolean;
  /** Whether its marker was deleted when it could be. */
  isGone: boolean;
}

/**
 * A store with a virtual clock, and a judge that knows which blobs may not be lost. The store's times are
 * each wrong by less than an eighth of the grace period.
 */
export interface World {
  readonly random: Random;
  /** In milliseconds. */
  readonly grace: number;
  /** How far the store's times are off at most. */
  readonly error: number;
  /** The real time. */
  now: number;
  readonly backend: Backend;
  /** What the store says the time is. */
  storeTime(): number;
  /** A host is about to put the marker of a head. */
  expect(made: Made): void;
  /** Heads whose markers are there and that were not late. */
  good(): readonly Made[];
  /** Heads whose markers were stored after their deadline: the host has said that it failed. */
  hasFailed(): boolean;
  isForgotten(marker: Marker): boolean;
  /** A host takes this head as stored in time. */
  trust(address: string): void;
  /** Whether a head may not lose anything now. */
  isTrusted(marker: Marker): boolean;
  /** The owner was told that this head unforgets these, however late it was. */
  confirm(unforgetting: Marker, unforgotten: readonly Marker[]): void;
  /** Throws unless each blob that a head needs that was not forgotten is there. */
  checkAll(): void;
  /** What any head that is marked needs. */
  neededNow(): ReadonlySet<string>;
}

const ERROR_MAX = 11 * 3_600_000;

/**
 * @param decode reads a head
 * @param neededBy what a snapshot or part of a real backup needs, besides itself
 */
export function world(
  random: Random,
  grace: number,
  errorMax: number,
  start: number,
  decode: (backend: Backend, address: string) => Promise<Head>,
  neededBy: (backend: Backend, head: Head) => Promise<string[]>,
): World {
  const expected = new Map<string, Made>();
  const committed = new Map<string, Committed>();
  const needing = new Map<string, Committed[]>();
  const present = new Set<string>();
  const marked = new Set<string>();
  const inForce = new Map<string, ForgettingInForce>();
  const closedAt = new Map<string, number>();
  let failed = false;
  // With a second for what is rounded. Beyond half a day, heads would seem to be a day ahead.
  const error = Math.min(grace / 8 - 1000, ERROR_MAX, errorMax);
  const storeTime = () => Math.floor(self.now + (random.unit() * 2 - 1) * error);
  const inner = memory({ now: storeTime, idleBytes: 0 });

  const storedAtOf = async (name: string): Promise<number> => {
    for await (const { storedAt } of inner.listMarkers!(name)) return storedAt;
    return Infinity;
  };

  const commit = async (name: string): Promise<void> => {
    const made = expected.get(name);
    if (made === undefined || committed.has(name)) return;
    const isGood = (await storedAtOf(name)) <= made.deadline;
    if (!isGood) failed = true;
    const head: Committed = { ...made, at: self.now, isGood, isGone: false };
    committed.set(name, head);
    if (isGood) require(head);
  };

  /** From now on, nothing that the head needs may go. */
  const require = (head: Committed): void => {
    const missing = head.needed.find((blob) => !present.has(blob));
    if (missing !== undefined) {
      throw new Lost(`${formatMarker(head.marker)} was committed without ${missing}`);
    }
    for (const blob of head.needed) {
      const others = needing.get(blob);
      if (others === undefined) needing.set(blob, [head]);
      else others.push(head);
    }
  };

  /** Whether a head may lose what it needs: all that makes it superfluous is a grace period old. */
  const mayLose = ({ marker, kind, isGone }: Committed): boolean => {
    // An owner whose listing saw it, but not what had forgotten it, may have forgotten it again since.
    if (isGone) return true;
    // Two times of the store, the head's and the prune's, are each wrong by an eighth at most.
    const since = self.now - grace + grace / 4;
    const { chain } = marker;
    if ((closedAt.get(chain) ?? Infinity) > since) {
      const newer = [...committed.values()].filter(
        (other) => other.marker.chain === chain && compareMarkers(other.marker, marker) < 0,
      );
      const ends = kind === "part" ? newer : newer.filter((other) => other.kind === "snap");
      if (!ends.some(({ at }) => at <= since)) return false;
    }
    if (kind === "part") return true;
    const forgetting = inForce.get(formatMarker(marker));
    return forgetting?.kind === "forget" && forgetting.at <= since;
  };

  /** What the owner did is in force as soon as its marker is there. */
  const obey = async (marker: Marker): Promise<void> => {
    const storedAt = await storedAtOf(formatMarker(marker));
    const head = await decode(inner, marker.address);
    const name = formatMarker(marker);
    if ((head.kind === "snap" || head.kind === "part") && !committed.has(name)) {
      // Of a real backup. Whether it was in time, it says when it ends.
      const needed = [marker.address, ...(await neededBy(inner, head).catch(() => []))];
      const { kind } = head;
      const made = { marker, kind, name: head.name, needed, deadline: Infinity };
      committed.set(name, { ...made, at: self.now, isGood: false, isGone: false });
      return;
    }
    if (head.kind === "repo") {
      for (const { marker: made, name } of committed.values()) {
        const behind = closedBehind(name, head.settings);
        if (behind < Infinity && !closedAt.has(made.chain))
          closedAt.set(made.chain, Math.max(self.now, behind));
      }
    }
    if (head.kind !== "forget" && head.kind !== "unforget") return;
    for (const named of head.markers) {
      const key = formatMarker(named);
      const other = inForce.get(key);
      if (other !== undefined && compareMarkers(other.marker, marker) < 0) continue;
      // Unless the owner is told that it was in time.
      const isLate =
        head.kind === "unforget" && storedAt > (other?.storedAt ?? Infinity) + grace / 2;
      if (!isLate) inForce.set(key, { kind: head.kind, marker, at: self.now, storedAt });
    }
  };

  const checkWhole = ({ marker, needed }: Committed): void => {
    const name = formatMarker(marker);
    if (!marked.has(name)) throw new Lost(`the marker ${name} is gone`);
    const missing = needed.find((blob) => !present.has(blob));
    if (missing !== undefined) throw new Lost(`${name} lacks ${missing}`);
  };

  const lose = (blob: string): void => {
    for (const head of needing.get(blob) ?? []) {
      if (mayLose(head)) continue;
      throw new Lost(`${blob} was deleted, which ${formatMarker(head.marker)} needs`);
    }
  };

  const backend = wrapBackend(inner, {
    put: (put) => async (name, bytes, options) => {
      await put(name, bytes, options);
      present.add(name);
    },
    delete: (erase) => async (name, options) => {
      lose(name);
      await erase(name, options);
      present.delete(name);
    },
    putMarker: (put) => async (name, options) => {
      await put(name, options);
      marked.add(name);
      // It is in force again, if what it names is still there.
      const again = committed.get(name);
      if (again !== undefined && present.has(again.marker.address)) again.isGone = false;
      await commit(name);
      if (!expected.has(name)) await obey(parseMarker(name)!);
    },
    deleteMarker: (erase) => async (name, options) => {
      const head = committed.get(name);
      const may = head === undefined || mayLose(head);
      if (head?.isGood && !may) throw new Lost(`the marker ${name} was deleted`);
      await erase(name, options);
      marked.delete(name);
      if (head !== undefined) head.isGone = may;
    },
  });

  const self: World = {
    random,
    grace,
    error,
    now: start,
    backend,
    storeTime,
    expect(made) {
      expected.set(formatMarker(made.marker), made);
    },
    good: () =>
      [...committed.values()].filter(
        ({ isGood, marker }) => isGood && marked.has(formatMarker(marker)),
      ),
    trust(address) {
      const head = [...committed.values()].find(({ marker }) => marker.address === address);
      if (head === undefined) throw new Lost(`a backup says that it has stored ${address}`);
      // Some time may have passed since the host saw its marker.
      if (head.isGood || mayLose(head)) return;
      head.isGood = true;
      require(head);
    },
    isTrusted(marker) {
      const head = committed.get(formatMarker(marker));
      return head?.isGood === true && !mayLose(head);
    },
    hasFailed: () => failed || [...committed.values()].some(({ isGood }) => !isGood),
    isForgotten: (marker) => inForce.get(formatMarker(marker))?.kind === "forget",
    confirm(unforgetting, unforgotten) {
      for (const marker of unforgotten) {
        const key = formatMarker(marker);
        const other = inForce.get(key);
        if (other !== undefined && compareMarkers(other.marker, unforgetting) <= 0) continue;
        inForce.set(key, { kind: "unforget", marker: unforgetting, at: self.now, storedAt: 0 });
        const head = committed.get(key);
        if (head?.isGood) checkWhole(head);
      }
    },
    checkAll() {
      for (const head of committed.values()) if (head.isGood && !mayLose(head)) checkWhole(head);
    },
    neededNow() {
      const needed = new Set<string>();
      for (const [name, head] of committed) {
        if (marked.has(name)) for (const blob of head.needed) needed.add(blob);
      }
      return needed;
    },
  };
  return self;
}
