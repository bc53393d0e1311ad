/**
 * Downloads and opens one content at a time: a full `get` of a store, compared with the same bytes
 * downloaded by bare signed requests, hashed by `node:crypto` and opened by libsodium. Any get needs
 * those three.
 */
import type { Store } from "@idk/storage";
import { boundsFor } from "../harness/bounds.ts";
import {
  sizeName,
  expectBytes,
  hashOf,
  lengthOf,
  randomContent,
  sha256,
} from "../harness/content.ts";
import { inLanes } from "../harness/interleave.ts";
import { type Findings, type Lookup, lookup, pairOf, labelsFor } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget, sampledTarget, timeTarget } from "../harness/targets.ts";
import { type BareS3, bareS3 } from "../object-store/bare-s3.ts";
import { withScratch } from "../object-store/scratch.ts";
import type { Measurement, Pair, Target } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import {
  CHUNK,
  IN_FLIGHT,
  ONE_BLOB,
  type SizedRounds,
  type Stores,
  bareObjects,
  inFlightTarget,
  measureParts,
  sizedRounds,
  storesIn,
} from "./round-trip.ts";

const PARTS = {
  transfer: "download",
  header: "parse",
  hash: "hash",
  cipher: "decrypt",
} as const;

/** Absolute bounds in seconds. */
const SECONDS: ReadonlyMap<number, number> = new Map([
  [1e6, 0.3],
  [10e6, 3],
]);

/** Bounds on the ratio to a bare download, SHA-256 and secretbox, by size. */
const TIMES: ReadonlyMap<number, number> = new Map([
  [1e5, 1.5],
  [1e6, 1.1],
]);

/** The least share of the rate of bare downloads of the same chunks. */
const SHARE = 0.45;

/** What a newly opened store may add to its first get, in seconds. */
const OPENING = 0.02;

export async function decryptionPerf(context: SuiteContext): Promise<Findings> {
  const random = seededRandom(context.seed);
  const found: Sampled[] = [];
  const pairs: Pair[] = [];
  const exact: Target[] = [];
  await withScratch(context.store, "decryption-perf", async (scratch) => {
    const stores = await storesIn(scratch.at("store"), context.env);
    const bare = bareS3(scratch.at("bare"));
    const read = async (store: Store, content: Uint8Array<ArrayBuffer>) =>
      lengthOf((await store.get(await store.put(content))).chunks());
    exact.push(await inFlightTarget(stores, "get", read));
    for (const sized of sizedRounds(context)) {
      const name = sizeName(sized.size);
      context.log(`${name}, ${sized.rounds} rounds`);
      const sampled = await measureSize(sized, stores, bare, context);
      found.push(sampled);
      if (sized.rounds > 1) {
        const of = lookup(sampled.measurements);
        const title = `${name}: read again by the same store`;
        pairs.push(pairOf(title, of(`first get ${name}`), of(`get ${name}`), random));
      }
      await scratch.clear();
    }
  });
  return {
    measurements: found.flatMap(({ measurements }) => measurements),
    pairs,
    targets: [...found.flatMap(({ targets }) => targets), ...exact],
    notes: [
      "Contents are random and not padded, so that a get and a bare GET transfer the same bytes; the server has them in memory.",
      "get reads the content with chunks(), which copies nothing, and is done once more after each timed read, to compare its bytes by SHA-256; get as bytes copies it into new memory.",
      "first get includes the set-up of a newly opened store; get is one of many by the same store.",
      "Parts are measured in additional gets, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately.",
      "Contents over 1 MiB have several chunks in flight, as have the bare downloads beside them: their parts overlap.",
    ],
  };
}

async function measureSize(
  sized: SizedRounds,
  stores: Stores,
  bare: BareS3,
  { signal, seed }: SuiteContext,
): Promise<Sampled> {
  const { size, rounds } = sized;
  const content = randomContent(size);
  const hash = sha256(content);
  const objects = bareObjects(content);
  for (const { name, bytes, sha256 } of objects) await bare.put(name, bytes, sha256);
  const labels = labelsFor(size);
  const bound = await boundsFor(size);
  const buffers = Array.from({ length: IN_FLIGHT }, () => new Uint8Array(Math.min(size, CHUNK)));
  await using store = stores.open();
  const address = await store.put(content);
  const chunksOf = async (reader: Store) => (await reader.get(address)).chunks();
  const checkChunks = async (reader: Store): Promise<void> => {
    if ((await hashOf(await chunksOf(reader))) !== hash) throw new Error("wrong bytes came back");
  };
  let fresh = stores.open();
  const tasks: Task[] = [
    {
      ...labels("get"),
      run: async () => lengthOf(await chunksOf(store)),
      check: () => checkChunks(store),
    },
    {
      ...labels("bare GET"),
      run: () => inLanes(objects, IN_FLIGHT, ({ name }, lane) => bare.get(name, buffers[lane]!)),
      check: () => objects.length > 1 || expectBytes(buffers[0]!, hash),
    },
    { ...labels("SHA-256"), run: bound.hash },
    { ...labels("secretbox"), run: bound.open },
    {
      ...labels("get as bytes"),
      run: async () => (await store.get(address)).bytes(),
      check: (bytes) => expectBytes(bytes as Uint8Array, hash),
    },
    {
      ...labels("first get"),
      prepare: async () => {
        await fresh.close();
        fresh = stores.open();
      },
      run: async () => lengthOf(await chunksOf(fresh)),
      check: () => checkChunks(fresh),
    },
  ];
  const { store: metered, meter } = await stores.openMetered();
  const random = seededRandom(seed);
  try {
    const sampled = await sampleInterleaved(tasks, { rounds, signal, seed }, (of) =>
      targetsFor(size, of, random),
    );
    const read = async () => lengthOf(await chunksOf(metered));
    const parts = await measureParts(sized, PARTS, meter, read, { random, signal });
    return { ...sampled, measurements: [...sampled.measurements, ...parts] };
  } finally {
    await metered.close();
    await fresh.close();
  }
}

function targetsFor(size: number, of: Lookup, random: Random): Target[] {
  const name = sizeName(size);
  const [get, first, bare, hash, open] = [
    "get",
    "first get",
    "bare GET",
    "SHA-256",
    "secretbox",
  ].map((series) => of(`${series} ${name}`)) as [
    Measurement,
    Measurement,
    Measurement,
    Measurement,
    Measurement,
  ];
  const [seconds, times] = [SECONDS.get(size), TIMES.get(size)];
  const sum = `${name}: get to bare GET + SHA-256 + secretbox`;
  const share = `${name}: rate of get to that of bare GETs of the same chunks`;
  const opening = first.samples.map((whole, round) => whole - get.samples[round]!);
  return [
    ...(seconds === undefined
      ? []
      : [timeTarget(`${name} downloaded and decrypted`, get, { most: seconds }, random)]),
    ...(times === undefined
      ? []
      : [ratioTarget(sum, { of: get, to: [bare, hash, open] }, { most: times }, random)]),
    ...(size > ONE_BLOB
      ? [ratioTarget(share, { of: bare, to: get }, { least: SHARE }, random)]
      : []),
    sampledTarget(
      `${name}: what a first get adds`,
      opening,
      { most: OPENING },
      { unit: "seconds", kind: "wall", random },
    ),
  ];
}
