/**
 * Stores one file in an object store and fetches it with the command idk, rclone crypt, age piped to the
 * AWS command line, and restic. Each run is a fresh process with default settings, timed including its
 * start-up. Files are read from the page cache and written to the same disk.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Contender, type Setting, contenders, purge } from "../../thirdparty/contenders.ts";
import { sizeName } from "../harness/content.ts";
import { sha256OfFile, syncToDisk, temporaryFolder, writeRandomFile } from "../harness/files.ts";
import { run, runAside } from "../harness/processes.ts";
import type { Findings, Lookup, Sample } from "../harness/results.ts";
import { type Lane, type Sampled, sampleLanes } from "../harness/sampling.ts";
import { exactTarget, ratioTarget } from "../harness/targets.ts";
import type { Measurement, Target } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { peersFrom } from "./peer-programs.ts";

const MIB = 2 ** 20;
/** Resident memory of idk. */
const PEAK_MOST = 256 * MIB;

/** The least speed of a put relative to each other program, and the goal. */
const PUTS = [
  { name: "rclone crypt", least: 1.3, goal: 2 },
  { name: "age | aws s3 cp", least: 0.85, goal: 1 },
  { name: "restic", least: 1.6, goal: 2 },
];
/** The same of a get, relative to the fastest. */
const GET = { least: 0.8, goal: 1.2 };

export async function peers(context: SuiteContext): Promise<Findings> {
  const found: Sampled[] = [];
  for (const size of context.sizes ?? [(context.quick ? 4 : 500) * MIB]) {
    found.push(await measureSize(size, context));
  }
  const { IDK_PEER_VERSIONS: versions = "of unknown versions" } = context.env;
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    notes: [
      `The programs: ${versions}. rclone plain does not encrypt: it shows what the same client costs.`,
      "A get ends when the fetched file is on disk. idk syncs files itself; for programs that do not, a sync follows. The times without it are listed too.",
    ],
  };
}

async function measureSize(size: number, context: SuiteContext): Promise<Sampled> {
  const { quick, iterations, signal, seed, env, log } = context;
  if (context.store === undefined) throw new Error("peers needs an object store");
  const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey, bucket } = context.store;
  const folder = await temporaryFolder();
  const file = join(folder, "source", "file");
  const setting: Setting = { folder, file, endpoint, accessKey, secretKey, bucket };
  const programs = peersFrom(env);
  const below = `${context.store.prefix}peers-${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(join(folder, "source"));
    await writeRandomFile(file, size);
    const expected = await sha256OfFile(file);
    const all = await contenders(setting, programs);
    const lanes = all.map((contender) =>
      laneOf(contender, { setting, size, expected, below, signal }, (prefix) =>
        purge(setting, programs, prefix),
      ),
    );
    const rounds = iterations ?? (quick ? 1 : 5);
    log(`${sizeName(size)}, ${rounds} rounds of ${all.length} programs`);
    const random = seededRandom(seed);
    const sampling = { rounds, warmups: quick ? 0 : 1, signal, seed };
    return await sampleLanes(lanes, sampling, (of) => targetsFor(size, of, random));
  } finally {
    await purge(setting, programs, below).catch(() => undefined);
    await rm(folder, { recursive: true });
  }
}

interface Work {
  readonly setting: Setting;
  readonly size: number;
  /** SHA-256 of the file. */
  readonly expected: string;
  /** The prefix of this run. */
  readonly below: string;
  readonly signal: AbortSignal;
}

/** A put and a get of the same program, of which only the last is kept in the store. */
function laneOf(
  contender: Contender,
  { setting, size, expected, below, signal }: Work,
  clear: (prefix: string) => Promise<void>,
): Lane {
  const into = join(setting.folder, "fetched");
  const settle = () => run({ argv: ["sync"], signal });
  return {
    labels: ["put", "get", "get without sync"].map((way) => ({
      name: `${way} ${contender.name}, ${sizeName(size)}`,
      series: `${way}, ${contender.name}`,
      x: { value: size, unit: "bytes" },
      bytesPerOperation: size,
    })),
    async sample(): Promise<Sample[]> {
      const prefix = `${below}/${randomBytes(6).toString("hex")}`;
      await contender.prepare?.(prefix);
      await settle();
      const { stdout, ...put } = await runAside({ ...contender.put(prefix), signal });
      contender.onPut?.(prefix, stdout);
      await rm(into, { recursive: true, force: true });
      await mkdir(into);
      await settle();
      const get = await runAside({ ...contender.get(prefix, into), signal });
      const fetched = contender.fetched(into);
      const syncing = await syncToDisk(fetched);
      if ((await sha256OfFile(fetched)) !== expected) {
        throw new Error(`${contender.name} returned other bytes`);
      }
      await clear(prefix);
      return [put, { ...get, seconds: get.seconds + syncing }, get];
    },
  };
}

/** idk relative to the programs that encrypt. */
export function targetsFor(size: number, of: Lookup, random: Random): Target[] {
  const name = (way: string, program: string) => `${way} ${program}, ${sizeName(size)}`;
  const [put, get] = [of(name("put", "idk")), of(name("get", "idk"))];
  const gets = PUTS.map((peer) => of(name("get", peer.name)));
  const seconds = ({ distribution }: Measurement) => distribution.p50;
  const fastest = gets.reduce((a, b) => (seconds(b) < seconds(a) ? b : a));
  return [
    ...PUTS.map(({ name: peer, ...bound }) =>
      ratioTarget(
        `${name("put", "idk")}: speed relative to ${peer}`,
        { of: of(name("put", peer)), to: put },
        bound,
        random,
      ),
    ),
    ratioTarget(
      `${name("get", "idk")}: speed relative to the fastest that encrypts`,
      { of: fastest, to: get },
      GET,
      random,
    ),
    ...[put, get].map(({ name, peakRss = Number.NaN }) =>
      exactTarget(`${name}: peak of resident memory`, peakRss, "bytes", { most: PEAK_MOST }),
    ),
  ];
}
