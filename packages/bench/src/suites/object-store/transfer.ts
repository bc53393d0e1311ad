/**
 * Puts and gets of several clients of an object store, and of stores over several backends, side by side
 * with bare requests.
 */
import { mkdir, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Backend, type Store, generateIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { openRunStore } from "../../command/run-store.ts";
import { boundsFor } from "../../harness/bounds.ts";
import { CHUNK, sizeName } from "../../harness/content.ts";
import { withFolder } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { answerJob, runJob } from "../../harness/processes.ts";
import { type Findings, together } from "../../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { ratioTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { openBackend, withScratch } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import {
  type Client,
  IN_FLIGHT,
  WAYS,
  type Way,
  chunksOf,
  passesOf,
  passesOfStore,
  randomContents,
  tasksOf,
} from "./passes.ts";

/** Objects of the suite `transfer`, and how many are in flight. */
const SHAPES = [
  { what: "1 MiB, one at a time", size: 2 ** 20, count: 4, inFlight: 1 },
  { what: "64 KiB, 16 in flight", size: 2 ** 16, count: 64, inFlight: 16 },
  { what: "4 MiB, 4 in flight", size: CHUNK, count: 16, inFlight: IN_FLIGHT },
] as const;
/** What a quick run divides the numbers of objects by. */
const QUICK = 4;

const BACKEND = "backend";
/** The least rate of the backend, to that of each other client. */
const LEAST = { "bare requests": 0.8, "AWS SDK": 1 } as const;

interface Job extends Pick<SuiteContext, "quick"> {
  readonly access: ObjectStoreAccess;
  readonly rounds: number;
}

/** In a process of its own, because the SDK adds so many objects to the heap that collections take longer. */
export async function transfer(context: SuiteContext): Promise<Findings> {
  const { quick, iterations, signal } = context;
  const rounds = iterations ?? (quick ? 1 : 5);
  const found = await withScratch(context.store, "transfer", (scratch) => {
    const job: Job = { access: scratch.at("objects"), rounds, quick };
    return runJob<Sampled[]>(import.meta.path, job, { signal });
  });
  return {
    ...together(found),
    notes: [
      "A sample is the time of all objects. Their hashes are computed in advance, as a store has them. The server verifies and keeps a SHA-256 of each.",
    ],
  };
}

async function compareClients({ access, rounds, quick }: Job): Promise<Sampled[]> {
  const backend = openBackend(access);
  const clients: Readonly<Record<keyof typeof LEAST | typeof BACKEND, Client>> = {
    "bare requests": bareS3(access, { checksums: true }),
    [BACKEND]: {
      put: (name, bytes, sha256) => backend.put(name, bytes, { sha256 }),
      get: (name, buffer) => backend.get(name, buffer),
    },
    "AWS SDK": await ofSdk(access),
  };
  return Array.fromAsync(SHAPES, ({ what, size, count, inFlight }) => {
    const contents = randomContents(size, quick ? count / QUICK : count);
    const tasks = Object.entries(clients).flatMap(([who, client]) =>
      Object.values(tasksOf(passesOf(client, size), contents, { who, what, inFlight })),
    );
    return sampleInterleaved(tasks, { rounds }, (of) =>
      WAYS.flatMap((way) =>
        Object.entries(LEAST).map(([other, least]) => {
          const name = `${what}: rate of ${way} by the backend to that by ${other}`;
          const series = (who: string) => of(`${what}: ${way}, ${who}`);
          return ratioTarget(name, { of: series(other), to: series(BACKEND) }, { least });
        }),
      ),
    );
  });
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

/** Contents of each size of the suite `stores`, one at a time. */
const COUNTS: ReadonlyMap<number, number> = new Map([
  [2 ** 16, 16],
  [2 ** 20, 4],
  [2 ** 25, 1],
]);

/** The longest times of a store, to that of the bound. */
const MOST = { server: { put: 1.4, get: 1.6 }, folder: { put: 1.5, get: 3 } } as const;

interface Place {
  readonly name: string;
  readonly store: Store;
  readonly bare: Client;
  readonly most: Readonly<Record<Way, number>>;
}

/**
 * The bound is what any store must do: the bare requests, or the system calls of a durable file, for the
 * same chunks, and sealing and hashing by libsodium and `node:crypto`.
 */
export async function stores(context: SuiteContext): Promise<Findings> {
  const identity = await generateIdentity();
  const over = (backend: Backend) => storeOf(identity, { backend, padding: "none" });
  const onServer = (name: string, access: ObjectStoreAccess): Place => {
    const bare = bareS3(access, { checksums: true });
    return { name, store: over(openBackend(access)), bare, most: MOST.server };
  };
  const { IDK_TEST_VERSITYGW: versitygw } = context.env;
  const found = await withFolder((folder) =>
    withScratch(context.store, "stores", async (scratch) => {
      const store = over(filesystem(join(folder, "blobs")));
      const places = [
        onServer("object store", scratch.at("objects")),
        { name: "folder", store, bare: files(join(folder, "bare")), most: MOST.folder },
      ];
      if (!versitygw) return compareStores(places, context);
      const { origin: endpoint, username, password } = new URL(versitygw);
      const keys = {
        accessKeyId: decodeURIComponent(username),
        secretAccessKey: decodeURIComponent(password),
      };
      const server = { endpoint, region: "us-east-1", ...keys };
      const { access, close } = await openRunStore({ kind: "server", server }, "", context);
      try {
        return await compareStores([...places, onServer("versitygw", access)], context);
      } finally {
        await close();
      }
    }),
  );
  const without =
    "Without versitygw: `script/versitygw run` starts one, and sets IDK_TEST_VERSITYGW.";
  return {
    ...together(found),
    notes: [
      "A sample is the time of all contents, one at a time: 16 of 64 KiB, 4 of 1 MiB, 1 of 32 MiB, of which 4 chunks are in flight. Servers verify and keep a SHA-256 of each object; files and their folders are synced to the disk.",
      ...(versitygw ? [] : [without]),
      ...((context.rtt ?? context.rate) === undefined
        ? []
        : ["Both servers are as far away; the folder is near."]),
    ],
  };
}

/** Files, with the system calls that a durable file needs. */
export function files(folder: string): Client {
  const pathOf = (name: string): string => join(folder, name.slice(0, 2), name);
  return {
    async put(name, bytes) {
      const path = pathOf(name);
      await mkdir(dirname(path), { recursive: true });
      {
        await using file = await open(`${path}.new`, "wx");
        await file.writeFile(bytes);
        await file.sync();
      }
      await rename(`${path}.new`, path);
      await using parent = await open(dirname(path));
      await parent.sync();
    },
    async get(name, buffer) {
      await using file = await open(pathOf(name));
      return (await file.read(buffer)).bytesRead;
    },
  };
}

async function compareStores(places: readonly Place[], context: SuiteContext): Promise<Sampled[]> {
  const { quick, iterations, signal, log } = context;
  const found = await Array.fromAsync(context.sizes ?? COUNTS.keys(), async (size) => {
    const what = sizeName(size);
    log(what);
    const contents = randomContents(size, COUNTS.get(size) ?? 1);
    const chunks = contents.flatMap(chunksOf);
    const inFlight = chunks.length > contents.length ? IN_FLIGHT : 1;
    const { seal, hash } = await boundsFor(size);
    const series = "secretbox and SHA-256";
    const own: Task = {
      name: `${what}: ${series}`,
      series,
      run: () =>
        contents.forEach(() => {
          seal();
          hash();
        }),
    };
    const tasks = places.flatMap(({ name, store, bare }) =>
      [
        tasksOf(passesOfStore(store), contents, { who: name, what }),
        tasksOf(passesOf(bare, CHUNK), chunks, { who: `${name}, bare`, what, inFlight }),
      ].flatMap(Object.values<Task>),
    );
    const rounds = iterations ?? (quick ? 1 : 5);
    return sampleInterleaved([...tasks, own], { rounds, signal }, (of) =>
      places.flatMap(({ name: who, most }) =>
        WAYS.map((way) => {
          const name = `${what}: ${way}, ${who}`;
          const ratio = { of: of(name), to: [of(`${name}, bare`), of(own.name)] };
          const bound = { most: most[way] };
          return ratioTarget(`${name}, to bare + secretbox + SHA-256`, ratio, bound);
        }),
      ),
    );
  });
  await Promise.all(places.map(({ store }) => store.close()));
  return found;
}

await answerJob(compareClients);
