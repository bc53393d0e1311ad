/**
 * Seals and uploads one content at a time: a `put` of a store, compared with the same bytes uploaded by
 * bare signed requests, sealed by libsodium and hashed by `node:crypto`. Any put needs those three.
 */
import { boundsFor } from "../harness/bounds.ts";
import { sizeName, expectBytes, freshName, randomContent, sha256 } from "../harness/content.ts";
import { inLanes } from "../harness/interleave.ts";
import { type Findings, type Lookup, labelsFor } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget, timeTarget } from "../harness/targets.ts";
import { bareS3 } from "../object-store/bare-s3.ts";
import { withScratch } from "../object-store/scratch.ts";
import type { Measurement, Target } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import {
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
  cipher: "encrypt",
  header: "header",
  hash: "hash",
  transfer: "upload",
} as const;

/** Absolute bounds in seconds. */
const SECONDS: ReadonlyMap<number, number> = new Map([
  [1e6, 0.5],
  [10e6, 5],
]);

/** Bounds on the ratio to a bare upload, secretbox and SHA-256, by size. */
const TIMES: ReadonlyMap<number, number> = new Map([
  [1e5, 1.5],
  [1e6, 1.1],
]);

/** The least share of the rate of bare uploads of the same chunks. */
const SHARE = { least: 0.6, goal: 0.7 } as const;

export async function encryptionPerf(context: SuiteContext): Promise<Findings> {
  const found: Sampled[] = [];
  const parts: Measurement[] = [];
  const exact: Target[] = [];
  await withScratch(context.store, "encryption-perf", async (scratch) => {
    const stores = await storesIn(scratch.at("store"), context.env);
    const bare = {
      checked: bareS3(scratch.at("bare"), { checksums: true }),
      plain: bareS3(scratch.at("bare")),
    };
    exact.push(await inFlightTarget(stores, "put", (store, content) => store.put(content)));
    for (const sized of sizedRounds(context)) {
      context.log(`${sizeName(sized.size)}, ${sized.rounds} rounds`);
      found.push(await measureSize(sized, stores, bare, context));
      context.log(`${sizeName(sized.size)}, in parts`);
      parts.push(...(await measureInParts(sized, stores, context)));
      await scratch.clear();
    }
  });
  return {
    measurements: [...found.flatMap(({ measurements }) => measurements), ...parts],
    targets: [...found.flatMap(({ targets }) => targets), ...exact],
    notes: [
      "A put makes the server verify and keep a SHA-256 of each object, for which the server hashes a second time. The bound is an upload that does the same; a bare PUT without it is measured beside it.",
      "Contents are random and not padded, so that a put and a bare PUT transfer the same bytes.",
      "Parts are measured in additional puts, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately.",
      "Contents over 1 MiB have several chunks in flight, as have the bare uploads beside them: their parts overlap.",
    ],
  };
}

type Bare = ReturnType<typeof bareS3>;

async function measureSize(
  { size, rounds }: SizedRounds,
  stores: Stores,
  bare: { readonly checked: Bare; readonly plain: Bare },
  { signal, seed }: SuiteContext,
): Promise<Sampled> {
  const content = randomContent(size);
  const hash = sha256(content);
  const objects = bareObjects(content);
  const labels = labelsFor(size);
  const bound = await boundsFor(size);
  await using store = stores.open();
  const upload = (series: string, { put }: Bare): Task => ({
    ...labels(series),
    // New names, because a server may answer sooner if it already has the object.
    prepare: () => objects.forEach((object) => Object.assign(object, { name: freshName() })),
    run: () => inLanes(objects, IN_FLIGHT, ({ name, bytes, sha256 }) => put(name, bytes, sha256)),
  });
  const tasks: Task[] = [
    {
      ...labels("put"),
      run: () => store.put(content),
      check: async (address) =>
        expectBytes(await (await store.get(address as string)).bytes(), hash),
    },
    upload(CHECKED, bare.checked),
    upload("bare PUT", bare.plain),
    { ...labels("secretbox"), run: bound.seal },
    { ...labels("SHA-256"), run: bound.hash },
  ];
  const random = seededRandom(seed);
  return sampleInterleaved(tasks, { rounds, signal, seed }, (of) => targetsFor(size, of, random));
}

const CHECKED = "bare PUT, checksum kept";

function targetsFor(size: number, of: Lookup, random: Random): Target[] {
  const name = sizeName(size);
  const [put, bare, seal, hash] = ["put", CHECKED, "secretbox", "SHA-256"].map((series) =>
    of(`${series} ${name}`),
  ) as [Measurement, Measurement, Measurement, Measurement];
  const [seconds, times] = [SECONDS.get(size), TIMES.get(size)];
  const sum = `${name}: put to bare PUT with kept checksum + secretbox + SHA-256`;
  const share = `${name}: rate of put to that of bare PUTs of the same chunks`;
  return [
    ...(seconds === undefined
      ? []
      : [timeTarget(`${name} encrypted and uploaded`, put, { most: seconds }, random)]),
    ...(times === undefined
      ? []
      : [ratioTarget(sum, { of: put, to: [bare, seal, hash] }, { most: times }, random)]),
    ...(size > ONE_BLOB ? [ratioTarget(share, { of: bare, to: put }, SHARE, random)] : []),
  ];
}

async function measureInParts(
  sized: SizedRounds,
  stores: Stores,
  { signal, seed }: SuiteContext,
): Promise<Measurement[]> {
  const content = randomContent(sized.size);
  const { store, meter } = await stores.openMetered();
  try {
    const how = { random: seededRandom(seed), signal };
    return await measureParts(sized, PARTS, meter, () => store.put(content), how);
  } finally {
    await store.close();
  }
}
