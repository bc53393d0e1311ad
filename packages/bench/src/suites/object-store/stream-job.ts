/** Streams up and down, of a store or of bare requests, in a process of their own. */
import { parseIdentity } from "@idk/storage";
import { CHUNK, hashOf, lengthOf, noise } from "../../harness/content.ts";
import { storeOf } from "../../harness/identity.ts";
import { measurePeak, watchMemory } from "../../harness/memory.ts";
import { answerJob } from "../../harness/processes.ts";
import type { Sample } from "../../harness/results.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { openBackend } from "../../object-store/scratch.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import {
  type Content,
  IN_FLIGHT,
  byHash,
  byLength,
  contentOf,
  passesOf,
  readAll,
} from "./passes.ts";

export type Way = "up" | "down";

export interface StreamJob {
  readonly ways: readonly Way[];
  /** Bare requests for the same chunks, without a store. */
  readonly bare: boolean;
  /** Bytes of content, determined by the seed. */
  readonly size: number;
  readonly seed: number;
  /** Bytes of a chunk, and how many are in flight at once. */
  readonly chunk: number;
  readonly concurrency: number;
  readonly access: ObjectStoreAccess;
  readonly identity: string;
  /** The names from an earlier stream up, for a stream down. */
  readonly names?: readonly string[] | undefined;
}

export interface Streamed extends Sample {
  readonly peakRss: number;
  /** Resident memory at the start. */
  readonly rss: number;
  /** The address, or the names of the bare objects. */
  readonly names: readonly string[];
}

interface Transfer {
  up(): Promise<readonly string[]>;
  down(names: readonly string[]): Promise<void>;
  /** Reads everything once more and throws if other bytes come back. */
  check(names: readonly string[]): Promise<void>;
}

const PIECE = 1_000_000;
/** A piece is overwritten after this many further pieces. */
const RING = 8;

/**
 * Content of any length in the memory of eight pieces of 1 MB, determined by the seed. Each piece begins
 * with its number, so that the hash detects pieces in the wrong order.
 */
async function* streamContent(
  length: number,
  seed: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const random = seededRandom(seed);
  const ring = Array.from({ length: RING }, () => noise(PIECE, random));
  for (let offset = 0, i = 0; offset < length; offset += PIECE, i++) {
    const piece = ring[i % RING]!;
    new DataView(piece.buffer).setUint32(0, i);
    yield piece.subarray(0, Math.min(PIECE, length - offset));
  }
}

function ofStore(job: StreamJob): (size: number) => Transfer {
  const { access, identity, seed, chunk, concurrency } = job;
  const store = storeOf(parseIdentity(identity), {
    backend: openBackend(access),
    // Bare requests are to transfer as many bytes.
    padding: "none",
    // Its own defaults are not set, so that a change of them is measured.
    ...(chunk === CHUNK ? {} : { chunkSize: chunk }),
    ...(concurrency === IN_FLIGHT ? {} : { concurrency }),
  });
  const stream = async ([address = ""]: readonly string[]) => (await store.get(address)).stream();
  return (size) => ({
    up: async () => [await store.put(streamContent(size, seed))],
    async down(names) {
      const length = await lengthOf(await stream(names));
      if (length !== size) throw new Error(`${length} of ${size} bytes came back`);
    },
    async check(names) {
      const hash = await hashOf(streamContent(size, seed));
      if ((await hashOf(await stream(names))) !== hash) throw new Error("wrong bytes came back");
    },
  });
}

/** All chunks have the same bytes, whose hash is computed in advance. */
function ofFetch({ access, seed, chunk, concurrency }: StreamJob): (size: number) => Transfer {
  const passes = passesOf(bareS3(access), chunk);
  const whole = contentOf(noise(chunk, seededRandom(seed)));
  return (size) => {
    const last = contentOf(whole.bytes.subarray(0, size % chunk));
    const chunks: Content[] = Array.from({ length: Math.floor(size / chunk) }, () => whole);
    if (last.bytes.length > 0) chunks.push(last);
    return {
      up: () => passes.put(chunks, concurrency),
      down: (names) => readAll(passes, names, chunks, concurrency, byLength),
      check: (names) => readAll(passes, names, chunks, concurrency, byHash),
    };
  };
}

/** @returns a result for each way */
async function stream(job: StreamJob): Promise<Streamed[]> {
  const ofSize = (job.bare ? ofFetch : ofStore)(job);
  const first = ofSize(2 * job.chunk);
  await first.down(await first.up());
  const { up, down, check } = ofSize(job.size);
  let { names = [] } = job;
  const found: Streamed[] = [];
  for (const way of job.ways) {
    Bun.gc(true);
    const stop = watchMemory();
    const { result: _, ...sample } = await measurePeak(async () => {
      if (way === "up") names = await up();
      else await down(names);
    });
    const { points: memory, peak: peakRss } = stop();
    if (way === "down") await check(names);
    const heap = Math.max(...memory.map((point) => point.heap));
    found.push({ ...sample, names, peakRss, rss: memory[0]!.rss, heap, memory });
  }
  return found;
}

await answerJob(stream);
