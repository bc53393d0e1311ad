/** A put or get of one length. `runJob` starts this file in a child process. */
import { randomFillSync } from "node:crypto";
import { createStore, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import type { Sample } from "../../harness/measure.ts";
import { resetPeakRss } from "../../harness/memory.ts";
import { measureWork, receivedJob } from "../../harness/processes.ts";

const MIB = 2 ** 20;
const WARM_UPS = 5;

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
  /** The address to get. */
  readonly address?: string | undefined;
}

/** The result of a put or get. Its peak is the increase over the memory of the process before. */
export interface ScalingOutcome extends Sample {
  readonly address: string;
}

async function work({
  way,
  mib,
  folder,
  identity: text,
  address,
}: ScalingJob): Promise<ScalingOutcome> {
  const identity = parseIdentity(text);
  const keys = { recipients: [identity.recipient], identities: [identity] };
  const kept = filesystem(folder, { durability: "none" });
  await using store = createStore({ ...keys, backend: kept });
  await using discarding = createStore({ ...keys, backend: { ...kept, put: async () => {} } });
  const get = async (from: string, expected: number): Promise<string> => {
    let length = 0;
    for await (const piece of (await store.get(from)).chunks()) length += piece.length;
    if (length !== expected) throw new Error(`read ${length} bytes of ${expected}`);
    return from;
  };
  // A new process compiles code first, which would take longer than 1 MiB of content.
  for (let i = 0; i < WARM_UPS; i++) {
    const warm = await store.put(pieces(2));
    await get(warm, 2 * MIB);
    await store.deleteTree(warm);
    await discarding.put(pieces(2));
  }
  globalThis.Bun?.gc(true);
  const before = process.memoryUsage.rss();
  resetPeakRss();
  const works = {
    put: () => discarding.put(pieces(mib)),
    keep: () => store.put(pieces(mib)),
    get: () => get(address!, mib * MIB),
  };
  const { result, ...sample } = await measureWork<string>(works[way]);
  return { ...sample, peakRss: Math.max(0, sample.peakRss - before), address: result };
}

async function* pieces(mib: number): AsyncGenerator<Uint8Array> {
  const piece = randomFillSync(new Uint8Array(MIB));
  for (let i = 0; i < mib; i++) yield piece;
}

const job = receivedJob() as ScalingJob | undefined;
if (job) console.log(JSON.stringify(await work(job)));
