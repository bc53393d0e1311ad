/**
 * Put and get of a store over the object store, versitygw and a folder, side by side. The bound is what
 * any store must do: the bare requests, or the system calls of a durable file, for the same chunks, and
 * sealing and hashing by libsodium and `node:crypto`.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Backend, createStore, generateIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { boundsFor } from "../harness/bounds.ts";
import { sizeName } from "../harness/content.ts";
import { temporaryFolder } from "../harness/files.ts";
import type { Findings } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import { bareS3 } from "../object-store/bare-s3.ts";
import { openBackend, withScratch } from "../object-store/scratch.ts";
import { seededRandom } from "../statistics/random.ts";
import type { Environment, ObjectStoreAccess, SuiteContext } from "../suite.ts";
import { type Client, files, passesOf, passesOfStore, randomContents, tasksOf } from "./passes.ts";
import { CHUNK, IN_FLIGHT, bareObjects } from "./round-trip.ts";

const [KIB, MIB] = [2 ** 10, 2 ** 20];
const WAYS = ["put", "get"] as const;

/** Contents of each size, one at a time. */
const COUNTS: ReadonlyMap<number, number> = new Map([
  [64 * KIB, 16],
  [MIB, 4],
  [32 * MIB, 1],
]);

interface Place {
  readonly name: string;
  readonly backend: Backend;
  readonly bare: Client;
  /** The longest times of put and get, to that of the bound. */
  readonly most: Readonly<Record<(typeof WAYS)[number], number>>;
}

export async function stores(context: SuiteContext): Promise<Findings> {
  const folder = await temporaryFolder();
  try {
    return await withScratch(context.store, "stores", async (scratch) => {
      const places = [
        placeIn("object store", scratch.at("objects")),
        {
          name: "folder",
          backend: filesystem(join(folder, "blobs")),
          bare: files(join(folder, "bare")),
          most: { put: 1.5, get: 3 },
        },
      ];
      const second = versitygw(context.env);
      if (second === undefined) return measure(places, context);
      const { createBucket, deleteBucket } = bareS3(second);
      await createBucket();
      try {
        return await withScratch(second, "stores", (other) =>
          measure([...places, placeIn("versitygw", other.at("objects"))], context),
        );
      } finally {
        await deleteBucket();
      }
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

function placeIn(name: string, access: ObjectStoreAccess): Place {
  const bare = bareS3(access, { checksums: true });
  return { name, backend: openBackend(access), bare, most: { put: 1.4, get: 1.6 } };
}

/** A new bucket on the versitygw that `script/versitygw run` starts. */
function versitygw(env: Environment): ObjectStoreAccess | undefined {
  const { IDK_TEST_VERSITYGW: text } = env;
  if (!text) return undefined;
  const { origin: endpoint, username, password } = new URL(text);
  const [accessKeyId, secretAccessKey] = [username, password].map(decodeURIComponent) as [
    string,
    string,
  ];
  const bucket = `idk-bench-${crypto.randomUUID()}`;
  return { endpoint, region: "us-east-1", bucket, prefix: "", accessKeyId, secretAccessKey };
}

async function measure(places: readonly Place[], context: SuiteContext): Promise<Findings> {
  const { quick, seed, signal, log } = context;
  const alice = await generateIdentity();
  const opened = places.map((place) => ({
    ...place,
    store: createStore({
      backend: place.backend,
      recipients: [alice.recipient],
      identities: [alice],
      padding: "none",
    }),
  }));
  const found: Sampled[] = [];
  for (const size of context.sizes ?? [...COUNTS.keys()]) {
    const what = sizeName(size);
    log(what);
    const contents = randomContents(size, COUNTS.get(size) ?? 1);
    const chunks = contents.flatMap(({ bytes }) => bareObjects(bytes));
    const { seal, hash } = await boundsFor(size);
    const own = `${what}: secretbox and SHA-256`;
    const bound: Task = {
      name: own,
      series: "secretbox and SHA-256",
      run: () =>
        contents.forEach(() => {
          seal();
          hash();
        }),
    };
    const inFlight = chunks.length > contents.length ? IN_FLIGHT : 1;
    const tasks = opened.flatMap(({ name, store, bare }) => [
      ...tasksOf(passesOfStore(store), contents, { who: name, what, inFlight: 1 }),
      ...tasksOf(passesOf(bare, CHUNK), chunks, { who: `${name}, bare`, what, inFlight }),
    ]);
    const random = seededRandom(seed);
    const rounds = context.iterations ?? (quick ? 1 : size > MIB ? 5 : 6);
    found.push(
      await sampleInterleaved([...tasks, bound], { rounds, signal, seed }, (of) =>
        opened.flatMap(({ name, most }) =>
          WAYS.map((way) => {
            const series = `${what}: ${way}, ${name}`;
            const sides = { of: of(series), to: [of(`${series}, bare`), of(own)] };
            return ratioTarget(
              `${series}, to bare + secretbox + SHA-256`,
              sides,
              { most: most[way] },
              random,
            );
          }),
        ),
      ),
    );
  }
  await Promise.all(opened.map(({ store }) => store.close()));
  const without =
    "Without versitygw: `script/versitygw run` starts one, and sets IDK_TEST_VERSITYGW.";
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    targets: found.flatMap(({ targets }) => targets),
    notes: [
      "A sample is the time of all contents, one at a time: 16 of 64 KiB, 4 of 1 MiB, 1 of 32 MiB, of which 4 chunks are in flight. Servers verify and keep a SHA-256 of each object; files and their folders are synced to the disk.",
      ...(places.length < 3 ? [without] : []),
    ],
  };
}
