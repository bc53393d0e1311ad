/**
 * Reads, compresses, encrypts and writes folders of files, with the store and with a classic pipeline of
 * LZ4, PBKDF2, AES-GCM and base64 in JSON. Measures whole passes and each stage.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Identity, generateIdentity } from "@idk/storage";
import { temporaryFolder } from "../harness/files.ts";
import { type Findings, lookup } from "../harness/results.ts";
import { type Lane, sampleLanes } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import type { Counter, Measurement } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { ITERATIONS, ITERATIONS_OLD } from "./blob-pipeline/classic.ts";
import {
  CLASSIC,
  CLASSIC_OLD,
  type Contender,
  KEY_EVERY,
  type Source,
  contenders,
} from "./blob-pipeline/contenders.ts";
import { MIXES, type MixedFile, filesOf, mixedFiles } from "./blob-pipeline/mixed-files.ts";
import { expectBytes, sha256 } from "../harness/content.ts";
import { type StageTimes, stageFindings, stagedStore } from "./blob-pipeline/stages.ts";

const FASTER = 20;
/** The time of a pass, as a multiple of that of the classic pipeline without its keys. */
const TIMES_MOST = 3.2;
const KEYLESS = "classic, without its keys";
const JUDGED = ["idk, random", "idk, convergent"];

export async function blobPipeline(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed, log } = context;
  const [count, total] = quick ? [10, 950_000] : [263, 25_100_000];
  const rounds = context.iterations ?? (quick ? 2 : 5);
  const random = seededRandom(seed);
  const folder = await temporaryFolder();
  try {
    const identity = await generateIdentity();
    const sources = await writeSources(join(folder, "mixed"), mixedFiles(count, total, seed));
    const { judged, shown } = contenders(identity, seed);
    const classic: StageTimes[] = [];
    const stored = new Map<string, Stored>();
    const laneFor = async (own: readonly Source[], one: Contender): Promise<Lane> => {
      // A few files first, because a whole pass would take as long as a measured one.
      await one.pass(own.slice(0, 3), join(folder, `warm-up of ${one.name}`));
      return lane(one, own, join(folder, "target"), stored, classic);
    };
    log(`${count} files of ${total / 1e6} MB, ${rounds} rounds`);
    const sampling = { warmups: 0, signal, seed };
    const main = await sampleLanes(
      await Promise.all(judged.map((one) => laneFor(sources, one))),
      { ...sampling, rounds },
      (of) =>
        JUDGED.flatMap((name) => [
          ratioTarget(
            `${name}: times the files/s of the classic pipeline`,
            { of: of(CLASSIC), to: of(name) },
            { least: FASTER },
            random,
          ),
          ratioTarget(
            `${name}: time to that of the classic pipeline without its keys`,
            { of: of(name), to: of(KEYLESS) },
            { most: TIMES_MOST },
            random,
          ),
        ]),
    );
    log("other ways, and other mixes of files");
    const lanes = await Promise.all(shown.map((one) => laneFor(sources, one)));
    const auto = shown.find(({ name }) => name.includes("zstd"))!;
    for (const [mix, { count: files, total: bytes, ...rest }] of Object.entries(MIXES)) {
      const part = quick ? 0.05 : 1;
      const smaller = { ...rest, count: Math.ceil(files * part), total: bytes * part };
      const own = await writeSources(join(folder, mix), filesOf(smaller, seed));
      lanes.push(await laneFor(own, { ...auto, name: `${auto.name}: ${mix}` }));
    }
    const others = await sampleLanes(lanes, { ...sampling, rounds: Math.min(rounds, 2) });
    log("stages");
    const idk = await stagesOf(sources, join(folder, "stages"), identity);
    const lengths = sources.map(({ file }) => file.content.length);
    const stages = [
      stageFindings("classic", classic, lengths, random),
      stageFindings("idk", idk, lengths, random),
    ];
    const passes = [...main.measurements, ...others.measurements];
    return {
      measurements: [...passes, ...stages.flatMap(({ measurements }) => measurements)],
      targets: main.targets,
      counters: JUDGED.flatMap((name): Counter[] => [
        { name: `${name}: blobs`, value: stored.get(name)!.blobs, unit: "count" },
        { name: `${name}: bytes stored`, value: stored.get(name)!.bytes, unit: "bytes" },
      ]),
      notes: [
        ...passes.map((pass) => `${pass.name}: ${rates(pass, stored.get(pass.name))}`),
        ...stages.flatMap(({ notes }) => notes),
        "The stages of idk: key is the recipients' slots and derived keys, encrypt is secretbox, write is the backend's put; compress and hash run separately on the same bytes; rest is layout, and the store's overhead around the codec.",
        `The classic pipeline derives a key for each file with PBKDF2-SHA256, which is most of its time: ${ITERATIONS.toLocaleString("en-US")} iterations as recommended today, or, as "fewer iterations", ${ITERATIONS_OLD.toLocaleString("en-US")} as in much older code ("idk, random" stores ${timesFaster(passes)} times as many files/s). That takes as long for every file, so each pass derives it for one file in ${KEY_EVERY} and counts the mean for the others. idk encrypts for a public key and has no password to stretch.`,
        "Unless stated otherwise, files are stored one after another and compressed with LZ4. Nothing waits for the disk. After each pass, all files are read back and compared by SHA-256; convergent passes gave the same addresses and bytes each time, random ones others.",
        "The mixes: text, JSON and images; documents are texts and office files, photos begin with a JPEG header and are not compressible.",
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

/** What a pass wrote. */
interface Stored {
  readonly blobs: number;
  readonly bytes: number;
  /** SHA-256 of all names and bytes. */
  readonly hash: string;
  readonly addresses: readonly string[];
}

function lane(
  { name, pass, repeats }: Contender,
  sources: readonly Source[],
  target: string,
  stored: Map<string, Stored>,
  classic: StageTimes[],
): Lane {
  const labels = {
    name,
    series: name,
    x: { value: sources.length, unit: "files" as const },
    bytesPerOperation: sources.reduce((sum, { file }) => sum + file.content.length, 0),
  };
  const isClassic = name === CLASSIC;
  return {
    labels: isClassic ? [labels, { ...labels, name: KEYLESS, series: KEYLESS }] : [labels],
    async sample() {
      await rm(target, { recursive: true, force: true });
      Bun.gc(true);
      const { seconds, addresses, stages = [], readBack } = await pass(sources, target);
      for (const [index, { file }] of sources.entries()) {
        expectBytes(await readBack(index), sha256(file.content));
      }
      const now = { ...(await contentsOf(target)), addresses };
      const before = stored.get(name);
      if (before) expectRepeated(name, before, now, repeats);
      stored.set(name, now);
      if (!isClassic) return [{ seconds }];
      classic.push(...stages);
      return [
        { seconds },
        { seconds: seconds - stages.reduce((sum, each) => sum + each["key"]!, 0) },
      ];
    },
  };
}

/** @throws Error if two passes of the same files are equal, or differ, and should not */
export function expectRepeated(name: string, before: Stored, now: Stored, repeats: boolean): void {
  const earlier = new Set(before.addresses);
  const again = now.addresses.filter((address) => earlier.has(address)).length;
  const equal = now.hash === before.hash && again === now.addresses.length;
  if (repeats && !equal) throw new Error(`${name}: a second pass wrote other addresses or bytes`);
  if (!repeats && (again > 0 || now.hash === before.hash)) {
    throw new Error(`${name}: a second pass wrote the same addresses or bytes`);
  }
}

async function contentsOf(folder: string): Promise<Omit<Stored, "addresses">> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  const hash = createHash("sha256");
  let bytes = 0;
  for (const path of paths) {
    const content = await readFile(path);
    hash.update(path).update(content);
    bytes += content.length;
  }
  return { blobs: paths.length, bytes, hash: hash.digest("hex") };
}

async function stagesOf(
  sources: readonly Source[],
  folder: string,
  identity: Identity,
): Promise<StageTimes[]> {
  const { put, store } = await stagedStore(folder, identity);
  const taken: StageTimes[] = [];
  for (const { path, file } of sources) {
    const { address, times } = await put(path);
    expectBytes(await (await store.get(address)).bytes(), sha256(file.content));
    taken.push(times);
  }
  return taken;
}

function timesFaster(passes: readonly Measurement[]): string {
  const seconds = (name: string) => lookup(passes)(name).distribution.p50;
  return (seconds(CLASSIC_OLD) / seconds("idk, random")).toFixed(1);
}

function rates({ distribution, bytesPerOperation = 0, x }: Measurement, stored?: Stored): string {
  const files = ((x?.value ?? 0) / distribution.p50).toFixed(0);
  const rate = (bytesPerOperation / 1e6 / distribution.p50).toFixed(1);
  const part =
    stored && `, ${((100 * stored.bytes) / bytesPerOperation).toFixed(1)} % of the bytes stored`;
  return `${files} files/s, ${rate} MB/s${part ?? ""}`;
}
