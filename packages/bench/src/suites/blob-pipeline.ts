/**
 * Reads, compresses, encrypts and writes a folder of mixed files, with the store and with a classic
 * pipeline of LZ4, PBKDF2, AES-GCM and base64 in JSON. Measures whole passes and each stage.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { temporaryFolder } from "../harness/files.ts";
import { type Findings, named } from "../harness/results.ts";
import { sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import type { Measurement } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { ITERATIONS, ITERATIONS_OLD } from "./blob-pipeline/classic.ts";
import {
  CLASSIC,
  CLASSIC_OLD,
  type Contender,
  type Source,
  contenders,
} from "./blob-pipeline/contenders.ts";
import { KINDS, type MixedFile, mixedFiles } from "./blob-pipeline/mixed-files.ts";
import { stagedStore } from "./blob-pipeline/staged-store.ts";
import { type StageTimes, stageMeasurements } from "./blob-pipeline/stages.ts";

const FASTER = 20;
/** Number of files per pass that are read back and compared. */
const CHECKED = 3;

export async function blobPipeline(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const [count, total] = quick ? [10, 950_000] : [263, 25_100_000];
  const rounds = context.iterations ?? 2;
  const random = seededRandom(seed);
  const folder = await temporaryFolder();
  try {
    const sources = await writeSources(join(folder, "sources"), mixedFiles(count, total, seed));
    const identity = await generateIdentity();
    const classic: StageTimes[] = [];
    const all = contenders(identity, seed, (times) => classic.push(times));
    context.log(`${count} files of ${total / 1e6} MB in ${all.length} ways, ${rounds} rounds`);
    const passes = await measurePasses(all, sources, folder, { rounds, signal, seed });
    const put = await stagedStore(join(folder, "stages"), identity);
    const idk: StageTimes[] = [];
    for (const { path } of sources) idk.push(await put(path));
    // Without the warm-up.
    const taken = { idk, classic: classic.slice(-rounds * count) };
    const stages = stageMeasurements(taken, Math.round(total / count), random);
    const whole = named(passes, CLASSIC);
    return {
      measurements: [...passes, ...stages.measurements],
      targets: ["idk, random", "idk, convergent"].map((name) => {
        const title = `${name}: times the files/s of the classic pipeline`;
        const parts = [named(passes, name)];
        return ratioTarget(title, { whole, parts }, { least: FASTER }, random);
      }),
      notes: [
        ...passes.map((pass) => `${pass.name}: ${rates(pass, count)}`),
        ...stages.notes,
        `The classic pipeline derives a key for each file with PBKDF2-SHA256, which is most of its time: with ${formatCount(ITERATIONS)} iterations as recommended today, or, as "fewer iterations", ${formatCount(ITERATIONS_OLD)} as in much older code. "idk, random" stores ${timesFaster(passes)} times as many files/s as the latter. It encrypts for a public key and has no password to stretch.`,
        "Unless stated otherwise, files are stored one after another and compressed with LZ4. Nothing waits for the disk.",
        `The files: ${KINDS.map((kind) => kindNote(sources, kind)).join(", ")}.`,
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeSources(folder: string, files: readonly MixedFile[]): Promise<Source[]> {
  await mkdir(folder);
  const sources = files.map((file) => ({ file, path: join(folder, file.name) }));
  for (const { file, path } of sources) await writeFile(path, file.content);
  return sources;
}

async function measurePasses(
  all: readonly Contender[],
  sources: readonly Source[],
  folder: string,
  sampling: { readonly rounds: number; readonly signal: AbortSignal; readonly seed: number },
): Promise<Measurement[]> {
  // Warm up with a few files, because a whole pass would take as long as a measured one.
  for (const [i, { pass }] of all.entries()) await pass(sources.slice(0, 3), join(folder, `${i}`));
  const target = join(folder, "target");
  const tasks = all.map(({ name, pass, counts }) => {
    let readBack: (index: number) => Promise<Uint8Array>;
    return {
      name,
      series: name,
      x: { value: sources.length, unit: "files" as const },
      bytesPerOperation: bytesOf(sources),
      prepare: () => rm(target, { recursive: true, force: true }),
      run: async () => {
        readBack = await pass(sources, target);
      },
      check: () => compare(name, sources, readBack),
      counts,
    };
  });
  return sampleInterleaved(tasks, { ...sampling, warmups: 0 });
}

async function compare(
  name: string,
  sources: readonly Source[],
  readBack: (index: number) => Promise<Uint8Array>,
): Promise<void> {
  for (const [index, { file }] of sources.slice(0, CHECKED).entries()) {
    if (Buffer.compare(await readBack(index), file.content) !== 0) {
      throw new Error(`${name} returned other bytes for ${file.name}`);
    }
  }
}

function timesFaster(passes: readonly Measurement[]): string {
  const seconds = (name: string) => median(named(passes, name).samples);
  return (seconds(CLASSIC_OLD) / seconds("idk, random")).toFixed(1);
}

function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

function rates(pass: Measurement, count: number): string {
  const { distribution, bytesPerOperation = 0, bytesSent = 0 } = pass;
  const files = (count / distribution.p50).toFixed(0);
  const rate = (bytesPerOperation / 1e6 / distribution.p50).toFixed(1);
  const part = ((100 * bytesSent) / bytesPerOperation).toFixed(1);
  return `${files} files/s, ${rate} MB/s, ${part} % of the bytes stored`;
}

function kindNote(sources: readonly Source[], kind: MixedFile["kind"]): string {
  const own = sources.filter(({ file }) => file.kind === kind);
  return `${own.length} ${kind} with ${(bytesOf(own) / 1e6).toFixed(1)} MB`;
}

function bytesOf(sources: readonly Source[]): number {
  return sources.reduce((sum, { file }) => sum + file.content.length, 0);
}
