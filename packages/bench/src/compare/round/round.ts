/** The process of one round: runs a job and prints the times or counts. */
import type { Backend } from "@idk/storage";
import { type Tally, countingBackend, countingProxy } from "./counting.ts";
import type { Counts, Job, Outcome } from "./job.ts";
import { Missing, entryPoint } from "./library.ts";
import { type Work, fixtureOver, prepare } from "./work.ts";

const WARM_UP_SHARE = 4;

const job = (await Bun.stdin.json()) as Job;
console.log(JSON.stringify(await outcomeOf(job)));

async function outcomeOf(given: Job): Promise<Outcome> {
  try {
    return await (given.mode === "count" ? counted(given) : timed(given));
  } catch (error) {
    if (error instanceof Missing) return { kind: "missing", what: error.message };
    throw error;
  }
}

async function timed(given: Job): Promise<Outcome> {
  const backend = await backendFor(given);
  try {
    const { pass } = await prepare(given.task, await fixtureOver(backend));
    await pass(Math.ceil(given.operations / WARM_UP_SHARE));
    Bun.gc(true);
    const cpu = process.cpuUsage();
    const start = performance.now();
    await pass(given.operations);
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    return {
      kind: "time",
      seconds: seconds / given.operations,
      cpuSeconds: (user + system) / 1e6 / given.operations,
    };
  } finally {
    await cleared(backend, given);
  }
}

async function counted(given: Job): Promise<Outcome> {
  const tally: Tally = { requests: 0, bytesSent: 0, bytesReceived: 0 };
  const { hashedBytes } = await import("./hashed-bytes.ts");
  await using proxy = given.store && countingProxy(given.store.endpoint, tally);
  const proxied = given.store && proxy && { ...given.store, endpoint: proxy.endpoint };
  const backendKind = given.backendKind === "discard" ? "memory" : given.backendKind;
  const backend = await backendFor({ ...given, backendKind, store: proxied });
  try {
    const fixture = await fixtureOver(proxy ? backend : countingBackend(backend, tally));
    const work = await prepare(given.task, fixture);
    await work.pass(1);
    const before = { ...tally };
    const hashedBefore = hashedBytes();
    await work.pass(given.operations);
    const each = (total: number, from: number) => (total - from) / given.operations;
    const counts: Counts = {
      requests: each(tally.requests, before.requests),
      bytesSent: each(tally.bytesSent, before.bytesSent),
      bytesReceived: each(tally.bytesReceived, before.bytesReceived),
      bytesHashed: each(hashedBytes(), hashedBefore),
    };
    return { kind: "count", counts: { ...counts, ...(await overhead(backend, work)) } };
  } finally {
    await cleared(backend, given);
  }
}

/** Bytes that one more operation adds to the backend, minus those of its content. */
async function overhead(backend: Backend, { pass, puts }: Work): Promise<Partial<Counts>> {
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

async function backendFor({ backendKind, folder, store }: Job): Promise<Backend> {
  if (store !== undefined) {
    type S3 = typeof import("@idk/storage/s3");
    const { s3 } = await entryPoint<S3>("@idk/storage/s3", ["s3"]);
    const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = store;
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

/** Removes objects from a store. A folder is removed by the parent process. */
async function cleared(backend: Backend, { store }: Job): Promise<void> {
  if (store === undefined) return;
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  await Promise.all(names.map((name) => backend.delete(name)));
  await backend.close?.();
}
