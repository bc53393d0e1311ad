/**
 * Puts and gets of a long content in memory, compared with the serial bound: libsodium's secretbox, then
 * the SHA-256 of `node:crypto`, of each chunk on one thread. With threads, a store has to beat it, unless
 * other programs leave it no second core: CPU time shows the threads even then.
 */
import { createHash, randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { type Address, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { libsodium } from "../../harness/bounds.ts";
import {
  CHUNK,
  expectBytes,
  hashOf,
  lengthOf,
  randomContent,
  sha256,
  sizeName,
} from "../../harness/content.ts";
import { storeOf } from "../../harness/identity.ts";
import { watchLoad } from "../../harness/machine.ts";
import { type Findings, labelsFor, together } from "../../harness/results.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { lackCores, ratioTarget, sampledTarget, unlessBusy } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";

const MIB = 2 ** 20;

/** The least rates as multiples of the serial bound: with threads by elapsed time, alone by CPU time. */
const LEAST: Readonly<Record<string, readonly [threaded: number, alone: number]>> = {
  "put of bytes": [1.05, 0.8],
  "put of a stream": [0.9, 0.65],
  "get as chunks": [1.1, 0.8],
  "get as a stream": [0.7, 0.45],
  "get into memory": [1.05, 0.75],
  "verify, deep": [1.1, 0.8],
};

/** The least seconds of all threads per second of the calling one: 1 is all that it does alone. */
const THREADS = 1.5;

const GOAL = { threaded: 1.5, alone: 0.9 } as const;

export async function serialBound(context: SuiteContext): Promise<Findings> {
  const { quick, iterations } = context;
  const [length = (quick ? 32 : 128) * MIB] = context.sizes ?? [];
  const content = randomContent(length);
  const rounds = (most: number) => iterations ?? (quick ? 2 : most);
  // One thread needs no pipeline to fill, so less is enough, more often.
  const less = content.subarray(0, Math.ceil(length / 4));
  const notes = [
    "get as chunks lends its buffers and get into memory fills the caller's; a stream is copied in pieces of 64 KiB, because its consumers keep them. Bytes are compared by SHA-256 after each sample, by another read where the read did not keep them.",
  ];
  // On one core, a store starts threads only if it is asked to.
  const workers = availableParallelism() < 2 ? 2 : undefined;
  const threaded = await measure(content, workers, rounds(5), context);
  return together([threaded, await measure(less, 0, rounds(8), context), { notes }]);
}

async function measure(
  content: Uint8Array<ArrayBuffer>,
  workers: number | undefined,
  rounds: number,
  { signal, log }: SuiteContext,
): Promise<Findings> {
  const [alone, how] = workers === 0 ? [true, ", one thread"] : [false, ""];
  log(`${sizeName(content.length)}${how}, ${rounds} rounds`);
  await using store = await storeInMemory(content, workers);
  const load = watchLoad();
  const bounds = await serialBounds(content, load.look);
  const labels = (name: string) => labelsFor(content.length)(name + how);
  const tasks = Object.entries({ ...store.ways, ...bounds }).map(([name, way]) =>
    Object.assign(labels(name), way),
  );
  // Awaited, because a closed store has no threads.
  return await sampleInterleaved(tasks, { rounds, signal }, (of) => {
    const found = (name: string) => of(labels(name).name);
    const bound = Object.keys(bounds).map(found);
    const kind = alone ? "cpu" : "wall";
    const rates = Object.entries(LEAST).map(([name, [threaded, single]]) => {
      const limits = alone
        ? { least: single, goal: GOAL.alone }
        : { least: threaded, goal: GOAL.threaded };
      const title = `${name}${how}: rate to the serial bound`;
      return ratioTarget(title, { of: bound, to: found(name), kind }, limits);
    });
    if (alone) return rates;
    const cpu = { unit: "count", kind: "cpu" } as const;
    const threads = Object.keys(LEAST).map((name) => {
      const title = `${name}: seconds of all threads per second of the calling one`;
      const measured = store.threads[name]!.slice(-found(name).samples.length);
      return sampledTarget(title, measured, { least: THREADS }, cpu);
    });
    return [...rates.map((target) => unlessBusy(target, lackCores(bound, load))), ...threads];
  });
}

type Way = Pick<Task, "prepare" | "run" | "check">;

export interface StoreInMemory extends AsyncDisposable {
  /** What to do with a content: those of `LEAST`. */
  readonly ways: Readonly<Record<string, Way>>;
  /** The seconds of all threads per second of the calling one, of each run of each way, warm-ups first. */
  readonly threads: Readonly<Record<string, readonly number[]>>;
}

/** A store in memory that has a content, and ways to put and get it. */
export async function storeInMemory(
  content: Uint8Array<ArrayBuffer>,
  workers: number | undefined,
): Promise<StoreInMemory> {
  const { length } = content;
  const hash = sha256(content);
  // The memory of deleted blobs is reused, so that later rounds touch no new pages.
  const backend = memory({ idleBytes: 2 * length });
  const store = storeOf(await generateIdentity(), {
    backend,
    padding: "none",
    workers,
  });
  let address = await store.put(content);
  const into = new Uint8Array(length).fill(1);
  const read = async () => (await store.get(address)).bytes({ into, maxBytes: length });
  const expect = (found: unknown, expected: unknown) => {
    if (found !== expected) throw new Error(`${String(found)} in place of ${String(expected)}`);
  };
  const put = (run: () => Promise<Address>): Way => ({
    prepare: () => store.deleteTree(address),
    run: async () => (address = await run()),
    check: async () => expectBytes(await read(), hash),
  });
  const get = (way: "chunks" | "stream"): Way => ({
    run: async () => expect(await lengthOf((await store.get(address))[way]()), length),
    check: async () => expect(await hashOf((await store.get(address))[way]()), hash),
  });
  const verify = async () => (await store.verify(address, { deep: true })).blobs;
  let damages = 0;
  /** Damages another blob each time. */
  const verifyDamaged = async () => {
    const blobs = await Array.fromAsync(backend.list(""));
    const { name, size } = blobs[damages++ % blobs.length]!;
    const bytes = new Uint8Array(size);
    await backend.get(name, bytes);
    const flip = () => {
      bytes[size - 1]! ^= 1;
      return backend.put(name, bytes);
    };
    await flip();
    const found = await verify().catch(() => 0);
    await flip();
    if (found > 0) throw new Error("a deep verify did not notice a damaged blob");
  };
  const ways = {
    "put of bytes": put(() => store.put(content)),
    "put of a stream": put(() => store.put(pieces(content))),
    "get as chunks": get("chunks"),
    "get as a stream": get("stream"),
    "get into memory": { run: read, check: () => expectBytes(into, hash) },
    "verify, deep": {
      run: async () => expect(await verify(), Math.ceil(length / CHUNK) + 1),
      check: verifyDamaged,
    },
  };
  const threads: Record<string, number[]> = {};
  const counted = async (name: string, run: Task["run"]) => {
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
    await run();
    const [{ user, system }, calling] = [process.cpuUsage(all), process.threadCpuUsage(own)];
    (threads[name] ??= []).push((user + system) / (calling.user + calling.system));
  };
  const measured = Object.entries(ways).map(([name, way]) => [
    name,
    Object.assign({}, way, { run: () => counted(name, way.run) }),
  ]);
  const close = () => store[Symbol.asyncDispose]();
  return { ways: Object.fromEntries(measured), threads, [Symbol.asyncDispose]: close };
}

async function* pieces(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < content.length; i += MIB) yield content.subarray(i, i + MIB);
}

/** @param idle awaited after each run */
async function serialBounds(
  content: Uint8Array,
  idle: () => Promise<unknown>,
): Promise<Readonly<Record<string, Way>>> {
  const sodium = await libsodium();
  const [box, nonce, key] = [Buffer.alloc(CHUNK + 16, 1), randomBytes(24), randomBytes(32)];
  const slices = Array.from({ length: Math.ceil(content.length / CHUNK) }, (_, i) =>
    content.subarray(i * CHUNK, (i + 1) * CHUNK),
  );
  const seal = (slice: Uint8Array) =>
    sodium.crypto_secretbox_easy(box.subarray(0, slice.length + 16), slice, nonce, key);
  const hash = (slice: Uint8Array) => createHash("sha256").update(slice).digest();
  const way = (work: (slice: Uint8Array) => unknown): Way => ({
    run: () => slices.forEach((slice) => work(slice)),
    check: idle,
  });
  return { secretbox: way(seal), "SHA-256": way(hash) };
}
