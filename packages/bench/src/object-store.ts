/**
 * The cost of the path to an object store: the backend `minio` compared with a bare signed `fetch`, which
 * is the bound, and with the providers' own clients. All run interleaved in one process against one
 * server. Hashes are precomputed for clients that can use them, as the store does with addresses.
 *
 * Usage: script/minio run bun packages/bench/src/object-store.ts [ROUNDS] [MIB]
 */
import { createHash, randomBytes } from "node:crypto";
import { Agent } from "node:http";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { minio } from "@idk/storage/minio";
import { initBucket } from "@idk/storage/provision";
import { Client } from "minio";
import { inLanes, interleavedSamples, spread } from "./harness/measure.ts";
import { measuredTasks, describePeak } from "./harness/processes.ts";
import { bareS3 } from "./object-store/bare-s3.ts";
import { accessTo, newBucketName, requireMinio } from "./object-store/local-minio.ts";
import { median } from "./statistics/describe.ts";

const KIB = 2 ** 10;
const MIB = 2 ** 20;

const [rounds = "5", mib = "500"] = process.argv.slice(2);
const server = requireMinio();
const { endpoint, accessKey, secretKey } = server;
const bucket = newBucketName();
await initBucket({ provider: "minio", bucket, endpoint, accessKey, secretKey });

let requests = 0;
const plainFetch = globalThis.fetch;
globalThis.fetch = Object.assign(
  (...call: Parameters<typeof fetch>) => {
    requests += 1;
    return plainFetch(...call);
  },
  { preconnect: plainFetch.preconnect },
);

interface Contender {
  put(name: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<unknown>;
  get(name: string, buffer: Uint8Array): Promise<unknown>;
}

const access = accessTo(server, bucket);
const backend = minio({ bucket, endpoint, accessKey, secretKey });
const sdk = new S3Client({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
  forcePathStyle: true,
  requestChecksumCalculation: "WHEN_REQUIRED",
  responseChecksumValidation: "WHEN_REQUIRED",
  expectContinueHeader: false,
});
const { hostname, port } = new URL(endpoint);
const client = new Client({
  endPoint: hostname,
  port: Number(port),
  useSSL: false,
  accessKey,
  secretKey,
  region: "us-east-1",
  // Larger than all objects here, so that each is one request.
  partSize: 64 * MIB,
  transportAgent: new Agent({ keepAlive: true }),
});

const contenders: Record<string, Contender> = {
  "bare fetch": bareS3(access),
  "with checksum": bareS3(access, { checksums: true }),
  "@idk/storage": {
    put: (name, bytes, sha256) => backend.put(name, bytes, { sha256 }),
    get: (name, buffer) => backend.get(name, buffer),
  },
  "AWS SDK": {
    put: (Key, Body, sha256) =>
      sdk.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key,
          Body,
          ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64"),
        }),
      ),
    async get(Key, buffer) {
      const { Body } = await sdk.send(new GetObjectCommand({ Bucket: bucket, Key }));
      buffer.set((await Body?.transformToByteArray()) ?? []);
    },
  },
  "minio client": {
    put: (name, bytes) => client.putObject(bucket, name, Buffer.from(bytes.buffer), bytes.length),
    async get(name, buffer) {
      let length = 0;
      for await (const piece of await client.getObject(bucket, name)) {
        buffer.set(piece as Uint8Array, length);
        length += (piece as Uint8Array).length;
      }
    },
  },
};

await measure("1 MiB, one at a time", MIB, 20, 1);
await measure("64 KiB, 16 in flight", 64 * KIB, 512, 16);
await measure(`${mib} MiB in 4 MiB objects, 4 in flight`, 4 * MIB, Number(mib) / 4, 4);

async function measure(title: string, size: number, count: number, inFlight: number) {
  const objects = Array.from({ length: count }, () => {
    const bytes = new Uint8Array(randomBytes(size));
    return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
  });
  const buffers = Array.from({ length: inFlight }, () => new Uint8Array(size));
  console.log(`\n${title}: ms per object, MB/s; ${rounds} rounds, median (least to most)`);
  for (const way of ["put", "get"] as const) {
    const counted = new Map<string, number>();
    const tasks = Object.entries(contenders).map(([name, contender]) => {
      const task = async () => {
        const before = requests;
        await inLanes(objects, inFlight, ({ bytes, sha256 }, lane) =>
          way === "put"
            ? contender.put(sha256, bytes, sha256)
            : contender.get(sha256, buffers[lane]!),
        );
        counted.set(name, requests - before);
      };
      return [name, task] as const;
    });
    const samples = await interleavedSamples(
      Number(rounds),
      measuredTasks(Object.fromEntries(tasks)),
    );
    const times = (name: string) => (samples[name] ?? []).map(({ seconds }) => seconds * 1000);
    const bound = median(times("bare fetch"));
    for (const [name, own] of Object.entries(samples)) {
      const values = times(name);
      const cpu = median(own.map(({ cpuSeconds }) => cpuSeconds)) / ((size * count) / 2 ** 30);
      const each = values.map((value) => value / count);
      const rate = (size * count) / 1e3 / median(values);
      // The other clients do not use fetch, so their requests are not counted.
      const sent = counted.get(name) ? `${counted.get(name)! / count} requests per object` : "";
      console.log(
        `  ${way} ${name.padEnd(14)} ${spread(each, 2).padStart(22)} ${rate.toFixed(0).padStart(6)} MB/s  ${(bound / median(values)).toFixed(2)}  ${cpu.toFixed(2).padStart(6)} CPU s/GiB  ${sent}`,
      );
    }
  }
  for (const { sha256 } of objects) await backend.delete(sha256);
}
await client.removeBucket(bucket);
console.log(`\n${describePeak()}`);
