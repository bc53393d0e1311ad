/**
 * Many objects of 4 KiB: `putMany` and `getMany` over a folder with each durability, and over MinIO
 * compared with a bare signed fetch loop with the same number of requests in flight and precomputed
 * hashes. Each figure is from its own process, without start-up and after a warm-up of 500 objects. Each
 * round has new folders and a new bucket, and data is synced to disk between processes. Gets read from
 * the page cache.
 *
 * Usage: [script/minio run] bun packages/bench/src/many-small.ts [ROUNDS] [COUNT] [IN_FLIGHT]
 */
import { createHash, randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { minio } from "@idk/storage/minio";
import { initBucket } from "@idk/storage/provision";
import { temporaryFolder } from "./harness/files.ts";
import { rotated } from "./harness/interleave.ts";
import { describeHost, thisHost } from "./harness/machine.ts";
import {
  type Sample,
  type Target,
  inLanes,
  judge,
  mebibytes,
  spread,
  summarize,
} from "./harness/measure.ts";
import { runJob, measureWork, receivedJob, describePeakFloor, run } from "./harness/processes.ts";
import { bareS3 } from "./object-store/bare-s3.ts";
import { accessTo, localMinio, newBucketName, requireMinio } from "./object-store/local-minio.ts";
import { median } from "./statistics/describe.ts";

const SIZE = 4096;
const WARM_UP = 500;
const WAYS = ["put", "get"] as const;

type Destination = "folder, full" | "folder, none" | "MinIO" | "bare fetch";

interface Job {
  readonly destination: Destination;
  readonly way: (typeof WAYS)[number];
  readonly count: number;
  readonly inFlight: number;
  readonly identity: string;
  /** The folder of the round, with the blobs and the list of names for the get. */
  readonly folder: string;
  readonly bucket: string;
}

/** Puts or gets many objects and returns the names of the successful ones. */
interface Passes {
  put(contents: readonly Uint8Array<ArrayBuffer>[], hashes: readonly string[]): Promise<string[]>;
  get(names: readonly string[]): Promise<string[]>;
}

/** The measured work of a child process. */
async function work(job: Job): Promise<Sample> {
  const { destination, way, folder, count } = job;
  const list = join(folder, `names of ${destination}`);
  const passes = destination === "bare fetch" ? overFetch(job) : overStore(job);
  if (way === "get") {
    const names = (await readFile(list, "utf8")).split("\n");
    await passes.get(names.slice(0, WARM_UP));
    return measured(count, () => passes.get(names));
  }
  const block = new Uint8Array(randomBytes(SIZE * (count + WARM_UP)));
  const contents = Array.from({ length: count + WARM_UP }, (_, i) =>
    block.subarray(i * SIZE, (i + 1) * SIZE),
  );
  const hashes = contents.map((bytes) => createHash("sha256").update(bytes).digest("hex"));
  await passes.put(contents.slice(count), hashes.slice(count));
  const [first, firstHashes] = [contents.slice(0, count), hashes.slice(0, count)];
  return measured(count, async () => {
    const names = await passes.put(first, firstHashes);
    await writeFile(list, names.join("\n"));
    return names;
  });
}

async function measured(count: number, pass: () => Promise<string[]>): Promise<Sample> {
  const { result, ...sample } = await measureWork(pass);
  if (result.length !== count) throw new Error(`${result.length} of ${count} objects succeeded`);
  return sample;
}

function overStore({
  destination,
  inFlight: concurrency,
  identity: text,
  folder,
  bucket,
}: Job): Passes {
  const identity = parseIdentity(text);
  const durability = destination === "folder, full" ? "full" : "none";
  const store = createStore({
    backend:
      destination === "MinIO"
        ? minio({ bucket, ...requireMinio() })
        : filesystem(join(folder, destination), { durability }),
    recipients: [identity.recipient],
    identities: [identity],
  });
  return {
    async put(contents) {
      const addresses: string[] = [];
      const items = contents.map((content, key) => ({ key, content }));
      for await (const result of store.putMany(items, { concurrency })) {
        if (!result.ok) throw result.error;
        addresses.push(result.address);
      }
      return addresses;
    },
    async get(names) {
      const read: string[] = [];
      for await (const result of store.getMany(names, { concurrency })) {
        if (!result.ok) throw result.error;
        if ((await result.blob.bytes()).length === SIZE) read.push(result.key);
      }
      return read;
    },
  };
}

function overFetch({ inFlight, bucket }: Job): Passes {
  const bare = bareS3(accessTo(requireMinio(), bucket));
  return {
    async put(contents, hashes) {
      const objects = hashes.map((sha256, i) => ({ sha256, bytes: contents[i]! }));
      await inLanes(objects, inFlight, ({ sha256, bytes }) => bare.put(sha256, bytes, sha256));
      return [...hashes];
    },
    async get(names) {
      const buffers = Array.from({ length: inFlight }, () => new Uint8Array(SIZE));
      const read: string[] = [];
      await inLanes(names, inFlight, async (name, lane) => {
        if ((await bare.get(name, buffers[lane]!)) === SIZE) read.push(name);
      });
      return read;
    },
  };
}

async function compare(rounds: number, count: number, inFlight: number): Promise<void> {
  const identity = formatIdentity(await generateIdentity());
  const server = localMinio();
  const destinations: Destination[] = ["folder, full", "folder, none"];
  if (server) destinations.push("MinIO", "bare fetch");
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < rounds; round++) {
    const folder = await temporaryFolder();
    const bucket = newBucketName();
    if (server) await initBucket({ provider: "minio", bucket, ...server });
    try {
      for (const way of WAYS) {
        for (const destination of rotated(destinations, round)) {
          await run({ argv: ["sync"] });
          const job: Job = { destination, way, count, inFlight, identity, folder, bucket };
          const name = `${way}, ${destination}`;
          const own = samples.get(name) ?? [];
          samples.set(name, [...own, await runJob<Sample>(import.meta.path, job)]);
        }
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  console.log(`${count} objects of ${SIZE} bytes, ${inFlight} in flight, ${rounds} rounds;`);
  console.log(`${describeHost(thisHost())}\nobjects per second as median (least to most)\n`);
  const rates = (name: string) => (samples.get(name) ?? []).map(({ seconds }) => count / seconds);
  for (const name of WAYS.flatMap((way) =>
    destinations.map((destination) => `${way}, ${destination}`),
  )) {
    const { cpuSeconds, peakRss } = summarize(samples.get(name)!);
    const cpu = `${cpuSeconds.toFixed(2)} CPU s`;
    console.log(
      `${name.padEnd(20)} ${spread(rates(name), 0).padStart(24)}/s  ${cpu.padStart(11)}  ${mebibytes(peakRss).padStart(5)} MiB peak`,
    );
  }
  const targets: Target[] = [
    {
      name: "put, folder, none: objects/s",
      value: median(rates("put, folder, none")),
      least: 5000,
    },
    {
      name: "get, folder, none: objects/s",
      value: median(rates("get, folder, none")),
      least: 8000,
    },
  ];
  for (const way of server ? WAYS : []) {
    // Per round, because a round met the same conditions of the machine.
    const bare = rates(`${way}, bare fetch`);
    const value = median(rates(`${way}, MinIO`).map((rate, round) => rate / bare[round]!));
    targets.push({ name: `${way}, MinIO: share of the rate of bare fetch`, value, least: 0.7 });
  }
  console.log("");
  judge(targets);
  console.log(describePeakFloor());
}

const job = receivedJob() as Job | undefined;
if (job) {
  console.log(JSON.stringify(await work(job)));
} else {
  const [rounds = 3, count = 10_000, inFlight = 16] = process.argv.slice(2).map(Number);
  await compare(rounds, count, inFlight);
}
