import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { output } from "../../src/compare/program.ts";
import type { Job, Outcome } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";

// Starts processes, on machines that may be busy.
setDefaultTimeout(60_000);

const ROUND = join(import.meta.dir, "../../src/compare/round");
const { signal } = new AbortController();

async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "idk-round-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function round(job: Pick<Job, "mode" | "operations"> & { task: TaskInfo }, dir = ROUND) {
  return inTemporaryFolder(async (folder) => {
    const { name, backendKind } = job.task;
    const given: Job = { ...job, task: name, backendKind, folder };
    const argv = [process.execPath, join(dir, "round.ts")];
    const stdout = await output({ argv, cwd: dir, input: JSON.stringify(given), signal });
    return JSON.parse(stdout) as Outcome;
  });
}

const byName = (name: string) => TASKS.find((task) => task.name === name)!;

describe("each task without an object store", () => {
  for (const task of TASKS.filter(({ backendKind }) => backendKind !== "store")) {
    test(`${task.name}: measures time, and counts the same twice`, async () => {
      const timed = await round({ task, mode: "time", operations: 2 });
      if (timed.kind !== "time") throw new Error(timed.kind);
      expect(timed.seconds).toBeGreaterThan(0);
      expect(timed.cpuSeconds).toBeGreaterThan(0);
      const counted = await round({ task, mode: "count", operations: 4 });
      expect(await round({ task, mode: "count", operations: 3 })).toEqual(counted);
      expect(counted).toMatchObject({ kind: "count" });
    });
  }
});

test("counts for 8 MiB: two leaves of 4 MiB and the root, each hashed once for its name", async () => {
  const counted = await round({ task: byName("put-memory"), mode: "count", operations: 2 });
  if (counted.kind !== "count") throw new Error(counted.kind);
  const { requests, bytesSent, bytesReceived, bytesHashed, storedOverhead } = counted.counts;
  expect(requests).toBe(3);
  expect(bytesReceived).toBe(0);
  expect(storedOverhead).toBe(bytesSent - 8 * 2 ** 20);
  // In addition to the blobs: the commitment and the body key of each, and the slot of the root.
  expect(bytesHashed - bytesSent).toBeWithin(400, 700);
});

test("with a dedup secret, the content is hashed a second time", async () => {
  const counted = await round({ task: byName("put-convergent"), mode: "count", operations: 2 });
  if (counted.kind !== "count") throw new Error(counted.kind);
  const { bytesHashed, bytesSent } = counted.counts;
  expect(bytesHashed - bytesSent - 8 * 2 ** 20).toBeWithin(800, 1200);
});

test("distinguishes a revision that lacks an export from one that fails", async () => {
  const outcomeWith = async (source: string | undefined) =>
    inTemporaryFolder(async (folder) => {
      const manifest = {
        name: "@idk/storage",
        type: "module",
        exports: { "./memory": "./memory.ts" },
      };
      if (source !== undefined) Object.assign(manifest.exports, { ".": "./index.ts" });
      await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
      await writeFile(join(folder, "memory.ts"), "export const memory = () => ({});");
      await writeFile(join(folder, "index.ts"), source ?? "");
      const dir = join(folder, "round");
      await mkdir(dir);
      await cp(ROUND, dir, { recursive: true });
      return round({ task: byName("keys-1"), mode: "time", operations: 1 }, dir);
    });
  const keys = `export const generateIdentity = async () => ({ recipient: "r" });`;
  const store = (methods: string) =>
    `${keys} export const createStore = () => ({ put() {}, get() {}, ${methods} });`;
  expect(await outcomeWith(undefined)).toEqual({
    kind: "missing",
    what: "the entry point @idk/storage",
  });
  expect(await outcomeWith(keys)).toEqual({
    kind: "missing",
    what: "createStore in @idk/storage",
  });
  expect(await outcomeWith(store(""))).toEqual({ kind: "missing", what: "Store.rewrap" });
  const broken = outcomeWith(`import "not-installed"; ${store("")}`);
  expect(await broken.catch(String)).toContain("not-installed");
  const failing = outcomeWith(store(`rewrap() { throw new Error("no keys today"); }`));
  expect(await failing.catch(String)).toContain("no keys today");
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
