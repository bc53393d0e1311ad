/**
 * Puts one large file into a folder and gets it back, compared with `cp` and `sha256sum` of the same file,
 * which read, write and hash the same number of bytes. Both sides sync the file and its folder to disk,
 * may hash while the disk writes, read from the page cache, and write into an empty folder. The command is
 * timed as a process including its start-up, the library within its own process from opening the store.
 */
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { sizeName } from "../../harness/content.ts";
import { syncToDisk } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { measurePeak } from "../../harness/memory.ts";
import {
  type Program,
  type Ran,
  answerJob,
  publishedCommand,
  runAside,
  runJob,
  shell,
} from "../../harness/processes.ts";
import { type Findings, type Labels, labelsFor, together } from "../../harness/results.ts";
import { type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { ratioTarget } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";
import {
  type Contender,
  type Places,
  commandOf,
  laneOf,
  peakTarget,
  withLargeFile,
} from "./programs.ts";

const MIB = 2 ** 20;
/** The time as a multiple of that of `cp` and `sha256sum`. */
const TIMES_MOST = 1.25;
const WAYS = ["put", "get"] as const;
const COPY = "cp, sha256sum";

export async function largeFiles(context: SuiteContext): Promise<Findings> {
  const sizes = context.sizes ?? [(context.quick ? 8 : 256) * MIB];
  const found = await Array.fromAsync(sizes, (size) => measureSize(size, context));
  const note =
    "Everything ends with the file on disk. The peaks of other programs are not reported below some 40 MiB.";
  return together([...found, { notes: [note] }]);
}

function measureSize(
  size: number,
  { quick, iterations, signal, log }: SuiteContext,
): Promise<Sampled> {
  log(`${sizeName(size)}, library and command`);
  return withLargeFile(size, async (file) => {
    const { folder, source, fetched } = file;
    const identity = await generateIdentity();
    const idk = await commandOf(await publishedCommand(), folder, identity);
    const library = (job: Omit<Job, "identity">) =>
      runJob<Ran>(import.meta.path, { ...job, identity: formatIdentity(identity) }, { signal });
    const start = (program: Program) => runAside({ ...program, signal });
    const script = 'cp -- "$1" "$2"; sha256sum -- "$2"; sync -- "$2" "$3"';
    const copy = { argv: shell(script, [source, fetched, dirname(fetched)]) };
    const judged: Required<Omit<Contender, "prepare" | "print">>[] = [
      {
        name: "library",
        put: (blobs) => library({ blobs, file: source }),
        get: (blobs, address) => library({ blobs, file: fetched, address }),
      },
      {
        name: "command",
        put: (blobs) => start(idk.put(source, blobs)),
        get: (blobs, address) => start(idk.get(address, blobs, fetched)),
      },
    ];
    const labels = (series: string): Labels => ({
      ...labelsFor(size)(series),
      name: `${series}, ${sizeName(size)}`,
    });
    const places: Places = {
      next: () => join(folder, "blobs"),
      clear: (place) => rm(place, { recursive: true, force: true }),
    };
    const lanes = [
      laneOf({ name: COPY, put: () => start(copy) }, [labels(COPY)], file, places),
      ...judged.map((by) => {
        const both = WAYS.map((way) => labels(`${way}, ${by.name}`));
        return laneOf(by, both, file, places);
      }),
    ];
    const sampling = { rounds: iterations ?? (quick ? 1 : 5), warmups: 0, signal };
    return sampleLanes(lanes, sampling, (of) =>
      WAYS.flatMap((way) =>
        judged.flatMap((by) => {
          const own = of(labels(`${way}, ${by.name}`).name);
          const sides = { of: own, to: of(labels(COPY).name) };
          const title = `${own.name}: time to that of cp and sha256sum`;
          return [ratioTarget(title, sides, { most: TIMES_MOST }), peakTarget(own)];
        }),
      ),
    );
  });
}

interface Job {
  readonly blobs: string;
  readonly identity: string;
  /** The file to put, or the target of a get. */
  readonly file: string;
  /** The address to get; without it, the job is a put. */
  readonly address?: string;
}

/** A put or a get by the library. The output is the address. */
await answerJob(async ({ blobs, identity, file, address }: Job): Promise<Ran> => {
  const { result, ...sample } = await measurePeak(async () => {
    await using store = storeOf(parseIdentity(identity), { backend: filesystem(blobs) });
    // `return await`, because returning disposes of the store and its threads.
    if (address === undefined) return await store.put(Bun.file(file));
    const output = await open(file, "wx");
    for await (const piece of (await store.get(address)).stream()) await output.write(piece);
    await output.close();
    await syncToDisk(file);
    return address;
  });
  return { ...sample, stdout: result };
});
