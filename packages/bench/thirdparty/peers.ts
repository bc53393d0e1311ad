/**
 * Stores one file in a local MinIO and fetches it with the command idk, rclone crypt, age piped to the
 * AWS command line, and restic. Each run is a fresh process with default settings, timed including its
 * start-up. They run interleaved, with all data synced to disk before each. Files are read from the page
 * cache and written to the same disk.
 *
 * A get is measured until the fetched file is on disk. idk syncs files itself; for programs that do not,
 * a sync follows. Their time without it is printed too.
 *
 * Usage: packages/bench/thirdparty/run [MIB] [ROUNDS]
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { initBucket } from "@idk/storage/provision";
import {
  sha256OfFile,
  temporaryFolder,
  syncToDisk,
  writeRandomFile,
} from "../src/harness/files.ts";
import { describeHost, thisHost } from "../src/harness/machine.ts";
import {
  type Sample,
  figure,
  interleavedSamples,
  judge,
  summarize,
} from "../src/harness/measure.ts";
import { describePeakFloor, run } from "../src/harness/processes.ts";
import { newBucketName, requireMinio } from "../src/object-store/local-minio.ts";
import { median } from "../src/statistics/describe.ts";
import { type Contender, type Peers, contenders, purge } from "./contenders.ts";
import { peerTargets } from "./targets.ts";

const [mib = "500", rounds = "3"] = process.argv.slice(2);
const bytes = Number(mib) * 2 ** 20;
const peers: Peers = {
  rclone: required("IDK_PEER_RCLONE"),
  age: required("IDK_PEER_AGE"),
  ageKeygen: required("IDK_PEER_AGE_KEYGEN"),
  restic: required("IDK_PEER_RESTIC"),
  aws: required("IDK_PEER_AWS"),
};

const folder = await temporaryFolder();
const setting = {
  folder,
  file: join(folder, "source", "file"),
  ...requireMinio(),
  bucket: newBucketName(),
};
await initBucket({ provider: "minio", ...setting });

try {
  await mkdir(join(folder, "source"));
  await writeRandomFile(setting.file, bytes);
  const expected = await sha256OfFile(setting.file);
  const all = await contenders(setting, peers);
  const prefixOf = (index: number, round: number) => `${index}-${round}`;

  const putting = async (contender: Contender, index: number, round: number): Promise<Sample> => {
    if (round >= 0) await purge(setting, peers, prefixOf(index, round - 1));
    const prefix = prefixOf(index, round);
    await contender.prepare?.(prefix);
    await run({ argv: ["sync"] });
    const { stdout, ...sample } = await run(contender.put(prefix));
    contender.onPut?.(prefix, stdout);
    return sample;
  };

  const withoutSync = new Map<string, number[]>();
  const getting = async (contender: Contender, index: number, round: number): Promise<Sample> => {
    const into = join(folder, "fetched");
    await mkdir(into);
    const program = contender.get(prefixOf(index, Number(rounds) - 1), into);
    await run({ argv: ["sync"] });
    const sample = await run(program);
    const syncing = await syncToDisk(contender.fetched(into));
    if (round >= 0) {
      const { name } = contender;
      withoutSync.set(name, [...(withoutSync.get(name) ?? []), sample.seconds]);
    } else if ((await sha256OfFile(contender.fetched(into))) !== expected) {
      throw new Error(`${contender.name} returned other bytes`);
    }
    await rm(into, { recursive: true });
    return { ...sample, seconds: sample.seconds + syncing };
  };

  console.log(`${mib} MiB, ${rounds} rounds after a warm-up; ${describeHost(thisHost())}`);
  console.log(`${process.env["IDK_PEER_VERSIONS"]}`);
  console.log("seconds as median (least to most); peak memory is that of the largest process\n");
  const put = await interleavedSamples(Number(rounds), tasks(all, putting));
  show("put", put);
  const get = await interleavedSamples(Number(rounds), tasks(all, getting));
  show("get", get);

  const competitors = all
    .filter(({ name, encrypts }) => encrypts && name !== "idk")
    .map(({ name }) => name);
  judge(peerTargets(medians(put), medians(get), competitors));
  console.log("\nget without the sync to disk, for programs that do not sync themselves:");
  for (const { name } of all) {
    console.log(`get ${name.padEnd(20)} ${median(withoutSync.get(name) ?? []).toFixed(2)} s`);
  }
  console.log(describePeakFloor());
} finally {
  await purge(setting, peers);
  await rm(folder, { recursive: true });
}

function tasks(
  all: readonly Contender[],
  work: (contender: Contender, index: number, round: number) => Promise<Sample>,
): Record<string, (round: number) => Promise<Sample>> {
  return Object.fromEntries(
    all.map((contender, index) => [
      contender.name,
      (round: number) => work(contender, index, round),
    ]),
  );
}

function show(way: string, samples: Record<string, Sample[]>): void {
  for (const [name, own] of Object.entries(samples)) {
    console.log(figure(`${way} ${name}`, bytes, summarize(own)));
  }
  console.log("");
}

function medians(samples: Record<string, Sample[]>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(samples).map(([name, own]) => [name, summarize(own).seconds]),
  );
}

function required(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set: use packages/bench/thirdparty/run`);
  return value;
}
