/**
 * The path to an object store: the library's backend beside bare requests and the providers' own clients,
 * and a store over it beside bare requests. Each half has its own process, because the AWS SDK adds so
 * many objects to the heap that collections take longer.
 */
import { Agent } from "node:http";
import { createStore, generateIdentity } from "@idk/storage";
import { sizeName } from "../harness/content.ts";
import { receivedJob, runJob } from "../harness/processes.ts";
import type { Findings } from "../harness/results.ts";
import { type Sampled, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import { bareS3 } from "../object-store/bare-s3.ts";
import { childEnv, childStore } from "../object-store/in-child.ts";
import { openBackend, withScratch } from "../object-store/scratch.ts";
import { seededRandom } from "../statistics/random.ts";
import type { ObjectStoreAccess, SuiteContext } from "../suite.ts";
import { type Client, passesOf, passesOfStore, randomContents, tasksOf } from "./passes.ts";
import { CHUNK, IN_FLIGHT, bareObjects } from "./round-trip.ts";

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const WAYS = ["put", "get"] as const;

/** Objects, and how many are in flight. */
const SHAPES = [
  { what: "1 MiB, one at a time", size: MIB, count: 4, inFlight: 1 },
  { what: "64 KiB, 16 in flight", size: 64 * KIB, count: 64, inFlight: 16 },
  { what: "4 MiB, 4 in flight", size: CHUNK, count: 16, inFlight: IN_FLIGHT },
] as const;
const SMALL = SHAPES[1];
/** Bytes of a content that a store cuts into chunks. */
const LARGE = 64 * MIB;
/** What a quick run divides the numbers of objects and chunks by. */
const QUICK = 4;

const BARE = "bare requests";
const BACKEND = "backend";
const SDK = "AWS SDK";
const STORE = "store";

/** The least rates, to that of bare requests, and of the backend to that of the SDK. */
const BACKEND_LEAST = 0.8;
const TO_SDK_LEAST = 1;
const STORE_LEAST = { small: { put: 0.8, get: 0.6 }, large: { put: 0.7, get: 0.45 } } as const;

interface Job {
  readonly half: "clients" | "store";
  readonly rounds: number;
  readonly seed: number;
  readonly quick: boolean;
}

export async function transfer(context: SuiteContext): Promise<Findings> {
  const { quick, iterations, seed, signal, store, log } = context;
  const rounds = iterations ?? (quick ? 1 : 5);
  const found = await withScratch(store, "transfer", async (scratch) => {
    const env = childEnv({ access: scratch.at("objects"), identity: "" });
    const halves: Sampled[] = [];
    for (const half of ["clients", "store"] as const) {
      log(half);
      const job: Job = { half, rounds, seed, quick };
      halves.push(await runJob<Sampled>(import.meta.path, job, { env, signal }));
    }
    return halves;
  });
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    notes: [
      "A sample is the time of all objects. Their hashes are computed in advance for the clients that can use them, as a store has them. The server verifies and keeps a SHA-256 of each, but not for MinIO's client, which cannot send one.",
      `The store is compared with bare requests for the same chunks: one of ${sizeName(SMALL.size)}, or ${IN_FLIGHT} in flight of ${sizeName(CHUNK)} each.`,
    ],
  };
}

async function measureClients({ rounds, seed, quick }: Job): Promise<Sampled[]> {
  const { access } = childStore();
  const clients = Object.entries({
    [BARE]: bareS3(access, { checksums: true }),
    [BACKEND]: ofBackend(access),
    [SDK]: await ofSdk(access),
    "MinIO's client": await ofMinio(access),
  });
  const found: Sampled[] = [];
  for (const { what, size, count, inFlight } of SHAPES) {
    const contents = randomContents(size, quick ? count / QUICK : count);
    const tasks = clients.flatMap(([who, client]) =>
      tasksOf(passesOf(client, size), contents, { who, what, inFlight }),
    );
    const random = seededRandom(seed);
    found.push(
      await sampleInterleaved(tasks, { rounds, seed }, (of) =>
        WAYS.flatMap((way) => {
          const target = (other: string, least: number) => {
            const sides = {
              of: of(`${what}: ${way}, ${other}`),
              to: of(`${what}: ${way}, ${BACKEND}`),
            };
            const name = `${what}: rate of ${way} by the backend to that by ${other}`;
            return ratioTarget(name, sides, { least }, random);
          };
          return [target(BARE, BACKEND_LEAST), target(SDK, TO_SDK_LEAST)];
        }),
      ),
    );
  }
  return found;
}

async function measureStore({ rounds, seed, quick }: Job): Promise<Sampled[]> {
  const { access } = childStore();
  const alice = await generateIdentity();
  const store = createStore({
    backend: openBackend(access),
    recipients: [alice.recipient],
    identities: [alice],
    padding: "none",
  });
  const bare = passesOf(bareS3(access, { checksums: true }), CHUNK);
  const large = quick ? LARGE / QUICK : LARGE;
  const found: Sampled[] = [];
  for (const kind of ["small", "large"] as const) {
    const [what, contents, inFlight] =
      kind === "small"
        ? [SMALL.what, randomContents(SMALL.size, SMALL.count), SMALL.inFlight]
        : [sizeName(large), randomContents(large, 1), 1];
    const chunks = contents.flatMap(({ bytes }) => bareObjects(bytes));
    const lanes = kind === "small" ? inFlight : IN_FLIGHT;
    const tasks = [
      ...tasksOf(passesOfStore(store), contents, { who: STORE, what, inFlight }),
      ...tasksOf(bare, chunks, { who: "bare requests of its chunks", what, inFlight: lanes }),
    ];
    const random = seededRandom(seed);
    found.push(
      await sampleInterleaved(tasks, { rounds, seed }, (of) =>
        WAYS.map((way) => {
          const sides = {
            of: of(`${what}: ${way}, bare requests of its chunks`),
            to: of(`${what}: ${way}, ${STORE}`),
          };
          const name = `${what}: rate of ${way} by a store to that of bare requests`;
          return ratioTarget(name, sides, { least: STORE_LEAST[kind][way] }, random);
        }),
      ),
    );
  }
  return found;
}

function ofBackend(access: ObjectStoreAccess): Client {
  const backend = openBackend(access);
  return {
    put: (name, bytes, sha256) => backend.put(name, bytes, { sha256 }),
    get: (name, buffer) => backend.get(name, buffer),
  };
}

async function ofSdk({
  endpoint,
  region,
  bucket: Bucket,
  prefix,
  ...credentials
}: ObjectStoreAccess): Promise<Client> {
  const { GetObjectCommand, PutObjectCommand, S3Client } = await import("@aws-sdk/client-s3");
  const client = new S3Client({
    endpoint,
    region,
    credentials,
    forcePathStyle: true,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    expectContinueHeader: false,
  });
  return {
    put: (name, Body, sha256) => {
      const ChecksumSHA256 = Buffer.from(sha256, "hex").toString("base64");
      return client.send(
        new PutObjectCommand({ Bucket, Key: prefix + name, Body, ChecksumSHA256 }),
      );
    },
    async get(name, buffer) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: prefix + name }));
      const bytes = (await Body?.transformToByteArray()) ?? new Uint8Array(0);
      buffer.set(bytes);
      return bytes.length;
    },
  };
}

async function ofMinio({
  endpoint,
  region,
  bucket,
  prefix,
  accessKeyId: accessKey,
  secretAccessKey: secretKey,
}: ObjectStoreAccess): Promise<Client> {
  const { Client: Minio } = await import("minio");
  const { hostname: endPoint, port, protocol } = new URL(endpoint);
  const useSSL = protocol === "https:";
  const client = new Minio({
    endPoint,
    ...(port !== "" && { port: Number(port) }),
    useSSL,
    accessKey,
    secretKey,
    region,
    // Larger than all objects here, so that each is one request.
    partSize: 64 * MIB,
    ...(!useSSL && { transportAgent: new Agent({ keepAlive: true }) }),
  });
  return {
    put: (name, bytes) =>
      client.putObject(
        bucket,
        prefix + name,
        Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
        bytes.length,
      ),
    async get(name, buffer) {
      let length = 0;
      for await (const piece of await client.getObject(bucket, prefix + name)) {
        buffer.set(piece as Uint8Array, length);
        length += (piece as Uint8Array).length;
      }
      return length;
    },
  };
}

const job = receivedJob() as Job | undefined;
if (job) {
  const found = await (job.half === "clients" ? measureClients : measureStore)(job);
  const measurements = found.flatMap((sampled) => sampled.measurements);
  const targets = found.flatMap((sampled) => sampled.targets);
  console.log(JSON.stringify({ measurements, targets } satisfies Sampled));
  // Open connections would keep the process alive.
  process.exit(0);
}
