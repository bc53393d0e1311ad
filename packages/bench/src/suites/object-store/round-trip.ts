/**
 * One content at a time, sealed and uploaded or downloaded and opened: a put or a get of a store, compared
 * with the same bytes sent by bare signed requests, sealed or opened by libsodium and hashed by
 * `node:crypto`. Any put and get needs those three.
 */
import { type Backend, type Store, type StoreOptions, loadNaCl } from "@idk/storage";
import { boundsFor } from "../../harness/bounds.ts";
import { CHUNK, expectBytes, sizeName } from "../../harness/content.ts";
import { storeOf, suiteIdentity } from "../../harness/identity.ts";
import {
  type Findings,
  type Labels,
  type Lookup,
  labelsFor,
  lookup,
  pairOf,
  together,
} from "../../harness/results.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, sampledTarget, timeTarget } from "../../harness/targets.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { openBackend, withScratch } from "../../object-store/scratch.ts";
import type { Target } from "../../report/report.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import { inFlightTarget } from "./in-flight.ts";
import { type Parts, measureParts, partsMeter } from "./parts.ts";
import {
  type Content,
  IN_FLIGHT,
  ONE_BLOB,
  type Way,
  byHash,
  byLength,
  chunksOf,
  passesOf,
  passesOfStore,
  randomContents,
  readAll,
  tasksOf,
} from "./passes.ts";

/** Rounds of each size in bytes. */
const ROUNDS: ReadonlyMap<number, number> = new Map([
  [1e5, 60],
  [1e6, 60],
  [10e6, 20],
]);
/** Of the parts, which have no targets. */
const PARTS_ROUNDS = 10;

/** Bounds on the ratio to the bare request, secretbox and SHA-256, by size. */
const TIMES: ReadonlyMap<number, Bound> = new Map<number, Bound>([
  [1e5, { most: 1.5 }],
  // What is measured lies around the goal, on both sides of it.
  [1e6, { most: 1.2, goal: 1.1 }],
]);

/** What a newly opened store may add to its first get, in seconds. */
const OPENING = 0.02;

/** One of the two suites. */
interface Direction {
  readonly suite: string;
  readonly way: Way;
  readonly parts: Readonly<Record<keyof Parts, string>>;
  /** Absolute bounds in seconds, by size. */
  readonly seconds: ReadonlyMap<number, number>;
  /** Of the rate of bare requests for the same chunks. */
  readonly share: Bound;
  /** The series of the bare requests. */
  readonly bare: string;
  /** The targets, without the size. */
  readonly names: Readonly<Record<"seconds" | "times" | "share", string>>;
  tasks(setting: Setting): Promise<Task[]>;
  readonly notes: readonly string[];
}

interface Setting {
  readonly content: Content;
  /** The objects that a store makes of the content. */
  readonly chunks: readonly Content[];
  readonly labels: (series: string) => Labels;
  readonly store: Store;
  readonly open: OpenStore;
  /** For bare requests. */
  readonly access: ObjectStoreAccess;
}

/** Opens another store over the same objects. Contents are not padded: all transfer the same bytes. */
type OpenStore = (options?: Pick<StoreOptions, "backend" | "nacl">) => Store;

const OVERLAPPING =
  "Contents over 1 MiB have several chunks in flight, as have the bare requests beside them: their parts overlap.";

const PUT: Direction = {
  suite: "encryption-perf",
  way: "put",
  parts: { cipher: "encrypt", header: "header", hash: "hash", transfer: "upload" },
  seconds: new Map([
    [1e6, 0.5],
    [10e6, 5],
  ]),
  share: { least: 0.6, goal: 0.7 },
  bare: "bare PUT, checksum kept",
  names: {
    seconds: "encrypted and uploaded",
    times: "put to bare PUT with kept checksum + secretbox + SHA-256",
    share: "rate of put to that of bare PUTs of the same chunks",
  },
  async tasks({ content, chunks, labels, store, access }) {
    const upload = (series: string, checksums: boolean): Task => {
      const bare = passesOf(bareS3(access, { checksums }), CHUNK);
      const { put } = tasksOf(bare, chunks, { who: series, inFlight: IN_FLIGHT });
      return { ...put, ...labels(series) };
    };
    const { put } = tasksOf(passesOfStore(store), [content], { who: "store" });
    return [{ ...put, ...labels("put") }, upload(this.bare, true), upload("bare PUT", false)];
  },
  notes: [
    "A put makes the server verify and keep a SHA-256 of each object, for which the server hashes a second time. The bound is an upload that does the same; a bare PUT without it is measured beside it.",
    "Contents are random and not padded, so that a put and a bare PUT transfer the same bytes.",
    "Parts are measured in additional puts, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately.",
    OVERLAPPING,
  ],
};

const GET: Direction = {
  suite: "decryption-perf",
  way: "get",
  parts: { transfer: "download", header: "parse", hash: "hash", cipher: "decrypt" },
  seconds: new Map([
    [1e6, 0.3],
    [10e6, 3],
  ]),
  share: { least: 0.45 },
  bare: "bare GET",
  names: {
    seconds: "downloaded and decrypted",
    times: "get to bare GET + SHA-256 + secretbox",
    share: "rate of get to that of bare GETs of the same chunks",
  },
  async tasks({ content, chunks, labels, store, open, access }) {
    const bare = passesOf(bareS3(access), CHUNK);
    const address = await store.put(content.bytes);
    const { get } = tasksOf(bare, chunks, { who: "bare", inFlight: IN_FLIGHT });
    const read = (from: Store, isSame: typeof byHash) =>
      readAll(passesOfStore(from), [address], [content], 1, isSame);
    let fresh: Store;
    return [
      {
        ...labels("get"),
        run: () => read(store, byLength),
        check: () => read(store, byHash),
      },
      { ...get, ...labels(this.bare) },
      {
        ...labels("get as bytes"),
        run: async () => (await store.get(address)).bytes(),
        check: (bytes) => expectBytes(bytes as Uint8Array, content.sha256),
      },
      {
        ...labels("first get"),
        prepare: () => (fresh = open()),
        run: () => read(fresh, byLength),
        async check() {
          await fresh.close();
          // Another first get, because a second one of the same store is no longer one.
          await using another = open();
          await read(another, byHash);
        },
      },
    ];
  },
  notes: [
    "Contents are random and not padded, so that a get and a bare GET transfer the same bytes; the server has them in memory.",
    "get reads the content with chunks(), which copies nothing, and is done once more after each timed read, to compare its bytes by SHA-256; get as bytes copies it into new memory.",
    "first get includes the set-up of a newly opened store, and the first get of another one is compared; get is one of many by the same store.",
    "Parts are measured in additional gets, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately.",
    OVERLAPPING,
  ],
};

export function encryptionPerf(context: SuiteContext): Promise<Findings> {
  return measure(PUT, context);
}

export function decryptionPerf(context: SuiteContext): Promise<Findings> {
  return measure(GET, context);
}

async function measure(direction: Direction, context: SuiteContext): Promise<Findings> {
  const { suite, notes } = direction;
  const found = await withScratch(context.store, suite, async (scratch) => {
    const identity = await suiteIdentity(context.env);
    // Each store has its own, because it closes it.
    const backend = () => openBackend(scratch.at("store"));
    const open: OpenStore = (options = { backend: backend() }) =>
      storeOf(identity, { padding: "none", ...options });
    const overHeld = (held: Backend) => open({ backend: held });
    const { way } = direction;
    const inFlight = await inFlightTarget(way, way, backend(), overHeld, passesOfStore);
    const parts: Findings[] = [{ targets: [inFlight] }];
    for (const size of context.sizes ?? ROUNDS.keys()) {
      const [content] = randomContents(size, 1) as [Content];
      await using store = open();
      const [chunks, labels] = [chunksOf(content), labelsFor(size)];
      const setting = { content, chunks, labels, store, open, access: scratch.at("bare") };
      parts.push(await measureSize(direction, setting, backend(), context));
      await scratch.clear();
    }
    return together(parts);
  });
  return { ...found, notes };
}

async function measureSize(
  direction: Direction,
  setting: Setting,
  backend: Backend,
  { quick, iterations, signal, log }: SuiteContext,
): Promise<Findings> {
  const { content, labels, open } = setting;
  const size = content.bytes.length;
  const name = sizeName(size);
  const rounds = iterations ?? (quick ? 3 : (ROUNDS.get(size) ?? 20));
  log(`${name}, ${rounds} rounds`);
  const bounds = await boundsFor(size);
  const tasks = [
    ...(await direction.tasks(setting)),
    { ...labels("secretbox"), run: bounds[direction.way === "put" ? "seal" : "open"] },
    { ...labels("SHA-256"), run: bounds.hash },
  ];
  const sampled = await sampleInterleaved(tasks, { rounds, signal }, (of) =>
    targetsFor(direction, size, of),
  );
  log(`${name}, in parts`);
  const meter = partsMeter(await loadNaCl(), backend);
  await using metered = open({ backend: meter.backend, nacl: meter.naCl });
  const task = tasksOf(passesOfStore(metered), [content], { who: "parts" })[direction.way];
  await task.prepare?.();
  const few = { rounds: Math.min(rounds, PARTS_ROUNDS), signal };
  const parts = await measureParts(size, direction.parts, meter, task, few);
  const of = lookup(sampled.measurements);
  const [first, again] = [`first get ${name}`, `get ${name}`];
  return {
    ...sampled,
    measurements: [...sampled.measurements, ...parts],
    pairs:
      direction.way === "get" && rounds > 1
        ? [pairOf(`${name}: read again by the same store`, of(first), of(again))]
        : [],
  };
}

function targetsFor(
  { way, seconds, share, bare: bareSeries, names }: Direction,
  size: number,
  of: Lookup,
): Target[] {
  const name = sizeName(size);
  const found = (series: string) => of(`${series} ${name}`);
  const [own, bare] = [found(way), found(bareSeries)];
  const bound = [bare, found("secretbox"), found("SHA-256")];
  const [slowest, times] = [seconds.get(size), TIMES.get(size)];
  const targets: Target[] = [];
  if (slowest !== undefined) {
    targets.push(timeTarget(`${name} ${names.seconds}`, own, { most: slowest }));
  }
  if (times !== undefined) {
    const ratio = { of: own, to: bound };
    targets.push(ratioTarget(`${name}: ${names.times}`, ratio, times));
  }
  if (size > ONE_BLOB) {
    targets.push(ratioTarget(`${name}: ${names.share}`, { of: bare, to: own }, share));
  }
  if (way === "get") {
    const added = found("first get").samples.map((whole, round) => whole - own.samples[round]!);
    const how = { unit: "seconds", kind: "wall" } as const;
    targets.push(sampledTarget(`${name}: what a first get adds`, added, { most: OPENING }, how));
  }
  return targets;
}
