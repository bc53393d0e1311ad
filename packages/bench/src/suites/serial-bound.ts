/**
 * Puts and gets of a long content in memory, compared with the serial bound: libsodium's secretbox, then
 * the SHA-256 of `node:crypto`, of each chunk on one thread. With threads, a store has to beat it, unless
 * other programs leave it no second core: CPU time shows the threads even then.
 */
import { createHash, randomBytes } from "node:crypto";
import { type Address, createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { libsodium } from "../harness/bounds.ts";
import {
  sizeName,
  expectBytes,
  hashOf,
  lengthOf,
  randomContent,
  sha256,
} from "../harness/content.ts";
import { type Findings, labelsFor } from "../harness/results.ts";
import { type Sampled, type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget, sampledTarget } from "../harness/targets.ts";
import type { Target } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { CHUNK } from "./object-store/passes.ts";

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

/** What is wanted with threads, and with one. */
const GOALS = { threaded: 1.5, alone: 0.9 } as const;

/** If the bound itself waits for a core this often, elapsed time cannot judge threads. */
const BUSY = 1.2;

export async function serialBound(context: SuiteContext): Promise<Findings> {
  const { quick } = context;
  const [length = (quick ? 32 : 128) * MIB] = context.sizes ?? [];
  const content = randomContent(length);
  const threaded = await measure(content, undefined, context);
  // One thread needs no pipeline to fill, so less is enough.
  const alone = await measure(content.subarray(0, Math.ceil(length / 2)), 0, context);
  return {
    measurements: [...threaded.measurements, ...alone.measurements],
    targets: [...threaded.targets, ...alone.targets],
    notes: [
      "get as chunks lends its buffers and get into memory fills the caller's; a stream is copied in pieces of 64 KiB, because its consumers keep them. Bytes are compared by SHA-256 after each sample, by another read where the read did not keep them.",
    ],
  };
}

/** @param workers as in the store's options */
async function measure(
  content: Uint8Array<ArrayBuffer>,
  workers: number | undefined,
  { iterations, quick, signal, seed, log }: SuiteContext,
): Promise<Sampled> {
  const { length } = content;
  const how = workers === 0 ? ", one thread" : "";
  const rounds = iterations ?? (quick ? 2 : 5);
  log(`${sizeName(length)}${how}, ${rounds} rounds`);
  const [hash, identity, sodium] = [sha256(content), await generateIdentity(), await libsodium()];
  await using store = createStore({
    // The memory of deleted blobs is reused, so that later rounds touch no new pages.
    backend: memory({ idleBytes: 2 * length }),
    recipients: [identity.recipient],
    identities: [identity],
    padding: "none",
    workers,
  });
  let address = await store.put(content);
  const into = new Uint8Array(length).fill(1);
  const random = seededRandom(seed);
  const [box, nonce, key] = [Buffer.alloc(CHUNK + 16, 1), randomBytes(24), randomBytes(32)];
  const slices = Array.from({ length: Math.ceil(length / CHUNK) }, (_, i) =>
    content.subarray(i * CHUNK, (i + 1) * CHUNK),
  );
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < length; i += MIB) yield content.subarray(i, i + MIB);
  }
  const read = async () => (await store.get(address)).bytes({ into, maxBytes: length });
  const chunks = async () => (await store.get(address)).chunks();
  const stream = async () => (await store.get(address)).stream();
  const expect = (found: unknown, expected: unknown) => {
    if (found !== expected) throw new Error(`${String(found)} in place of ${String(expected)}`);
  };
  const put = (run: () => Promise<Address>) => ({
    prepare: () => store.deleteTree(address),
    run: async () => (address = await run()),
    check: async () => expectBytes(await read(), hash),
  });
  const get = (open: () => Promise<AsyncIterable<Uint8Array>>) => ({
    run: async () => expect(await lengthOf(await open()), length),
    check: async () => expect(await hashOf(await open()), hash),
  });
  const ways: Readonly<Record<string, Pick<Task, "prepare" | "run" | "check">>> = {
    "put of bytes": put(() => store.put(content)),
    "put of a stream": put(() => store.put(pieces())),
    "get as chunks": get(chunks),
    "get as a stream": get(stream),
    "get into memory": { run: read, check: () => expectBytes(into, hash) },
    "verify, deep": {
      run: async () =>
        expect((await store.verify(address, { deep: true })).blobs, slices.length + 1),
    },
    secretbox: {
      run() {
        for (const slice of slices) {
          sodium.crypto_secretbox_easy(box.subarray(0, slice.length + 16), slice, nonce, key);
        }
      },
    },
    "SHA-256": {
      run() {
        for (const slice of slices) createHash("sha256").update(slice).digest();
      },
    },
  };
  const labels = (name: string) => labelsFor(length)(name + how);
  const threads: number[] = [];
  const counted = async (run: Task["run"]) => {
    const [all, own] = [process.cpuUsage(), process.threadCpuUsage()];
    await run();
    const [{ user, system }, calling] = [process.cpuUsage(all), process.threadCpuUsage(own)];
    threads.push((user + system) / (calling.user + calling.system));
  };
  const tasks = Object.entries(ways).map(([name, { run, ...rest }]): Task => {
    return Object.assign(labels(name), rest, { run: name in LEAST ? () => counted(run) : run });
  });
  // Awaited, because a closed store has no threads.
  return await sampleInterleaved(tasks, { rounds, signal, seed }, (of) => {
    const found = (name: string) => of(labels(name).name);
    const bound = [found("secretbox"), found("SHA-256")];
    const kind = workers === 0 ? "cpu" : "wall";
    const rates = Object.entries(LEAST).map(([name, [threaded, alone]]) => {
      const bounds =
        workers === 0
          ? { least: alone, goal: GOALS.alone }
          : { least: threaded, goal: GOALS.threaded };
      const title = `${name}${how}: rate to the serial bound`;
      return ratioTarget(title, { of: bound, to: found(name), kind }, bounds, random);
    });
    if (workers === 0) return rates;
    const busy = bound.some(
      ({ samples, cpuSamples }) => median(samples) > BUSY * median(cpuSamples!),
    );
    const cpu = { unit: "count", kind: "cpu", random } as const;
    return [
      ...(busy ? rates.map(undecided) : rates),
      sampledTarget(
        "seconds of all threads per second of the calling one",
        threads,
        { least: 1.5 },
        cpu,
      ),
    ];
  });
}

function undecided(target: Target): Target {
  return target.verdict === "missed" ? { ...target, verdict: "inconclusive" } : target;
}
