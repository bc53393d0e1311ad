/**
 * Peak resident memory of a streamed put and get, each in its own process, over the filesystem backend
 * with default options: whether a long stream needs more than a short one.
 *
 * Usage: bun packages/bench/src/peak-memory.ts [MIB…]      by default 256 2048
 */
import { randomFillSync } from "node:crypto";
import { rm } from "node:fs/promises";
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { temporaryFolder } from "./harness/files.ts";
import { type Sample, judge, mebibytes } from "./harness/measure.ts";
import { runJob, measureWork, receivedJob, describePeakFloor } from "./harness/processes.ts";
import { peakTargets } from "./statistics/memory-verdicts.ts";

const MIB = 2 ** 20;
const RUNS = 3;

interface Job {
  readonly mode: "put" | "get";
  readonly mib: number;
  readonly dir: string;
  readonly identity: string;
  readonly address?: string;
}

/** The measured work of a child process; the result is the address. */
async function work({ mode, mib, dir, identity: text, address = "" }: Job) {
  const identity = parseIdentity(text);
  const store = createStore({
    backend: filesystem(dir),
    recipients: [identity.recipient],
    identities: [identity],
  });
  return measureWork(async () => {
    if (mode === "put") return store.put(randomPieces(mib));
    let length = 0;
    for await (const piece of (await store.get(address)).stream()) length += piece.length;
    if (length !== mib * MIB) throw new Error(`read ${length} bytes of ${mib * MIB}`);
    return address;
  });
}

async function* randomPieces(mib: number): AsyncGenerator<Uint8Array> {
  const piece = randomFillSync(new Uint8Array(MIB));
  for (let i = 0; i < mib; i++) yield piece;
}

const job = receivedJob() as Job | undefined;
if (job) {
  console.log(JSON.stringify(await work(job)));
} else {
  const measured = (job: Job) => runJob<Sample & { result: string }>(import.meta.path, job);
  const args = process.argv.slice(2);
  const identity = formatIdentity(await generateIdentity());
  const peaks = { put: new Map<number, number[]>(), get: new Map<number, number[]>() };
  console.log("mode   MiB   peak resident MiB   seconds   CPU seconds per GiB");
  for (const mib of args.length > 0 ? args.map(Number) : [256, 2048]) {
    for (let run = 0; run < RUNS; run++) {
      const dir = await temporaryFolder();
      try {
        const put = await measured({ mode: "put", mib, dir, identity });
        const get = await measured({ mode: "get", mib, dir, identity, address: put.result });
        const both = { put, get };
        for (const mode of ["put", "get"] as const) {
          const { peakRss, seconds, cpuSeconds } = both[mode];
          peaks[mode].set(mib, [...(peaks[mode].get(mib) ?? []), peakRss / MIB]);
          console.log(
            `${mode}  ${String(mib).padStart(5)}  ${mebibytes(peakRss).padStart(18)}  ${seconds.toFixed(2).padStart(8)}  ${(cpuSeconds / (mib / 1024)).toFixed(2).padStart(20)}`,
          );
        }
      } finally {
        await rm(dir, { recursive: true });
      }
    }
  }
  console.log("");
  judge([...peakTargets("put", peaks.put), ...peakTargets("get", peaks.get)]);
  console.log(describePeakFloor());
}
