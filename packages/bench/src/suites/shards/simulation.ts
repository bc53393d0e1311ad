/**
 * Simulates shards of one operation over a whole store. Each shard goes through its own part of the names, as
 * fast as its machine and the line to it allow, while all of them share what the provider answers.
 */
import type { Random } from "../../statistics/random.ts";
import type { Provider } from "./provider-rates.ts";

/** What an operation does with each blob. */
export interface Operation {
  readonly name: string;
  /** Requests other than those that list, which every operation does. */
  readonly reads: number;
  readonly writes: number;
  /** Whether the bytes of the blob pass through the machine. */
  readonly moves: boolean;
}

export interface StoreSize {
  readonly blobs: number;
  /** Mean bytes of a blob. */
  readonly bytes: number;
}

/** A machine that works on one shard. */
export interface Member {
  readonly inFlight: number;
  /** Seconds from a request to its answer. */
  readonly latency: number;
  /** Bytes per second that it fetches, opens or sends. */
  readonly rate: number;
  /** Seconds until its first request. */
  readonly start: number;
  /** How much slower or faster than the others it may be, as a share. */
  readonly spread: number;
}

/** Names in a page of a listing, whose pages follow each other. */
const PAGE = 1000;

/** Blobs a second that one machine does if the provider does not slow it down. */
export function memberRate(
  { reads, writes, moves }: Operation,
  { bytes }: StoreSize,
  { inFlight, latency, rate }: Member,
): number {
  const byRequests = inFlight / latency / Math.max(1, reads + writes);
  return Math.min(PAGE / latency, byRequests, moves ? rate / bytes : Infinity);
}

/** Blobs a second that the provider allows to all shards together, or to each. */
export function providerRate({ reads, writes }: Operation, provider: Provider): number {
  return Math.min(provider.reads / (reads + 1 / PAGE), provider.writes / writes);
}

/**
 * Seconds until the last shard is done.
 *
 * @param random how many blobs each shard has, and how fast its machine is
 */
export function simulate(
  operation: Operation,
  provider: Provider,
  size: StoreSize,
  member: Member,
  shards: number,
  random: Random,
): number {
  const most = providerRate(operation, provider);
  const own = memberRate(operation, size, member);
  const active = Array.from({ length: shards }, () => {
    const rate = own * (1 + member.spread * (2 * random() - 1));
    return {
      // Names are hashes, so that the blobs of a shard have a normal distribution, as far as it matters.
      left: Math.max(0, size.blobs / shards + deviate(random) * Math.sqrt(size.blobs / shards)),
      rate: provider.perShard ? Math.min(rate, most) : rate,
    };
  });
  let seconds = member.start;
  for (let left = active; left.length > 0; left = left.filter((one) => one.left > 0)) {
    const shares = fairShares(
      left.map(({ rate }) => rate),
      provider.perShard ? Infinity : most,
    );
    const next = Math.min(...left.map((one, i) => one.left / shares[i]!));
    for (const [i, one] of left.entries()) {
      // The first to be done has exactly nothing left, whatever the rounding.
      one.left = one.left / shares[i]! <= next ? 0 : one.left - next * shares[i]!;
    }
    seconds += next;
  }
  return seconds;
}

/** A standard normal deviate, as the sum of twelve uniform ones. */
function deviate(random: Random): number {
  return Array.from({ length: 12 }, random).reduce((sum, each) => sum + each, -6);
}

/** Shares of a rate, each at most what is wanted; what some do not want, the others get. */
export function fairShares(wanted: readonly number[], all: number): number[] {
  const shares = wanted.map(() => 0);
  let left = all;
  const order = wanted.map((want, index) => ({ want, index })).toSorted((a, b) => a.want - b.want);
  for (const [done, { want, index }] of order.entries()) {
    const share = Math.min(want, left / (order.length - done));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
