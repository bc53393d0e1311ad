/** The process that measures one revision: see job.ts. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Backend } from "@idk/storage";
import { countingBackend, countingProxy, newTally } from "./counting.ts";
import { type Batch, type Counts, type Job, type Reply } from "./job.ts";
import { Missing, entryPoint } from "./library.ts";
import { TASKS } from "./task-list.ts";
import { type Work, fixtureOver } from "./work.ts";

const WITHOUT_THREADS = { workers: 0 };

const lines = console[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value) as Job;
const { prepare } = TASKS.find(({ name }) => name === job.task)!;
try {
  await (job.mode === "count" ? count() : serve());
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  reply({ kind: "missing", what: error.message });
}

function reply(answer: Reply): void {
  console.log(JSON.stringify(answer));
}

/** Runs batches as the parent process asks for them, until it asks for the end or is gone. */
async function serve(): Promise<void> {
  const connect = () => connected(job);
  const backend = await connect();
  const keeping =
    job.backendKind === "discard" ? await connected({ ...job, backendKind: "memory" }) : backend;
  try {
    const own = job.threads ? {} : WITHOUT_THREADS;
    const work = await prepare(await fixtureOver({ backend, connect, keeping }, own));
    reply({ kind: "ready" });
    let most = 0;
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      if (line.value === "end") break;
      most = Math.max(most, peakRss());
      const batch = await measured(work, Number(line.value.replace("run ", "")));
      // What was put is verified once, at the end, because that takes another put and a get.
      await (work.puts === undefined ? work.verify() : clear(backend));
      most = Math.max(most, batch.peakRss);
      reply({ kind: "batch", ...batch });
    }
    most = Math.max(most, peakRss());
    if (work.puts !== undefined) await work.verify();
    reply({ kind: "end", peakRss: most });
  } finally {
    await clear(backend);
    await backend.close?.();
  }
}

async function measured({ pass }: Work, operations: number): Promise<Batch> {
  Bun.gc(true);
  resetPeakRss();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await pass(operations);
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuSeconds: (user + system) / 1e6, peakRss: peakRss() };
}

/** Counts without threads, because only this thread's hashing and sealing is counted. */
async function count(): Promise<void> {
  const { hashedBytes } = await import("./hashed-bytes.ts");
  const tally = newTally();
  await using proxy = job.store && countingProxy(job.store.endpoint, tally);
  const backendKind = job.backendKind === "discard" ? "memory" : job.backendKind;
  const store = job.store && proxy && { ...job.store, endpoint: proxy.endpoint };
  const connect = () => connected({ ...job, backendKind, store });
  const backend = await connect();
  try {
    const counted = proxy ? backend : countingBackend(backend, tally);
    const backends = { backend: counted, connect, keeping: backend };
    const { sealedBytes, ...nacl } = await sealing();
    const work = await prepare(await fixtureOver(backends, { ...WITHOUT_THREADS, ...nacl }));
    const now = () => {
      const { requests: _, ...counts } = tally;
      return { ...counts, bytesHashed: hashedBytes(), bytesSealed: sealedBytes?.() };
    };
    await work.pass(1);
    const before = now();
    // More than one, to show a cost that does not occur in each. Large contents take too long for that.
    const operations = job.threads ? 1 : 4;
    await work.pass(operations);
    const each = Object.entries(now()).map(([name, total]) => {
      const from = before[name as keyof typeof before];
      return [name, total === undefined ? total : (total - from!) / operations];
    });
    const counts: Counts = {
      ...Object.fromEntries(each),
      ...(await overhead(backend, work)),
      ...(job.threads && { threads: await threadsStarted(backends) }),
    };
    await work.verify();
    reply({ kind: "count", counts });
  } finally {
    await clear(backend);
    await backend.close?.();
  }
}

/** The implementation of NaCl that the library chooses, counting; none if the revision takes none. */
async function sealing() {
  type Library = typeof import("@idk/storage");
  const { loadNaCl } = await entryPoint<Partial<Library>>("@idk/storage", []);
  if (loadNaCl === undefined) return {};
  const chosen = await loadNaCl();
  let bytes = 0;
  const seal: typeof chosen.seal = (box, message, nonce, key) => {
    bytes += message.length;
    chosen.seal(box, message, nonce, key);
  };
  return { sealedBytes: () => bytes, nacl: { ...chosen, seal } };
}

/** The number of threads that a store with default options starts for one operation. */
async function threadsStarted(backends: Parameters<typeof fixtureOver>[0]): Promise<number> {
  let threads = 0;
  process.on("worker", () => (threads += 1));
  const { pass } = await prepare(await fixtureOver(backends, {}));
  await pass(1);
  return threads;
}

/** Bytes that one more operation adds to the backend, minus those of its content. */
async function overhead(backend: Backend, { pass, puts }: Work): Promise<Counts> {
  if (puts === undefined) return {};
  const before = await storedBytes(backend);
  await pass(1);
  return { storedOverhead: (await storedBytes(backend)) - before - puts };
}

async function storedBytes(backend: Backend): Promise<number> {
  let total = 0;
  for await (const { size } of backend.list("")) total += size;
  return total;
}

/** A new backend for the job, which sees the same objects if the backend is a folder or a store. */
async function connected({ backendKind, folder, store }: Job): Promise<Backend> {
  if (backendKind === "store") {
    type S3 = typeof import("@idk/storage/s3");
    const { s3 } = await entryPoint<S3>("@idk/storage/s3", ["s3"]);
    const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = store!;
    const credentials = { accessKeyId, secretAccessKey };
    return s3({ endpoint, region, bucket, prefix, credentials });
  }
  if (backendKind === "folder") {
    type Filesystem = typeof import("@idk/storage/filesystem");
    const { filesystem } = await entryPoint<Filesystem>("@idk/storage/filesystem", ["filesystem"]);
    return filesystem(folder);
  }
  type Memory = typeof import("@idk/storage/memory");
  const { memory } = await entryPoint<Memory>("@idk/storage/memory", ["memory"]);
  return backendKind === "discard" ? { ...memory(), put: async () => {} } : memory();
}

async function clear(backend: Backend): Promise<void> {
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  await Promise.all(names.map((name) => backend.delete(name)));
}

/** Resets the peak of this process, if the system can: on Linux, if /proc is writable. */
function resetPeakRss(): void {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // `peakRss` is then the peak since the process started.
  }
}

/** Peak resident memory in bytes since the last reset. */
function peakRss(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/mu.exec(readFileSync("/proc/self/status", "utf8"))!;
    return Number(kibibytes) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
