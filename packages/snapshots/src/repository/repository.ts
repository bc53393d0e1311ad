import { type Backend, type Identity, type NaCl, StorageError } from "@idk/storage";
import { shortBlobGate } from "@idk/storage/blobs";
import { FORGETTING_CHAIN, SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import {
  type FoundHead,
  type ListedMarker,
  READ_AT_ONCE,
  type ReadHeadOptions,
  type RefusedHead,
  listMarkers,
  newestMarkers,
  readHead,
  readInOrder,
} from "./find-heads.ts";
import { type HeadMemory, type RememberedHead, isRolledBack, rememberedOf } from "./head-memory.ts";
import { type Pinned, closedBehind, whyNotAllowed } from "../rules/counting.ts";
import type { RepositoryHead, SnapHead } from "../format/records/head.ts";
import type { ChainId } from "../format/names/identifiers.ts";
import type { MarkerBackend } from "./marker-backend.ts";
import type { RecentHeads } from "./recent-heads.ts";
import type { RecordReader } from "./records.ts";
import { FRESH_MS, type StoreClock } from "./store-clock.ts";
import type { WriterKey } from "../format/keys/writer.ts";
import { compareMarkers } from "../format/names/marker.ts";

/** What everybody's configuration fixes of a repository, from a trusted place. */
export interface PinnedRepository extends Pinned {
  /** The grace period in seconds. The one in the settings is used if it is longer. */
  readonly graceSeconds: number;
}

/** A repository that was found in a store, with what was read to find it. */
export interface DiscoveredRepository extends PinnedRepository {
  readonly read: WhatWasRead;
}

/** What the first use of a repository need not read again. */
export interface WhatWasRead {
  readonly clock: StoreClock;
  readonly recent: RecentHeads;
  /** The newest settings, if their marker was the first. */
  readonly settings: FoundSettings | undefined;
  /** This machine's time before they were listed, in milliseconds since 1970. */
  readonly listedAt: number;
}

/**
 * Options of everything that reads heads. With `reportUnreadable`, `onRefused` is also told of those that the
 * server cannot return now, unless they decide something: settings, and all heads for what forgets, prunes
 * or writes.
 */
export interface HeadOptions extends ReadHeadOptions {
  /** Goes on with a newest head that is older than the one remembered, and remembers that one. */
  readonly acceptRollback?: boolean | undefined;
  /** Is told of every head that does not count and is passed over. */
  readonly onRefused?: ((refused: RefusedHead) => void) | undefined;
}

/** The newest settings. */
export interface FoundSettings extends FoundHead {
  readonly head: RepositoryHead;
}

/** A snapshot's head. */
export interface FoundSnapshot extends FoundHead {
  readonly head: SnapHead;
}

/** An open repository. Everything in it is verified with what the configuration pins. */
export interface Repository extends RecordReader {
  readonly backend: MarkerBackend;
  readonly naCl: NaCl;
  readonly identities: readonly Identity[];
  readonly pinned: PinnedRepository;
  /** The key that this machine signs with, if it writes. */
  readonly writer: WriterKey | undefined;
  readonly memory: HeadMemory;
  readonly clock: StoreClock;

  /**
   * The newest settings: two requests the first time, none if the repository was just discovered, and none
   * later.
   *
   * @param refresh reads them again
   * @throws StorageError `head` if there are none, `rollback`
   */
  settings(options?: HeadOptions & { readonly refresh?: boolean }): Promise<FoundSettings>;

  /**
   * The newest head of a chain that counts, of any kind: two requests, beside those for settings.
   *
   * @param name of the chain
   * @returns undefined if there is none
   * @throws StorageError `rollback`
   */
  newest(name: string, options?: HeadOptions): Promise<FoundHead | undefined>;

  /**
   * The snapshots of a chain, newest first, forgotten ones included, each read as it is asked for. The
   * first takes two requests, if the newest head is a snapshot.
   *
   * @throws StorageError `rollback` before the first
   */
  snapshots(name: string, options?: HeadOptions): AsyncGenerator<FoundSnapshot>;

  /**
   * The head of a marker: one request, none if it is too far ahead.
   *
   * @returns undefined if it does not count, which is reported
   */
  read(listed: ListedMarker, options?: HeadOptions): Promise<FoundHead | undefined>;

  /**
   * All heads that count, of all chains, newest first within each chain. Some are read at once. What the
   * machine remembers is compared with each chain, also with those that the store does not list.
   *
   * @throws StorageError `rollback`
   */
  heads(options?: HeadOptions): AsyncGenerator<FoundHead>;
}

/** What a repository consists of, besides its methods. */
export type RepositoryParts = Omit<
  Repository,
  "settings" | "newest" | "snapshots" | "read" | "heads"
>;

/** @param given settings that were read a moment ago */
export function repositoryOf(
  parts: RepositoryParts,
  given?: Pick<WhatWasRead, "settings" | "listedAt">,
): Repository {
  const { backend, pinned, memory, clock } = parts;
  let unused = given;
  const gate = shortBlobGate(backend);
  let known: FoundSettings | undefined;

  async function readSettings(options: HeadOptions, refresh: boolean): Promise<FoundSettings> {
    const chain = chainOf(pinned.repository, SETTINGS_CHAIN);
    const comparison = await beginComparison(undefined);
    const ready = takeGiven(comparison);
    const found =
      (refresh ? undefined : ready) ??
      (await firstOf(counting(newestOf(chain, options.signal), options, comparison)));
    await remember(chain, await compare(chain, SETTINGS_CHAIN, found, comparison, options));
    if (found?.head.kind === "repo") return { ...found, head: found.head };
    throw new StorageError(
      "head",
      `${backend.description} has no settings of the repository ${pinned.repository} that its ` +
        "owner signed: check that the location and the configuration belong together",
    );
  }

  /** The settings that were given, once. What another process has remembered since then may be newer. */
  function takeGiven({ before }: Comparison): FoundHead | undefined {
    const { settings: found, listedAt = 0 } = unused ?? {};
    unused = undefined;
    const age = Date.now() - listedAt;
    const remembered = found && before.get(found.head.chain);
    const isOld = remembered !== undefined && isRolledBack(remembered, found);
    return age >= 0 && age < FRESH_MS && !isOld ? found : undefined;
  }

  /** As `newestMarkers`, with no request for the store's time alone. */
  async function* newestOf(
    chain: ChainId,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<ListedMarker> {
    const guess = clock.guess() ?? (await clock.now(signal));
    const markers = newestMarkers(backend, chain, guess, signal);
    try {
      const first = await markers.next();
      const now = await clock.now(signal);
      // A clock that is behind would look past the newest.
      if (now > guess + CLOCK_OFF_MAX) {
        yield* newestMarkers(backend, chain, now, signal);
      } else if (first.done !== true) {
        yield first.value;
        yield* markers;
      }
    } finally {
      // Most callers take the first only.
      await markers.return(undefined);
    }
  }

  let [begun, latest] = [0, 0];
  const settings: Repository["settings"] = async ({ refresh = false, ...options } = {}) => {
    if (known !== undefined && !refresh) return known;
    begun += 1;
    const own = begun;
    const found = await readSettings(options, refresh);
    // Of calls at the same time, the one that began last may know more.
    if (own > latest) [known, latest] = [found, own];
    return found;
  };

  /**
   * The heads of markers, without those that do not count, which are reported.
   *
   * @param isAll reads as many at once as complete fastest. Otherwise the first may be the only one that is
   *   wanted, and as many are read at once as did not count before it: anyone who can put can make up markers
   */
  async function* counting(
    markers: AsyncIterable<ListedMarker>,
    options: HeadOptions,
    comparison: Comparison,
    isAll = false,
  ): AsyncGenerator<FoundHead> {
    const { signal } = options;
    // Older settings may allow what the newest ones have revoked.
    const reportUnreadable = options.reportUnreadable === true && comparison.settings !== undefined;
    // Anyone can sign heads that are not allowed, so only those are kept that matter.
    const payloads = new Set<string>();
    const addresses = new Set<string>();
    for (const { marker, payloadHash } of comparison.before.values()) {
      payloads.add(payloadHash);
      addresses.add(marker.address);
    }
    let hasLong = false;
    const onLong = (): void => {
      hasLong = true;
    };
    const read = async (listed: ListedMarker) => {
      const now = await clock.now(signal);
      const readFrom = async (from: Backend) =>
        readHead({ ...parts, backend: from }, pinned, listed, now, {
          signal,
          reportUnreadable,
          onLong,
        });
      return gate.pass(readFrom, { signal });
    };
    let refused = 0;
    const wanted = isAll
      ? () => (hasLong ? READ_AT_ONCE : gate.width())
      : () => Math.min(1 + refused, READ_AT_ONCE);
    for await (const found of readInOrder(read, markers, wanted)) {
      refused += 1;
      const rules = (await comparison.settings)?.head.settings;
      if ("error" in found) {
        const { address } = found.marker;
        if (addresses.has(address)) comparison.faults.set(address, found.error);
        options.onRefused?.(found);
        continue;
      }
      const why = rules && whyNotAllowed(found, rules, pinned.owner);
      if (why === undefined) {
        refused = 0;
        yield found;
        continue;
      }
      if (payloads.has(found.payloadHash)) comparison.refused.add(found.payloadHash);
      const { marker, storedAt } = found;
      const text = `the head ${marker.address} does not count: ${why}`;
      options.onRefused?.({ marker, storedAt, error: new StorageError("head", text) });
    }
  }

  /**
   * Compares the newest head of a chain with what was remembered before the store listed the chain: what
   * another process has remembered since then need not be in that listing.
   *
   * @returns what is to be remembered, if it is newer
   */
  async function compare(
    chain: ChainId,
    name: string,
    found: FoundHead | undefined,
    comparison: Comparison,
    { acceptRollback = false }: HeadOptions,
  ): Promise<RememberedHead | undefined> {
    const remembered = comparison.before.get(chain);
    if (remembered !== undefined && isRolledBack(remembered, found)) {
      if (!acceptRollback && !(await isExplained(remembered, comparison))) {
        const fault = comparison.faults.get(remembered.marker.address);
        throw rollback(name, remembered, found, fault);
      }
      await memory.rollBack(chain, remembered, found && rememberedOf(found));
      return undefined;
    }
    if (found === undefined) return undefined;
    const isNewer = remembered === undefined || compareMarkers(found.marker, remembered.marker) < 0;
    return isNewer ? rememberedOf(found) : undefined;
  }

  async function remember(chain: ChainId, head: RememberedHead | undefined): Promise<void> {
    if (head !== undefined) await memory.remember(new Map([[chain, head]]));
  }

  const beginComparison = async (current: Comparison["settings"]): Promise<Comparison> => ({
    before: await memory.recall(),
    settings: current,
    refused: new Set(),
    faults: new Map(),
  });

  /** The heads that `find` yields. The settings that it judges them by are read at the same time. */
  async function* judged(
    options: HeadOptions & { readonly refresh?: boolean },
    find: (comparison: Comparison) => AsyncGenerator<FoundHead>,
  ): AsyncGenerator<FoundHead> {
    // What is compared is recalled before anything is listed.
    const comparison = await beginComparison(undefined);
    // So that not both ask for it.
    if (clock.guess() === undefined) await clock.now(options.signal);
    const current = settings(options);
    // Awaited in the end; until then a rejection must not count as unhandled.
    current.catch(() => undefined);
    try {
      yield* find({ ...comparison, settings: current });
      await current;
    } catch (error) {
      // Without settings, nothing else says much.
      await current;
      throw error;
    } finally {
      await Promise.allSettled([current]);
    }
  }

  const chainHeads = (name: string, options: HeadOptions): AsyncGenerator<FoundHead> =>
    judged(options, async function* newestFirst(comparison) {
      const chain = chainOf(pinned.repository, name);
      const markers = newestOf(chain, options.signal);
      let isFirst = true;
      for await (const found of counting(markers, options, comparison)) {
        if (isFirst) await remember(chain, await compare(chain, name, found, comparison, options));
        isFirst = false;
        yield found;
      }
      if (isFirst) await compare(chain, name, undefined, comparison, options);
    });

  const allHeads = (options: HeadOptions): AsyncGenerator<FoundHead> =>
    judged({ ...options, refresh: true }, async function* chainByChain(comparison) {
      const seen = new Set<ChainId>();
      /** Remembered in one go: each change replaces the whole memory durably. */
      const newer = new Map<ChainId, RememberedHead>();
      const markers = listMarkers(backend, "", options.signal ? { signal: options.signal } : {});
      let hasFailed = false;
      try {
        for await (const head of counting(markers, options, comparison, true)) {
          const { chain, name } = head.head;
          if (!seen.has(chain)) {
            const one = await compare(chain, name, head, comparison, options);
            if (one !== undefined) newer.set(chain, one);
            seen.add(chain);
          }
          yield head;
        }
        for (const [chain, { name }] of comparison.before) {
          if (!seen.has(chain)) await compare(chain, name, undefined, comparison, options);
        }
      } catch (error) {
        hasFailed = true;
        throw error;
      } finally {
        if (newer.size > 0) {
          await memory.remember(newer).catch((error: unknown) => {
            // What came first, such as a rollback, says more.
            if (!hasFailed) throw error;
          });
        }
      }
    });

  return {
    ...parts,
    settings,
    newest: (name, options = {}) => firstOf(chainHeads(name, options)),
    async *snapshots(name, options = {}) {
      for await (const found of chainHeads(name, options)) {
        if (found.head.kind === "snap") yield { ...found, head: found.head };
      }
    },
    async read(listed, options = {}) {
      const current = await settings(options);
      const comparison = await beginComparison(Promise.resolve(current));
      return firstOf(counting(just(listed), options, comparison));
    },
    heads: (options = {}) => allHeads(options),
  };
}

/** What the heads that are found are compared with, and what explains a difference. */
interface Comparison {
  readonly before: ReadonlyMap<ChainId, RememberedHead>;
  /** Those that the heads are judged by; undefined of settings themselves. */
  readonly settings: Promise<FoundSettings> | undefined;
  /** The payloads of remembered heads that the settings do not allow. */
  readonly refused: Set<string>;
  /** The addresses of remembered heads that do not count by themselves, and why. */
  readonly faults: Map<string, StorageError>;
}

/** Whether a chain may have a newest head that is older: what was newer need not count any more. */
async function isExplained(
  { name, payloadHash }: RememberedHead,
  { settings, refused }: Comparison,
): Promise<boolean> {
  if (refused.has(payloadHash)) return true;
  // Closing a chain never means these.
  if (name === SETTINGS_CHAIN || name === FORGETTING_CHAIN) return false;
  const rules = (await settings)?.head.settings;
  return rules !== undefined && closedBehind(name, rules) < Infinity;
}

/** How far this machine's clock may be behind before the newest settings are looked for again. */
const CLOCK_OFF_MAX = 60 * 60 * 1000;

async function* just<T>(item: T): AsyncGenerator<T> {
  yield item;
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item;
  return undefined;
}

function rollback(
  name: string,
  { marker }: RememberedHead,
  found: FoundHead | undefined,
  fault: StorageError | undefined,
): StorageError {
  const what =
    name === SETTINGS_CHAIN
      ? "the settings of the repository"
      : name === FORGETTING_CHAIN
        ? "the list of forgotten snapshots"
        : `the snapshots named ${JSON.stringify(name)}`;
  const now =
    found === undefined ? "there is none now" : `the newest is now ${dated(found.marker)}`;
  return new StorageError(
    "rollback",
    `the store has an older state of ${what} than this machine has seen, ${dated(marker)}: ${now}. ` +
      (fault === undefined
        ? "It may have lost or hidden newer data; accept the rollback only if you know why"
        : `It has that head, which cannot be used: ${fault.message}. Accept the rollback only if you know why`),
    { cause: fault },
  );
}

function dated({ address, generation }: { address: string; generation: number }): string {
  const date = new Date(generation);
  const time = Number.isNaN(date.getTime()) ? `generation ${generation}` : date.toISOString();
  return `the head ${address.slice(0, 12)} of ${time}`;
}
