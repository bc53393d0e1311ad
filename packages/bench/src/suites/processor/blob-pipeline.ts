/**
 * Reads, compresses, encrypts and writes folders of files, with the store and with a classic pipeline of
 * LZ4, PBKDF2, AES-GCM and base64 in JSON. Measures whole passes and each stage.
 */
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { sum } from "simple-statistics";
import { expectBytes, sha256 } from "../../harness/content.ts";
import { withFolder } from "../../harness/files.ts";
import { allEnded } from "../../harness/interleave.ts";
import { type Findings, lookup, measurementOf, together } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget } from "../../harness/targets.ts";
import type { Counter, Measurement } from "../../report/report.ts";
import { mean, percentile } from "../../statistics/describe.ts";
import type { SuiteContext } from "../../suite.ts";
import {
  CLASSIC,
  CLASSIC_OLD,
  type Contender,
  ITERATIONS,
  ITERATIONS_OLD,
  KEYLESS,
  KEY_EVERY,
  type Source,
  type StageTimes,
  contenders,
  staged,
} from "./contenders.ts";
import { MIXES, type MixedFile, filesOf, mixedFiles } from "./mixed-files.ts";

const FASTER = 20;
/** The time of a pass, as a multiple of that of the classic pipeline without its keys. */
const TIMES_MOST = 3.2;
const JUDGED = ["idk, random", "idk, convergent"];

export async function blobPipeline(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed, log } = context;
  const [count, total] = quick ? [10, 950_000] : [263, 25_100_000];
  const rounds = context.iterations ?? (quick ? 2 : 5);
  const sampling = { warmups: 0, signal };
  return withFolder(async (folder) => {
    const identity = await generateIdentity();
    const sources = await writeSources(join(folder, "mixed"), mixedFiles(count, total, seed));
    const { judged, shown, auto } = contenders(identity, seed);
    const passes: Passes = { folder: join(folder, "target"), stored: new Map(), stages: new Map() };
    const laneFor = async (one: Contender, own: readonly Source[]): Promise<Lane> => {
      // A few files first, because a whole pass would take as long as a measured one.
      await one.pass(own.slice(0, 3), join(folder, `warm-up of ${one.names[0]}`));
      return laneOf(one, own, passes);
    };
    log(`${count} files of ${total / 1e6} MB, ${rounds} rounds`);
    const lanes = await Array.fromAsync(judged, (one) => laneFor(one, sources));
    const main = await sampleLanes(lanes, { ...sampling, rounds }, (of) =>
      JUDGED.flatMap((name) => {
        const [own, classic, keyless] = [of(name), of(CLASSIC), of(KEYLESS)];
        const files = `${name}: times the files/s of the classic pipeline`;
        const time = `${name}: time to that of the classic pipeline without its keys`;
        return [
          // Keys take the processor alone, files also the memory and the file system. So the ratio to the
          // same pipeline without its keys is compared with the baseline.
          {
            ...ratioTarget(files, { of: classic, to: own }, { least: FASTER }),
            ownBoundOnly: true as const,
          },
          ratioTarget(time, { of: own, to: keyless }, { most: TIMES_MOST }),
        ];
      }),
    );
    log("other ways, and other mixes of files");
    const more = await Array.fromAsync([...shown, auto], (one) => laneFor(one, sources));
    for (const [mix, { count: files, total: bytes, ...rest }] of Object.entries(MIXES)) {
      const part = quick ? 0.05 : 1;
      const smaller = { ...rest, count: Math.ceil(files * part), total: bytes * part };
      const own = await writeSources(join(folder, mix), filesOf(smaller, seed));
      more.push(await laneFor({ ...auto, names: [`${auto.names[0]}: ${mix}`] }, own));
    }
    const others = await sampleLanes(more, { ...sampling, rounds: Math.min(rounds, 2) });
    log("stages");
    await laneOf(staged(identity), sources, passes).sample();
    const all = [...main.measurements, ...others.measurements];
    const seconds = (name: string) => lookup(all)(name).distribution.p50;
    const timesFaster = (seconds(CLASSIC_OLD) / seconds("idk, random")).toFixed(1);
    const lengths = sources.map(({ length }) => length);
    return together([
      main,
      others,
      {
        counters: JUDGED.flatMap((name): Counter[] => {
          const { bytes, blobs } = passes.stored.get(name)!;
          return [
            { name: `${name}: blobs`, value: blobs.size, unit: "count" },
            { name: `${name}: bytes stored`, value: bytes, unit: "bytes" },
          ];
        }),
        notes: all.map((pass) => `${pass.name}: ${rates(pass, passes.stored.get(pass.name))}`),
      },
      ...[CLASSIC, "idk"].map((who) => stageFindings(who, passes.stages.get(who)!, lengths)),
      {
        notes: [
          "The stages of idk: key is the recipients' slots and derived keys, encrypt is secretbox, write is the backend's put; compress and hash run separately on the same bytes; rest is layout, and the store's overhead around the codec.",
          `The classic pipeline derives a key for each file with PBKDF2-SHA256, which is most of its time: ${ITERATIONS.toLocaleString("en-US")} iterations as recommended today, or, as "fewer iterations", ${ITERATIONS_OLD.toLocaleString("en-US")} as in much older code ("idk, random" stores ${timesFaster} times as many files/s). That takes as long for every file, so each pass derives it for one file in ${KEY_EVERY} and counts the mean for the others. idk encrypts for a public key and has no password to stretch.`,
          "Unless stated otherwise, files are stored one after another and compressed with LZ4. Nothing waits for the disk. After each pass, all files are read back and compared by SHA-256; convergent passes gave the same addresses and bytes each time, random ones others.",
          "The mixes: text, JSON and images; documents are texts and office files, photos begin with a JPEG header and are not compressible.",
        ],
      },
    ]);
  });
}

async function writeSources(folder: string, files: readonly MixedFile[]): Promise<Source[]> {
  await mkdir(folder);
  return Array.fromAsync(files, async ({ name, content }) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return { name, path, length: content.length, sha256: sha256(content) };
  });
}

interface Stored {
  readonly bytes: number;
  /** The SHA-256 of each. */
  readonly blobs: ReadonlySet<string>;
}

interface Passes {
  /** Where to store; emptied before each pass. */
  readonly folder: string;
  /** By the last pass of each contender. */
  readonly stored: Map<string, Stored>;
  /** The times of all files in all passes of each contender. */
  readonly stages: Map<string, readonly StageTimes[]>;
}

function laneOf(
  { names, pass, repeats }: Contender,
  sources: readonly Source[],
  { folder, stored, stages: all }: Passes,
): Lane {
  const x = { value: sources.length, unit: "files" } as const;
  const bytesPerOperation = sum(sources.map(({ length }) => length));
  return {
    labels: names.map((name) => ({ name, series: name, x, bytesPerOperation })),
    async sample() {
      await rm(folder, { recursive: true, force: true });
      Bun.gc(true);
      const { seconds, stages = [], readBack } = await pass(sources, folder);
      await allEnded(sources.map(async ({ sha256 }, i) => expectBytes(await readBack(i), sha256)));
      const [name] = names;
      const [now, before] = [await contentsOf(folder), stored.get(name)];
      if (before) expectRepeated(name, before, now, repeats);
      stored.set(name, now);
      all.set(name, [...(all.get(name) ?? []), ...stages]);
      return seconds.map((each) => ({ seconds: each }));
    },
  };
}

/** @throws Error if two passes of the same files wrote equal blobs, or others, and should not */
export function expectRepeated(name: string, before: Stored, now: Stored, repeats: boolean): void {
  const again = [...now.blobs].filter((blob) => before.blobs.has(blob)).length;
  if (again === (repeats ? Math.max(now.blobs.size, before.blobs.size) : 0)) return;
  throw new Error(`${name}: a second pass wrote ${repeats ? "other" : "the same"} blobs`);
}

async function contentsOf(folder: string): Promise<Stored> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const blobs = new Set<string>();
  let bytes = 0;
  for (const { parentPath, name } of entries.filter((entry) => entry.isFile())) {
    const content = await readFile(join(parentPath, name));
    blobs.add(sha256(content));
    bytes += content.length;
  }
  return { bytes, blobs };
}

function rates({ distribution, bytesPerOperation = 0, x }: Measurement, stored?: Stored): string {
  const files = ((x?.value ?? 0) / distribution.p50).toFixed(0);
  const rate = (bytesPerOperation / 1e6 / distribution.p50).toFixed(1);
  const part =
    stored && `, ${((100 * stored.bytes) / bytesPerOperation).toFixed(1)} % of the bytes stored`;
  return `${files} files/s, ${rate} MB/s${part ?? ""}`;
}

/** A sample of each stage for each file, and the share of each stage. The lengths are repeated. */
function stageFindings(
  pipeline: string,
  taken: readonly StageTimes[],
  lengths: readonly number[],
): Findings {
  const whole = taken.map((times) => sum(Object.values(times)));
  const measurements = Object.keys(taken[0]!).map((stage) => {
    const labels = { name: `${pipeline}, a file: ${stage}`, series: `${pipeline}: ${stage}` };
    return measurementOf(
      labels,
      taken.map((times) => ({ seconds: times[stage]! })),
    );
  });
  const shares = Object.keys(taken[0]!).map((stage) => {
    const seconds = mean(taken.map((times) => times[stage]!));
    const share = ((100 * seconds) / mean(whole)).toFixed(1);
    return `${stage} ${share} % (${(1000 * seconds).toFixed(3)} ms)`;
  });
  const rates = whole.map((seconds, i) => lengths[i % lengths.length]! / 1e6 / seconds);
  const [low, middle, high] = [0.1, 0.5, 0.9].map((p) => percentile(rates, p).toPrecision(3));
  return {
    measurements,
    notes: [
      `${pipeline}, share of the time, and mean of a file: ${shares.join(", ")}.`,
      `${pipeline}, MB/s of a file: ${middle} (median; a tenth of the files below ${low}, a tenth above ${high}).`,
    ],
  };
}
