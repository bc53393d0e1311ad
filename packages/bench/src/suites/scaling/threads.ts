/**
 * put and get of one content in memory with different numbers of threads. `runJob` starts this file in a
 * child process, because the contents would stay in the memory of the benchmarks.
 */
import { createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { noise, expectBytes, sha256 } from "../../harness/content.ts";
import { type Measured, measurePeak } from "../../harness/memory.ts";
import { receivedJob } from "../../harness/processes.ts";
import { type Lane, type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget, sampledTarget, unlessBusy } from "../../harness/targets.ts";
import { seededRandom } from "../../statistics/random.ts";

export interface ThreadsJob {
  /** Bytes; the store uses threads from 32 MiB on. */
  readonly size: number;
  /** Rounds with 0 and 2 threads, whose ratio is a target. The others run once. */
  readonly rounds: number;
  readonly seed: number;
}

const WAYS = ["put", "get"] as const;
/** The least speed of two threads, as a multiple of that without. */
const FASTER = 1.2;
/** The least share of CPU time outside of the calling thread, with two threads. */
const ELSEWHERE = 0.4;

async function work({ size, rounds, seed }: ThreadsJob): Promise<Sampled> {
  const random = seededRandom(seed);
  const content = noise(size, random);
  const elsewhere = new Map<string, number[]>();
  const lanes = (counts: readonly number[]) =>
    Promise.all(counts.map((count) => laneOf(content, count, elsewhere)));
  const sampling = { rounds, warmups: 0, seed };
  const judged = await sampleLanes(await lanes([0, 2]), sampling, (of) =>
    WAYS.flatMap((way) => {
      const [none, two] = [of(`${way}, threads: 0`), of(`${way}, threads: 2`)];
      const name = `${way}: speed with 2 threads, to that without`;
      const target = ratioTarget(name, { of: none, to: two }, { least: FASTER }, random);
      const shares = elsewhere.get(two.name) ?? [];
      return [
        // If not even one thread had a core for itself, a second one shows nothing.
        unlessBusy(target, [none]),
        sampledTarget(
          `${way}: share of the CPU time that 2 threads take over`,
          shares,
          { least: ELSEWHERE },
          { unit: "ratio", kind: "cpu", random },
        ),
      ];
    }),
  );
  const shown = await sampleLanes(await lanes([1, 4, 8]), { ...sampling, rounds: 1 });
  return { ...judged, measurements: [...judged.measurements, ...shown.measurements] };
}

/** @param elsewhere receives the shares of CPU time outside of the calling thread, by name */
async function laneOf(
  content: Uint8Array<ArrayBuffer>,
  workers: number,
  elsewhere: Map<string, number[]>,
): Promise<Lane> {
  const identity = await generateIdentity();
  const hash = sha256(content);
  const open = () =>
    createStore({
      backend: memory({ idleBytes: 0 }),
      recipients: [identity.recipient],
      identities: [identity],
      workers,
    });
  const name = (way: (typeof WAYS)[number]) => `${way}, threads: ${workers}`;
  const measured = async <T>(
    way: (typeof WAYS)[number],
    work: () => Promise<T>,
  ): Promise<Measured<T>> => {
    Bun.gc(true);
    const before = process.threadCpuUsage();
    const done = await measurePeak(work);
    const { user, system } = process.threadCpuUsage(before);
    const share = 1 - (user + system) / 1e6 / (done.cpuSeconds ?? Number.NaN);
    elsewhere.set(name(way), [...(elsewhere.get(name(way)) ?? []), share]);
    return done;
  };
  return {
    labels: WAYS.map((way) => ({
      name: name(way),
      series: `${way}, by threads`,
      x: { value: workers, unit: "threads" },
      bytesPerOperation: content.length,
    })),
    async sample() {
      // A new store each time, so that no idle threads of others are left.
      await using store = open();
      // Starts the threads.
      await store.deleteTree(await store.put(content.subarray(0, 2 ** 25)));
      const { result: address, ...put } = await measured("put", () => store.put(content));
      const { result, ...get } = await measured("get", async () =>
        (await store.get(address)).bytes({ maxBytes: content.length }),
      );
      expectBytes(result, hash);
      return [put, get];
    },
  };
}

const job = receivedJob() as ThreadsJob | undefined;
if (job) console.log(JSON.stringify(await work(job)));
