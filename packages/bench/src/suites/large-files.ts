/**
 * Puts one large file into a folder and gets it back, compared with `cp` and `sha256sum` of the same file,
 * which read, write and hash the same number of bytes. Both sides sync the file and its folder to disk,
 * may hash while the disk writes, read from the page cache, and write into an empty folder. The command is
 * timed as a process including its start-up, the library within its own process from opening the store.
 */
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { sizeName } from "../harness/content.ts";
import {
  isolatedUserFolders,
  sha256OfFile,
  syncToDisk,
  temporaryFolder,
  writeRandomFile,
} from "../harness/files.ts";
import { type Measured, measurePeak } from "../harness/memory.ts";
import {
  RUNTIME_FLAGS,
  publishedCommand,
  receivedJob,
  run,
  runAside,
  runJob,
  shell,
} from "../harness/processes.ts";
import type { Findings, Sample } from "../harness/results.ts";
import { type Sampled, sampleLanes } from "../harness/sampling.ts";
import { exactTarget, ratioTarget } from "../harness/targets.ts";
import type { Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";

const MIB = 2 ** 20;
/** The time as a multiple of that of `cp` and `sha256sum`. */
const TIMES_MOST = 1.25;
/** Resident memory. */
const PEAK_MOST = 256 * MIB;
const WAYS = ["put", "get"] as const;
const BY = ["library", "command"] as const;

interface Job {
  readonly blobs: string;
  readonly identity: string;
  /** The file to put, or the target of a get. */
  readonly file: string;
  /** The address to get; without it, the job is a put. */
  readonly address?: string;
}

export async function largeFiles(context: SuiteContext): Promise<Findings> {
  const found: Sampled[] = [];
  for (const size of context.sizes ?? [(context.quick ? 8 : 256) * MIB]) {
    context.log(`${sizeName(size)}, library and command`);
    found.push(await measureSize(size, context));
  }
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    notes: [
      "Everything ends with the file on disk. The peaks of other programs are not reported below some 40 MiB.",
    ],
  };
}

async function measureSize(
  size: number,
  { quick, iterations, signal, seed }: SuiteContext,
): Promise<Sampled> {
  const folder = await temporaryFolder();
  try {
    const identity = await generateIdentity();
    const [keyFile, source] = [join(folder, "key"), join(folder, "source")];
    await writeFile(keyFile, `${formatIdentity(identity)}\n`, { mode: 0o600 });
    await writeRandomFile(source, size);
    const expected = await sha256OfFile(source);
    const fresh = join(folder, "fresh");
    const [copied, blobs] = [join(fresh, "copy"), join(fresh, "blobs")];
    const env = isolatedUserFolders(folder);
    const published = await publishedCommand();
    const idk = (...args: string[]) =>
      runAside({ argv: [process.execPath, ...RUNTIME_FLAGS, published, ...args], env, signal });
    const job = { blobs, identity: formatIdentity(identity) };
    const library = (rest: Pick<Job, "file" | "address">) =>
      runJob<Measured<string>>(import.meta.path, { ...job, ...rest }, { signal });
    const puts = {
      library: async () => library({ file: source }),
      command: async () => {
        const put = await idk("put", source, "-r", identity.recipient, "--store", blobs);
        return { ...put, result: put.stdout.trim() };
      },
    };
    const gets = {
      library: (address: string) => library({ file: copied, address }),
      async command(address: string) {
        const get = await idk("get", address, "-i", keyFile, "--store", blobs, "-o", copied);
        // The command synced the file; sync the folder entry too.
        return { ...get, seconds: get.seconds + (await syncToDisk(copied)) };
      },
    };
    const settle = () => run({ argv: ["sync"], signal });
    const afresh = async (): Promise<void> => {
      await rm(fresh, { recursive: true, force: true });
      await mkdir(fresh);
      await settle();
    };
    const compare = async (): Promise<void> => {
      if ((await sha256OfFile(copied)) !== expected) throw new Error("wrong bytes came back");
    };
    const labels = (series: string) => ({
      name: `${series}, ${sizeName(size)}`,
      series,
      x: { value: size, unit: "bytes" as const },
      bytesPerOperation: size,
    });
    const script = 'cp -- "$1" "$2"; sha256sum -- "$2"; sync -- "$2" "$3"';
    const lanes = [
      {
        labels: [labels(COPY)],
        async sample(): Promise<Sample[]> {
          await afresh();
          const copy = await runAside({ argv: shell(script, [source, copied, fresh]), signal });
          await compare();
          return [copy];
        },
      },
      ...BY.map((by) => ({
        labels: WAYS.map((way) => labels(`${way}, ${by}`)),
        async sample(): Promise<Sample[]> {
          await afresh();
          const put = await puts[by]();
          await settle();
          const get = await gets[by](put.result);
          await compare();
          return [put, get];
        },
      })),
    ];
    const rounds = iterations ?? (quick ? 1 : 5);
    const sampling = { rounds, warmups: 0, signal, seed };
    const random = seededRandom(seed);
    return await sampleLanes(lanes, sampling, (of) =>
      WAYS.flatMap((way) =>
        BY.flatMap((by): Target[] => {
          const { name } = labels(`${way}, ${by}`);
          const [own, copy] = [of(name), of(labels(COPY).name)];
          const title = `${name}: time to that of cp and sha256sum`;
          return [
            ratioTarget(title, { of: own, to: copy }, { most: TIMES_MOST }, random),
            exactTarget(`${name}: peak of resident memory`, own.peakRss ?? Number.NaN, "bytes", {
              most: PEAK_MOST,
            }),
          ];
        }),
      ),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const COPY = "cp, sha256sum";

/** The measured work of a library process. */
async function work({ blobs, identity: text, file, address }: Job): Promise<Measured<string>> {
  const identity = parseIdentity(text);
  return measurePeak(async () => {
    await using store = createStore({
      backend: filesystem(blobs),
      recipients: [identity.recipient],
      identities: [identity],
    });
    // `return await`, because returning disposes of the store and its threads.
    if (address === undefined) return await store.put(Bun.file(file));
    const output = await open(file, "wx");
    for await (const piece of (await store.get(address)).stream()) await output.write(piece);
    await output.close();
    await syncToDisk(file);
    return address;
  });
}

const job = receivedJob() as Job | undefined;
if (job) console.log(JSON.stringify(await work(job)));
