import { type AbstractBackup, storeBackup } from "../../support/abstract-backup.ts";
import { type Address, type Backend, addressOf } from "@idk/storage";
import {
  type Marker,
  formatMarker,
  newestMarkersFrom,
  nextGeneration,
  parseMarker,
} from "../../../src/format/names/marker.ts";
import type { TestRepository } from "../../support/repository-writer.ts";
import type { World } from "./world.ts";
import type { WriterKey } from "../../../src/format/keys/writer.ts";
import { chainOf } from "../../../src/format/names/chain.ts";

/**
 * The rules by which hosts write (docs/snapshots.md, "Writing"). The test breaks each, and expects that
 * something is lost.
 */
export interface WritingRules {
  /** Packs of the base are reused only if a listing at the session's start has its marker. */
  readonly requiresListedBase: boolean;
  /** And only if it is the newest there, or at most half a grace period old. */
  readonly requiresNewestBase: boolean;
  /** Packs of interrupted sessions are reused for half a grace period. */
  readonly forgetsInterrupted: boolean;
  /** A session ends half a grace period after its listing. */
  readonly endsInTime: boolean;
  /** The marker's own time is looked at, too. */
  readonly looksAtMarker: boolean;
}

export const WRITING_RULES: WritingRules = {
  requiresListedBase: true,
  requiresNewestBase: true,
  forgetsInterrupted: true,
  endsInTime: true,
  looksAtMarker: true,
};

/** What the cache was committed with. */
interface Base extends AbstractBackup {
  /** By the store's time, when its marker was put. */
  readonly notedAt: number;
  readonly contents: ReadonlyMap<number, Address>;
}

interface Prepared extends Omit<Base, "notedAt"> {
  readonly deadline: number;
}

interface Stored {
  readonly address: Address;
  readonly storedAt: number;
}

/** What a host remembers. All of it can be copied, as with a virtual machine. */
export interface Cache {
  readonly base: Base | undefined;
  readonly prepared: Prepared | undefined;
  /** Packs that were stored since, by content. */
  readonly interrupted: ReadonlyMap<number, Stored>;
}

export interface Host {
  /** The name of its chain. */
  readonly name: string;
  /** How far its clock is ahead, in milliseconds. */
  readonly clockAhead: number;
  cache: Cache;
  /** The contents of its files. */
  files: readonly number[];
}

let packs = 0;

/** One backup of a host, which may end with several heads. */
export async function runSession(
  world: World,
  rules: WritingRules,
  host: Host,
  key: WriterKey,
  to: Omit<TestRepository, "backend">,
  backend: Backend,
): Promise<void> {
  const { random, grace } = world;
  const io: TestRepository = { ...to, backend };
  const chain = chainOf(to.repository, host.name);

  const listing = async (): Promise<{ marker: Marker; storedAt: number }[]> => {
    const found = [];
    const after = newestMarkersFrom(chain, await backend.currentTime!());
    for await (const { name, storedAt } of backend.listMarkers!(`${chain}/`, { after })) {
      found.push({ marker: parseMarker(name)!, storedAt });
    }
    return found;
  };
  const storedAtOf = async (marker: Marker): Promise<number | undefined> => {
    for await (const { storedAt } of backend.listMarkers!(formatMarker(marker))) return storedAt;
    return undefined;
  };
  const change = (changed: Partial<Cache>) => {
    host.cache = { ...host.cache, ...changed };
  };
  /** Takes what was prepared as committed, if its marker is there and was in time. */
  const settle = (storedAt: number | undefined): void => {
    const { prepared } = host.cache;
    if (prepared === undefined) return;
    change({ prepared: undefined });
    if (storedAt === undefined || storedAt > prepared.deadline) return;
    change({ base: { ...prepared, notedAt: storedAt }, interrupted: new Map() });
  };

  for (let isLast = false; !isLast;) {
    isLast = !random.oneIn(4);
    const start = await backend.currentTime!();
    const markers = await listing();
    const names = markers.map(({ marker }) => formatMarker(marker));
    const { prepared } = host.cache;
    settle(prepared && markers[names.indexOf(formatMarker(prepared.marker))]?.storedAt);

    const known = host.cache.base;
    const place = known === undefined ? -1 : names.indexOf(formatMarker(known.marker));
    const isListed = place >= 0 || (!rules.requiresListedBase && known !== undefined);
    const isNewest = place === 0;
    const baseUntil =
      isNewest || !rules.requiresNewestBase ? Infinity : (known?.notedAt ?? 0) + grace / 2;
    const base = isListed && start <= baseUntil ? known : undefined;

    let deadline = rules.endsInTime ? start + grace / 2 : Infinity;
    if (base !== undefined) deadline = Math.min(deadline, baseUntil);
    const contents = new Map<number, Address>();
    const { interrupted } = host.cache;
    for (const content of host.files) {
      const ofBase = base?.contents.get(content);
      if (ofBase !== undefined) {
        contents.set(content, ofBase);
        continue;
      }
      const ofInterrupted = interrupted.get(content);
      // With some time left to end in.
      const until = rules.forgetsInterrupted
        ? (ofInterrupted?.storedAt ?? -Infinity) + grace / 2
        : Infinity;
      if (ofInterrupted !== undefined && world.storeTime() + grace / 8 <= until) {
        contents.set(content, ofInterrupted.address);
        deadline = Math.min(deadline, until);
        continue;
      }
      const bytes = new TextEncoder().encode(`pack ${(packs += 1)} ${random.unit()}`);
      const address = addressOf(bytes);
      // Noted before, because the answer may come much later than the pack is stored.
      const stored = { address, storedAt: world.storeTime() };
      await backend.put(address, bytes);
      contents.set(content, address);
      change({ interrupted: new Map([...host.cache.interrupted, [content, stored]]) });
      // The rest comes after a part.
      if (!isLast && random.oneIn(2)) break;
    }
    const ahead = markers.filter(({ marker }) => marker.generation < start + 23 * 3_600_000);
    const previous = [...ahead.map(({ marker }) => marker), ...(base ? [base.marker] : [])];
    const generation = nextGeneration(
      previous.map((marker) => marker.generation),
      Math.floor(world.now + host.clockAhead),
    );
    // A part keeps what its base has, too.
    if (!isLast) for (const [content, pack] of base?.contents ?? []) contents.set(content, pack);
    const kind = isLast ? "snap" : "part";
    const made = await storeBackup(io, key, host.name, {
      kind,
      generation,
      packs: [...contents.values()],
      base,
      withMarker: false,
      head: { tags: [`${random.upTo(3)}`] },
    });
    const { marker } = made;
    const needed: string[] = [marker.address, ...contents.values()];
    if (kind === "snap") needed.push(made.snapshot);
    for (const { address } of made.reaches) needed.push(address);

    const accepted = rules.looksAtMarker ? deadline : Infinity;
    if ((await backend.currentTime!()) > deadline) return;
    change({ prepared: { ...made, contents, deadline: accepted } });
    world.expect({ marker, kind, name: host.name, needed, deadline: accepted });
    await backend.putMarker!(formatMarker(marker));
    settle(await storedAtOf(marker));
    if (host.cache.base?.marker.address !== marker.address) return;
  }
}
