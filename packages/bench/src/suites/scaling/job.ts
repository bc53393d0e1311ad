/** Put or get of one length, in a process of its own: `runJob` starts this file with its job. */
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
   * `put` goes to a backend that keeps nothing: how fast a disk takes bytes is the disk's affair.
   * `keep` goes to the folder, for the gets.
   */
  readonly way: "put" | "keep" | "get";
  /** Whole MiB of content. */
  readonly mib: number;
  readonly folder: string;
  readonly identity: string;
  /** What to get. */
  readonly address?: string | undefined;
}

/** What a put or get took; its peak is what came on top of what the process held before. */
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
  // A process that has just begun compiles while it works, which is most of what 1 MiB would take.
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
