import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { bundleRound } from "../../src/compare/checkouts.ts";
import { ROUND, inPlace, startProcess } from "../../src/compare/processes.ts";
import type { Counts, Job } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";
import { fixtureOver, manyGets, manyPuts } from "../../src/compare/round/work.ts";
import type { Taken } from "../../src/harness/memory.ts";
import { run } from "../../src/harness/processes.ts";

// Starts processes, on machines that may be busy.
setDefaultTimeout(60_000);

const { signal } = new AbortController();

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "idk-round-"));
});
afterAll(() => rm(parent, { recursive: true }));

function start(task: TaskInfo, mode: Job["mode"] = "measure", script = ROUND) {
  return startProcess({ name: "main", script }, task, mode, { folder: parent, signal });
}

/** Measures two batches of the smallest size. */
async function measure(task: TaskInfo, script = ROUND): Promise<Taken[]> {
  await using process = await start(task, "measure", script);
  await process.answer();
  const batches = [await process.run(task.least), await process.run(task.least)];
  await process.end();
  return batches;
}

const { count: countOnce } = inPlace(undefined, signal);
const byName = (name: string) => TASKS.find((task) => task.name === name)!;
const countOf = (name: string): Promise<Counts> => countOnce(byName(name));

describe("each task without an object store", () => {
  for (const task of TASKS.filter(({ backendKind }) => backendKind !== "store")) {
    test(`${task.name}: measures batches, and counts the same twice`, async () => {
      const [counts, again, batches] = await Promise.all([
        countOnce(task),
        countOnce(task),
        measure(task),
      ]);
      for (const { seconds, cpuSeconds, peakRss } of batches) {
        expect(seconds).toBeGreaterThan(0);
        expect(cpuSeconds).toBeGreaterThan(0);
        expect(peakRss).toBeWithin(20 * 2 ** 20, 2 ** 30);
      }
      expect(again).toEqual(counts);
      expect(await readdir(parent)).toEqual([]);
    });
  }
});

test("counts for 8 MiB: two leaves of 4 MiB and the root, each hashed once for its name", async () => {
  const counts = await countOf("put-memory");
  const { bytesSent, bytesReceived, bytesHashed, bytesSealed, storedOverhead } = counts;
  expect(counts).toMatchObject({ PUT: 3, GET: 0, HEAD: 0, POST: 0, DELETE: 0 });
  expect(bytesReceived).toBe(0);
  expect(storedOverhead).toBe(bytesSent! - 8 * 2 ** 20);
  // In addition to the blobs: the commitment and the body key of each, and the slot of the root.
  expect(bytesHashed! - bytesSent!).toBeWithin(400, 700);
  // In addition to the content: the root, with the keys of the leaves.
  expect(bytesSealed! - 8 * 2 ** 20).toBeWithin(100, 400);
  expect(counts).not.toContainKey("threads");
});

test("bytes stored are those that are there afterwards, however often they were sent", async () => {
  const twice = `let kept, names = 0; ${KEYS} export const createStore = ({ backend }) => ({
    async put(content) {
      const [name, blob] = [String(names++), new Uint8Array([...(kept = content), 1, 2, 3, 4, 5])];
      await backend.put(name, blob);
      await backend.put(name, blob);
    },
    async get() { return { bytes: async () => kept }; },
  });`;
  const counts = await countWith(twice, "put-small");
  expect(counts).toMatchObject({ bytesSent: 2 * (1024 + 5), storedOverhead: 5 });
});

test("with a dedup secret, the content is hashed a second time", async () => {
  const { bytesHashed, bytesSent } = await countOf("put-convergent");
  expect(bytesHashed! - bytesSent! - 8 * 2 ** 20).toBeWithin(800, 1200);
});

test("counts the threads of a store with default options, and what it seals without them", async () => {
  const { threads, bytesSealed, PUT } = await countOf("put-memory-64m");
  const cores = navigator.hardwareConcurrency;
  expect(threads).toBe(cores < 2 ? 0 : Math.min(cores, 8));
  expect(bytesSealed).toBeGreaterThan(64 * 2 ** 20);
  expect(PUT).toBe(17);
});

/** Runs work with the measuring code in a library of two files in place of `@idk/storage`. */
async function withLibrary<T>(
  index: string | undefined,
  work: (script: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "idk-library-"));
  try {
    const exports = {
      "./memory": "./memory.ts",
      ...(index !== undefined && { ".": "./index.ts" }),
    };
    const manifest = { name: "@idk/storage", type: "module", exports };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await writeFile(join(folder, "memory.ts"), MEMORY);
    await writeFile(join(folder, "index.ts"), index ?? "");
    return await work(await bundleRound(folder));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const measureWith = (index: string) =>
  withLibrary(index, (script) => measure(byName("keys-1"), script));
const countWith = (index?: string, task = "keys-1") =>
  withLibrary(index, async (script) => {
    await using process = await start(byName(task), "count", script);
    return await process.answer();
  });

const KEYS = `export const generateIdentity = async () => ({ recipient: "r" });`;
const MEMORY = `export const memory = () => {
  const blobs = new Map();
  return {
    async put(name, bytes) { blobs.set(name, bytes); },
    async delete(name) { blobs.delete(name); },
    async *list() { for (const [name, { length: size }] of blobs) yield { name, size }; },
  };
};`;
const library = (methods: string) =>
  `${KEYS} export const createStore = () => ({ async put() {}, async delete() {}, ${methods} });`;

test("distinguishes a revision that lacks an export from one that fails", async () => {
  expect(await countWith()).toEqual({ lacks: "the entry point @idk/storage" });
  expect(await countWith(KEYS)).toEqual({ lacks: "createStore of @idk/storage" });
  expect(await countWith(library("get() {}"))).toEqual({ lacks: "rewrap of Store" });
  const broken = countWith(`import "not-installed"; ${library("get() {}")}`);
  expect(await broken.catch(String)).toContain("not-installed");
  const failing = library(`get() {}, rewrap() { throw new Error("no keys today"); }`);
  for (const runWith of [countWith, measureWith]) {
    const message = await runWith(failing).catch(String);
    expect(message).toContain("keys-1 failed at main: ");
    expect(message).toContain("no keys today");
  }
});

test.each([
  ["loading the library", "allocate(); const first = () => {};"],
  ["the first operation", "let first = () => { first = () => {}; allocate(); };"],
])("the peak of memory includes what %s allocates and frees", async (_, allocating) => {
  const [, last] = await measureWith(`
    const allocate = () => void new Uint8Array(3e8).fill(1).buffer.transfer(0);
    ${allocating} let kept;
    ${library(`
      async put(content) { kept = content; },
      async rewrap() { first(); },
      async get() { return { stream: () => new Blob([kept]).stream() }; },
    `)}`);
  expect(last!.peakRss).toBeGreaterThan(3e8);
});

test("other bytes than were put are an error", async () => {
  const wrong = library(`async rewrap() {}, async get() {
    return { stream: () => new Blob([new Uint8Array(32)]).stream() };
  }`);
  expect(await measureWith(wrong).catch(String)).toContain("32 wrong bytes came back");
});

test.each([
  ["putMany", manyPuts(1024)],
  ["getMany", manyGets(1024)],
] as const)("an operation of %s without a result is an error", async (method, prepare) => {
  const keeping = memory();
  const connect = async () => keeping;
  const fixture = await fixtureOver({ backend: keeping, connect, keeping }, { workers: 0 });
  /** Two of 32 results have the same key. */
  const open: typeof fixture.open = (options) => {
    const store = fixture.open(options);
    const lossy = async function* (items: never, settings: never) {
      for await (const result of store[method](items, settings)) {
        yield result.key === 31 ? { ...result, key: 30 } : result;
      }
    };
    return { ...store, [method]: lossy };
  };
  const { pass } = await prepare({ ...fixture, open });
  await pass(31);
  expect(await pass(32).catch(String)).toContain("only 31 of 32 operations have a result");
});

test("counts the bytes of every documented hash function", async () => {
  const script = `
    const { watchHashing } = await import(${JSON.stringify(join(ROUND, "../hashed-bytes.ts"))});
    const { createHash, createHmac, hash, subtle } = await import("node:crypto");
    const builtin = process.getBuiltinModule("node:crypto");
    const ten = new Uint8Array(10);
    const counts = [];
    const hashedBytes = watchHashing();
    const count = async (hash) => {
      const before = hashedBytes();
      await hash();
      counts.push(hashedBytes() - before);
    };
    await count(() => createHash("sha256").update(ten).update(ten.subarray(3)).digest());
    await count(() => builtin.createHash("sha1").update("äb").update("ff00", "hex").digest());
    await count(() => createHmac("sha256", "key").update(new DataView(ten.buffer)).digest());
    await count(() => new Bun.CryptoHasher("sha256").update(ten.buffer).digest());
    await count(() => Bun.CryptoHasher.hash("sha256", ten));
    await count(() => subtle.digest("SHA-256", ten));
    await count(() => crypto.subtle.digest("SHA-256", ten));
    await count(() => hash("sha256", ten));
    await count(() => builtin.hash("sha1", "äb"));
    const right = createHash("sha256").update("abc").digest("hex").startsWith("ba7816bf");
    console.log(JSON.stringify([counts, right]));
  `;
  const { stdout } = await run({ argv: [process.execPath, "-e", script] });
  expect(JSON.parse(stdout)).toEqual([[17, 5, 10, 10, 10, 10, 10, 10, 3], true]);
});
