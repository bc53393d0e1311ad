/** The stages of storing a file: their times, and their measurement in a store. */
import { readFile } from "node:fs/promises";
import { type Address, type Identity, type Store, createStore, loadNaCl } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { compressFrame } from "lz4-napi";
import { measurementOf } from "../../harness/results.ts";
import type { Measurement } from "../../report/report.ts";
import { mean, percentile } from "../../statistics/describe.ts";
import type { Random } from "../../statistics/random.ts";
import { partsMeter } from "../object-store/parts.ts";

/** Seconds per stage of one file, in the order of the stages. */
export type StageTimes = Readonly<Record<string, number>>;

/** Assigns the time since the last lap to a stage. For one file. */
export function stopwatch(): { lap(stage: string): void; times(): StageTimes } {
  const times: Record<string, number> = {};
  let last = performance.now();
  return {
    lap(stage) {
      const now = performance.now();
      times[stage] = (now - last) / 1000;
      last = now;
    },
    times: () => times,
  };
}

/** A store, and a put of a file into it, which returns its address and the time of each stage. */
export async function stagedStore(
  folder: string,
  identity: Identity,
): Promise<{
  readonly store: Store;
  put(source: string): Promise<{ readonly address: Address; readonly times: StageTimes }>;
}> {
  const meter = partsMeter(await loadNaCl(), filesystem(folder, { durability: "none" }));
  const store = createStore({
    backend: meter.backend,
    recipients: [identity.recipient],
    identities: [identity],
    compression: "lz4",
    nacl: meter.naCl,
  });
  return {
    store,
    async put(source) {
      const { lap, times } = stopwatch();
      const bytes = await readFile(source);
      lap("read");
      const address = await store.put(bytes);
      lap("put");
      const { header: key, cipher: encrypt, hash, transfer: write } = meter.take();
      lap("hash");
      await compressFrame(bytes);
      lap("compress");
      const { read = 0, put = 0, compress = 0 } = times();
      const rest = Math.max(0, put - compress - key - encrypt - hash - write);
      return { address, times: { read, compress, key, encrypt, hash, rest, write } };
    },
  };
}

/**
 * Measurements of the stages, with one sample per file, and the share of each stage.
 *
 * @param lengths of the files in bytes, repeated
 */
export function stageFindings(
  pipeline: string,
  taken: readonly StageTimes[],
  lengths: readonly number[],
  random: Random,
): { measurements: Measurement[]; notes: string[] } {
  const whole = taken.map((times) => Object.values(times).reduce((sum, each) => sum + each, 0));
  const stages = Object.keys(taken[0]!).map((stage) => ({
    stage,
    samples: taken.map((times) => ({ seconds: times[stage]! })),
  }));
  const parts = stages.map(({ stage, samples }) => {
    const seconds = mean(samples.map((sample) => sample.seconds));
    const share = ((100 * seconds) / mean(whole)).toFixed(1);
    return `${stage} ${share} % (${(1000 * seconds).toFixed(3)} ms)`;
  });
  const rates = whole.map((seconds, i) => lengths[i % lengths.length]! / 1e6 / seconds);
  const [low, middle, high] = [0.1, 0.5, 0.9].map((p) => percentile(rates, p).toPrecision(3));
  return {
    measurements: stages.map(({ stage, samples }) =>
      measurementOf(
        { name: `${pipeline}, a file: ${stage}`, series: `${pipeline}: ${stage}` },
        samples,
        random,
      ),
    ),
    notes: [
      `${pipeline}, share of the time, and mean of a file: ${parts.join(", ")}.`,
      `${pipeline}, MB/s of a file: ${middle} (median; a tenth of the files below ${low}, a tenth above ${high}).`,
    ],
  };
}
