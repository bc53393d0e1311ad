/** The process that measures one revision: see job.ts. */
import type { Backend } from "@idk/storage";
import { measurePeak, peakRss } from "../../harness/memory.ts";
import { answerJob } from "../../harness/processes.ts";
import { type Tally, countingBackend, countingProxy, newTally } from "./counting.ts";
import { watchHashing } from "./hashed-bytes.ts";
import type { CounterName, Counts, Job, Lacking } from "./job.ts";
import { Missing, entryPoint, newBackend } from "./library.ts";
import { TASKS, type TaskInfo } from "./task-list.ts";
import { type Prepare, type Work, fixtureOver } from "./work.ts";

const WITHOUT_THREADS = { workers: 0 };

await answerJob(async (job: Job): Promise<Counts | Lacking | "verified"> => {
  const task = TASKS.find(({ name }) => name === job.task)!;
  if (job.mode === "measure") return measure(task, job);
  try {
    return await count(task, job);
  } catch (error) {
    if (error instanceof Missing) return { lacks: error.message };
    throw error;
  }
});

/** Runs batches as the parent process asks for them, until it asks for no more or is gone. */
async function measure({ prepare, backendKind, threads }: TaskInfo, job: Job): Promise<"verified"> {
  const connect = () => newBackend(backendKind, job);
  const backend = await connect();
  const keeping = backendKind === "discard" ? await newBackend("memory", job) : backend;
  try {
    const own = threads ? {} : WITHOUT_THREADS;
    const work = await prepare(await fixtureOver({ backend, connect, keeping }, own));
    // Of the process so far, because loading the library or the first operation may take the most.
    let peak = peakRss();
    console.log("{}");
    for await (const line of console) {
      // The end of the input.
      if (line === "") break;
      Bun.gc(true);
      const { result: _, ...batch } = await measurePeak(() => work.pass(Number(line)));
      peak = Math.max(peak, peakRss());
      // What was put is verified once, at the end, because that takes another put and a get.
      await (work.puts === undefined ? work.verify() : clear(backend));
      console.log(JSON.stringify({ ...batch, peakRss: peak }));
    }
    if (work.puts !== undefined) await work.verify();
    return "verified";
  } finally {
    await clear(backend);
    await backend.close?.();
  }
}

/**
 * Counts what an operation costs. Hashing and sealing are counted without threads, because only those of
 * this thread can be; requests and their bytes as the task is measured, with threads or without.
 */
async function count({ prepare, backendKind, threads }: TaskInfo, job: Job): Promise<Counts> {
  const hashedBytes = watchHashing();
  const tally = newTally();
  await using proxy = job.store && countingProxy(job.store.endpoint, tally);
  const store = job.store && proxy && { ...job.store, endpoint: proxy.endpoint };
  const kind = backendKind === "discard" ? "memory" : backendKind;
  const connect = () => newBackend(kind, { ...job, store });
  const keeping = await connect();
  try {
    const backend = proxy ? keeping : countingBackend(keeping, tally);
    const backends = { backend, connect, keeping };
    const { sealedBytes, ...nacl } = await sealing();
    const work = await prepare(await fixtureOver(backends, { ...WITHOUT_THREADS, ...nacl }));
    const now = (): Counts => {
      const sealed = sealedBytes && { bytesSealed: sealedBytes() };
      return { ...tally, bytesHashed: hashedBytes(), ...sealed };
    };
    await work.pass(1);
    const stored = await storedBytes(keeping);
    // More than one, to show a cost that does not occur in each. Large contents take too long for that.
    const operations = threads ? 1 : 4;
    const counts = await countsOf(work, operations, now);
    const added = ((await storedBytes(keeping)) - stored) / operations;
    await work.verify();
    return {
      ...counts,
      ...(work.puts !== undefined && { storedOverhead: added - work.puts }),
      ...(threads && (await countThreaded(prepare, backends, tally))),
    };
  } finally {
    await clear(keeping);
    await keeping.close?.();
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

/** Requests of one operation of a store with default options, and the number of threads that it starts. */
async function countThreaded(
  prepare: Prepare,
  backends: Parameters<typeof fixtureOver>[0],
  tally: Tally,
): Promise<Counts> {
  let threads = 0;
  process.on("worker", () => (threads += 1));
  const work = await prepare(await fixtureOver(backends, {}));
  await work.pass(1);
  return { ...(await countsOf(work, 1, () => ({ ...tally }))), threads };
}

/** What one of several operations adds to what was counted. */
async function countsOf({ pass }: Work, operations: number, now: () => Counts): Promise<Counts> {
  const before = now();
  await pass(operations);
  const totals = Object.entries(now()) as [CounterName, number][];
  return Object.fromEntries(
    totals.map(([name, total]) => [name, (total - before[name]!) / operations]),
  );
}

async function storedBytes(backend: Backend): Promise<number> {
  let bytes = 0;
  for await (const { size } of backend.list("")) bytes += size;
  return bytes;
}

async function clear(backend: Backend): Promise<void> {
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  await Promise.all(names.map((name) => backend.delete(name)));
}
