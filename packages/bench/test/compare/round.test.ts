import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { countInPlace } from "../../src/compare/processes.ts";
import { output } from "../../src/compare/program.ts";
import { startRound } from "../../src/compare/round-process.ts";
import type { Batch, Counts, Reply } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";

// Starts processes, on machines that may be busy.
setDefaultTimeout(60_000);

const ROUND = join(import.meta.dir, "../../src/compare/round");
const { signal } = new AbortController();

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "idk-round-"));
});
afterAll(() => rm(parent, { recursive: true }));

async function start(task: TaskInfo, dir = ROUND) {
  const folder = await mkdtemp(join(parent, "process-"));
  const roundScript = join(dir, "round.ts");
  return startRound({ task, revision: "main", mode: "measure", folder, roundScript, signal });
}

/** Measures two batches of the smallest size. */
async function measure(task: TaskInfo, dir = ROUND): Promise<Reply[]> {
  await using process = await start(task, dir);
  const replies = [await process.next()];
  if (replies[0]!.kind === "missing") return replies;
  for (let i = 0; i < 2; i++) {
    process.send(`run ${task.least}`);
    replies.push(await process.expect("batch"));
  }
  process.send("end");
  replies.push(await process.expect("end"));
  return replies;
}

const byName = (name: string) => TASKS.find((task) => task.name === name)!;
const countOf = (name: string): Promise<Counts> => countInPlace(byName(name));

describe("each task without an object store", () => {
  for (const task of TASKS.filter(({ backendKind }) => backendKind !== "store")) {
    test(`${task.name}: measures batches, and counts the same twice`, async () => {
      const [counts, again, replies] = await Promise.all([
        countInPlace(task),
        countInPlace(task),
        measure(task),
      ]);
      expect(replies.map(({ kind }) => kind)).toEqual(["ready", "batch", "batch", "end"]);
      const { seconds, cpuSeconds, peakRss } = replies[2] as Batch;
      expect(seconds).toBeGreaterThan(0);
      expect(cpuSeconds).toBeGreaterThan(0);
      expect(peakRss).toBeWithin(20 * 2 ** 20, 2 ** 30);
      expect((replies[3] as { peakRss: number }).peakRss).toBeGreaterThanOrEqual(peakRss);
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

/** Runs a task with a library of two files in place of `@idk/storage`. */
async function measureWith(index: string | undefined, memory: string): Promise<Reply[]> {
  const folder = await mkdtemp(join(tmpdir(), "idk-library-"));
  try {
    const exports = {
      "./memory": "./memory.ts",
      ...(index !== undefined && { ".": "./index.ts" }),
    };
    const manifest = { name: "@idk/storage", type: "module", exports };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    await writeFile(join(folder, "memory.ts"), memory);
    await writeFile(join(folder, "index.ts"), index ?? "");
    const dir = join(folder, "round");
    await mkdir(dir);
    await cp(ROUND, dir, { recursive: true });
    return await measure(byName("keys-1"), dir);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const KEYS = `export const generateIdentity = async () => ({ recipient: "r" });`;
const MEMORY = "export const memory = () => ({ async *list() {} });";
const library = (methods: string) =>
  `${KEYS} export const createStore = () => ({ async put() {}, async delete() {}, ${methods} });`;

test("distinguishes a revision that lacks an export from one that fails", async () => {
  const missing = (what: string): Reply[] => [{ kind: "missing", what }];
  expect(await measureWith(undefined, MEMORY)).toEqual(missing("the entry point @idk/storage"));
  expect(await measureWith(KEYS, MEMORY)).toEqual(missing("createStore in @idk/storage"));
  expect(await measureWith(library("get() {}"), MEMORY)).toEqual(missing("Store.rewrap"));
  const broken = measureWith(`import "not-installed"; ${library("get() {}")}`, MEMORY);
  expect(await broken.catch(String)).toContain("not-installed");
  const failing = library(`get() {}, rewrap() { throw new Error("no keys today"); }`);
  expect(await measureWith(failing, MEMORY).catch(String)).toContain("keys-1 failed at main: ");
  expect(await measureWith(failing, MEMORY).catch(String)).toContain("no keys today");
});

test("other bytes than were put are an error", async () => {
  const wrong = library(`async rewrap() {}, async get() {
    return { stream: () => new Blob([new Uint8Array(32)]).stream() };
  }`);
  expect(await measureWith(wrong, MEMORY).catch(String)).toContain(
    "other bytes came back than were put",
  );
});

test("counts the bytes of every documented hash function", async () => {
  const script = `
    const { hashedBytes } = await import(${JSON.stringify(join(ROUND, "hashed-bytes.ts"))});
    const { createHash, createHmac, subtle } = await import("node:crypto");
    const builtin = process.getBuiltinModule("node:crypto");
    const ten = new Uint8Array(10);
    const counts = [];
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
    const right = createHash("sha256").update("abc").digest("hex").startsWith("ba7816bf");
    console.log(JSON.stringify([counts, right]));
  `;
  const stdout = await output({ argv: [process.execPath, "-e", script], cwd: ROUND, signal });
  expect(JSON.parse(stdout)).toEqual([[17, 5, 10, 10, 10, 10, 10], true]);
});
