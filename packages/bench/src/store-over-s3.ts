/**
 * Put and get of a store over a local object server, compared with bare signed requests for the same
 * bytes: the cost of sealing, hashing and the tree on top of the transfer. All run interleaved in one
 * process.
 *
 * Usage: script/minio run bun packages/bench/src/store-over-s3.ts [ROUNDS] [MIB]
 */
import { createHash, randomBytes } from "node:crypto";
import { type Address, createStore, generateIdentity, loadNaCl } from "@idk/storage";
import { minio } from "@idk/storage/minio";
import { initBucket } from "@idk/storage/provision";
import { Client } from "minio";
import { describeHost, thisHost } from "./harness/machine.ts";
import { type Target, inLanes, interleavedSamples, judge, spread } from "./harness/measure.ts";
import { measuredTasks, describePeak } from "./harness/processes.ts";
import { bareS3 } from "./object-store/bare-s3.ts";
import { accessTo, newBucketName, requireMinio } from "./object-store/local-minio.ts";
import { median } from "./statistics/describe.ts";

const KIB = 2 ** 10;
const MIB = 2 ** 20;

const [rounds = "7", mib = "500"] = process.argv.slice(2);
const server = requireMinio();
const { endpoint, accessKey, secretKey } = server;
const bucket = newBucketName();
await initBucket({ provider: "minio", bucket, endpoint, accessKey, secretKey });

const naCl = await loadNaCl();
const alice = await generateIdentity();
const backend = minio({ bucket, endpoint, accessKey, secretKey });
const store = createStore({
  backend,
  recipients: [alice.recipient],
  identities: [alice],
  padding: "none",
});
const bare = bareS3(accessTo(server, bucket));

console.log(describeHost(thisHost()));
console.log(`NaCl ${naCl.name}; ms as median (least to most) of ${rounds} rounds`);
await compare(
  "1 MiB, one at a time",
  { size: MIB, count: 20, inFlight: 1, chunk: MIB },
  ({ put, get }) => [
    {
      name: "put of 1 MiB, ratio to bare time plus sealing and hashing",
      value: put.ofSum,
      most: 1.1,
    },
    {
      name: "get of 1 MiB, ratio to bare time plus sealing and hashing",
      value: get.ofSum,
      most: 1.1,
    },
  ],
);
await compare(
  "64 KiB, 16 in flight",
  { size: 64 * KIB, count: 512, inFlight: 16, chunk: 64 * KIB },
  ({ put, get }) => [
    { name: "put of 64 KiB, share of the bare rate", value: put.ofRate, least: 0.8 },
    { name: "get of 64 KiB, share of the bare rate", value: get.ofRate, least: 0.6 },
  ],
);
await compare(
  `${mib} MiB, 4 MiB chunks, 4 in flight`,
  { size: Number(mib) * MIB, count: 1, inFlight: 1, chunk: 4 * MIB },
  ({ put, get }) => [
    { name: `put of ${mib} MiB, share of the bare rate`, value: put.ofRate, least: 0.7 },
    { name: `get of ${mib} MiB, share of the bare rate`, value: get.ofRate, least: 0.45 },
  ],
);
console.log(`\n${describePeak()}`);

await store.close();
await removeBucket();

/** A put or get relative to bare requests for the same bytes. */
interface Ratios {
  /** The rate, relative to the bare rate. */
  readonly ofRate: number;
  /** The time, relative to the bare time plus sealing and hashing. */
  readonly ofSum: number;
}

interface Shape {
  /** Bytes of one content, and the number of contents. */
  readonly size: number;
  readonly count: number;
  /** Contents in flight. */
  readonly inFlight: number;
  /** Bytes of one bare request; four are in flight if a content needs several. */
  readonly chunk: number;
}

async function compare(
  title: string,
  { size, count, inFlight, chunk }: Shape,
  targets: (ratios: Record<"put" | "get", Ratios>) => readonly Target[],
): Promise<void> {
  const contents = Array.from({ length: count }, () => new Uint8Array(randomBytes(size)));
  const pieces = contents.flatMap((content) =>
    Array.from({ length: Math.ceil(size / chunk) }, (_, i) => {
      const bytes = content.slice(i * chunk, (i + 1) * chunk);
      return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
    }),
  );
  const lanes = pieces.length > count ? 4 : inFlight;
  const buffers = Array.from({ length: lanes }, () => new Uint8Array(chunk));
  const addresses: Address[] = [];
  const key = new Uint8Array(32).fill(1);
  const nonce = new Uint8Array(24);
  const box = new Uint8Array(chunk + 16);

  const open = (address: Address) => store.get(address);
  const read = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
    let length = 0;
    for await (const piece of pieces) length += piece.length;
    if (length !== size) throw new Error(`read ${length} of ${size} bytes`);
  };

  const tasks = measuredTasks({
    "bare put": () =>
      inLanes(pieces, lanes, ({ bytes, sha256 }) => bare.put(sha256, bytes, sha256)),
    "bare get": () =>
      inLanes(pieces, lanes, ({ sha256 }, lane) => bare.get(sha256, buffers[lane]!)),
    crypto: () => {
      for (const { bytes } of pieces) {
        naCl.seal(box.subarray(0, bytes.length + 16), bytes, nonce, key);
        createHash("sha256").update(bytes).digest();
      }
    },
    put: async () => {
      addresses.length = 0;
      await inLanes(contents, inFlight, async (content) =>
        addresses.push(await store.put(content)),
      );
    },
    get: () =>
      inLanes(addresses, inFlight, async (address) => read((await open(address)).chunks())),
    "get as stream": () =>
      inLanes(addresses, inFlight, async (address) => read((await open(address)).stream())),
  });

  const samples = await interleavedSamples(Number(rounds), tasks);
  const times = (name: keyof typeof samples) => samples[name].map(({ seconds }) => seconds * 1000);

  console.log(`\n${title}`);
  const total = size * count;
  for (const name of Object.keys(samples) as (keyof typeof samples)[]) {
    const values = times(name);
    const cpu = median(samples[name].map(({ cpuSeconds }) => cpuSeconds)) / (total / 2 ** 30);
    const each = values.map((value) => value / count);
    console.log(
      `  ${name.padEnd(13)} ${spread(each, 2).padStart(26)} ms each  ${(total / 1e3 / median(values)).toFixed(0).padStart(5)} MB/s  ${cpu.toFixed(2).padStart(6)} CPU s/GiB`,
    );
  }
  const ratios = (["put", "get", "get as stream"] as const).map((name) => {
    const [own, wire] = [
      median(times(name)),
      median(times(name === "put" ? "bare put" : "bare get")),
    ];
    const ofRate = wire / own;
    const ofSum = own / (wire + median(times("crypto")));
    console.log(
      `  ${name}: ${ofRate.toFixed(2)} of the bare rate; ${ofSum.toFixed(2)} of bare time plus sealing and hashing`,
    );
    return { ofRate, ofSum };
  });
  const [put, get] = ratios;
  if (!put || !get) throw new Error("put and get were not measured");
  judge(targets({ put, get }));
}

/** Deletes the bucket and all objects in it. */
async function removeBucket(): Promise<void> {
  const { hostname, port, protocol } = new URL(endpoint);
  const client = new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: protocol === "https:",
    accessKey,
    secretKey,
  });
  const names: string[] = [];
  for await (const { name } of minio({ bucket, endpoint, accessKey, secretKey }).list("")) {
    names.push(name);
  }
  await client.removeObjects(bucket, names);
  await client.removeBucket(bucket);
}
