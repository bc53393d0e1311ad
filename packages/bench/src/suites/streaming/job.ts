/** One stream, up or down, of a store or of bare requests, in a process of its own. */
import { createStore, parseIdentity } from "@idk/storage";
import { noise, hashOf, lengthOf, sha256 } from "../../harness/content.ts";
import { measurePeak, watchMemory } from "../../harness/memory.ts";
import { receivedJob } from "../../harness/processes.ts";
import type { Sample } from "../../harness/results.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { childStore } from "../../object-store/in-child.ts";
import { openBackend } from "../../object-store/scratch.ts";
import type { MemoryPoint } from "../../report/report.ts";
import { seededRandom } from "../../statistics/random.ts";
import { BY_HASH, BY_LENGTH, type Content, passesOf, readAll } from "../passes.ts";
import { CHUNK, IN_FLIGHT } from "../round-trip.ts";

export interface StreamJob {
  /** Bare requests for the same chunks, without a store. */
  readonly bare: boolean;
  /** Bytes of content, determined by the seed. */
  readonly size: number;
  readonly seed: number;
  /** Bytes of a chunk, and how many are in flight at once. */
  readonly chunk: number;
  readonly concurrency: number;
  /** The names from the stream up: this is a stream down, compared by SHA-256 afterwards. */
  readonly names?: readonly string[] | undefined;
}

export interface Streamed extends Sample {
  readonly peakRss: number;
  /** The address, or the names of the bare objects. */
  readonly names: readonly string[];
  /** Resident memory at the start. */
  readonly rss: number;
  readonly memory: readonly MemoryPoint[];
}

interface Transfer {
  up(): Promise<readonly string[]>;
  /** Reads everything. */
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

function ofStore({ seed, chunk, concurrency }: StreamJob): (size: number) => Transfer {
  const { access, identity: text } = childStore();
  const identity = parseIdentity(text);
  const store = createStore({
    backend: openBackend(access),
    recipients: [identity.recipient],
    identities: [identity],
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

/** Each lane has one chunk of noise, whose hash is computed in advance. */
function ofFetch({ seed, chunk, concurrency }: StreamJob): (size: number) => Transfer {
  const passes = passesOf(bareS3(childStore().access), chunk);
  const random = seededRandom(seed);
  const ring = Array.from({ length: concurrency }, () => noise(chunk, random));
  const hashes = ring.map(sha256);
  return (size) => {
    const chunks = Array.from({ length: Math.ceil(size / chunk) }, (_, i): Content => {
      const bytes = ring[i % concurrency]!.subarray(0, Math.min(chunk, size - i * chunk));
      return { bytes, sha256: bytes.length === chunk ? hashes[i % concurrency]! : sha256(bytes) };
    });
    return {
      up: () => passes.put(chunks, concurrency),
      down: (names) => readAll(passes, names, chunks, concurrency, BY_LENGTH),
      check: (names) => readAll(passes, names, chunks, concurrency, BY_HASH),
    };
  };
}

async function stream(job: StreamJob): Promise<Streamed> {
  const ofSize = (job.bare ? ofFetch : ofStore)(job);
  const first = ofSize(2 * job.chunk);
  await first.down(await first.up());
  const { up, down, check } = ofSize(job.size);
  Bun.gc(true);
  const stop = watchMemory();
  const { result: names, ...sample } = await measurePeak(async () => {
    if (job.names === undefined) return up();
    await down(job.names);
    return job.names;
  });
  const { points: memory, peak } = stop();
  if (job.names !== undefined) await check(names);
  const heap = Math.max(...memory.map((point) => point.heap));
  return { ...sample, names, peakRss: peak, rss: memory[0]!.rss, heap, memory };
}

const job = receivedJob() as StreamJob | undefined;
if (job) {
  console.log(JSON.stringify(await stream(job)));
  // Open connections would keep the process alive.
  process.exit(0);
}
