/** A put or get of one length. `runJob` starts this file in a child process. */
import { createStore, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { noise, hashOf, lengthOf } from "../../harness/content.ts";
import { type Measured, measurePeak, resetPeakRss } from "../../harness/memory.ts";
import { receivedJob } from "../../harness/processes.ts";
import { seededRandom } from "../../statistics/random.ts";

const MIB = 2 ** 20;
/** A piece is overwritten after this many further pieces. */
const RING = 4;
const ring = Array.from({ length: RING }, (_, i) => noise(MIB, seededRandom(i)));

export interface ScalingJob {
  /**
   * `put` writes to a backend that discards everything, so that the disk is not measured. `keep` writes
   * to the folder, for the gets.
   */
  readonly way: "put" | "keep" | "get";
  /** Content length in MiB. */
  readonly mib: number;
  readonly folder: string;
  readonly identity: string;
  /** Number of puts and gets before, because a new process compiles code first. */
  readonly warmUps: number;
  /** The address to get. */
  readonly address?: string | undefined;
}

/** The result is the address. */
export interface ScalingOutcome extends Measured<string> {
  /** The peak minus the resident memory before, in bytes. */
  readonly increase: number;
}

async function work({
  way,
  mib,
  folder,
  identity: text,
  warmUps,
  address = "",
}: ScalingJob): Promise<ScalingOutcome> {
  const identity = parseIdentity(text);
  const keys = { recipients: [identity.recipient], identities: [identity] };
  const kept = filesystem(folder, { durability: "none" });
  await using store = createStore({ ...keys, backend: kept });
  await using discarding = createStore({ ...keys, backend: { ...kept, put: async () => {} } });
  const get = async (from: string): Promise<string> => {
    await lengthOf((await store.get(from)).chunks());
    return from;
  };
  /** The same get once more. */
  const compare = async (from: string): Promise<void> => {
    const expected = await hashOf(pieces(mib));
    if ((await hashOf((await store.get(from)).chunks())) !== expected) {
      throw new Error(`wrong bytes came back, of ${mib} MiB`);
    }
  };
  for (let i = 0; i < warmUps; i++) {
    const warm = await store.put(pieces(2));
    await get(warm);
    await store.deleteTree(warm);
    await discarding.put(pieces(2));
  }
  globalThis.Bun?.gc(true);
  const before = process.memoryUsage.rss();
  resetPeakRss();
  const works = {
    put: () => discarding.put(pieces(mib)),
    keep: () => store.put(pieces(mib)),
    get: () => get(address),
  };
  const measured = await measurePeak<string>(works[way]);
  if (way !== "put") await compare(measured.result);
  return { ...measured, increase: Math.max(0, (measured.peakRss ?? 0) - before) };
}

/** Each piece starts with its number, so that a hash finds pieces in another order. */
async function* pieces(mib: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < mib; i++) {
    const piece = ring[i % RING]!;
    new DataView(piece.buffer).setUint32(0, i);
    yield piece;
  }
}

const job = receivedJob() as ScalingJob | undefined;
if (job) console.log(JSON.stringify(await work(job)));
