import type { BackendKind } from "./library.ts";
import { randomContent } from "../../harness/content.ts";
import {
  type Prepare,
  allBytes,
  gets,
  maintains,
  manyGets,
  manyPuts,
  puts,
  rewraps,
  streamOf,
} from "./work.ts";

export interface TaskInfo {
  /** The name on the command line. */
  readonly name: string;
  readonly title: string;
  readonly backendKind: BackendKind;
  /** Operations in the smallest batch: more than are in flight at once. */
  readonly least: number;
  /** How many times as many batches each process runs as usual, where one batch tells little. */
  readonly batches: number;
  /** Whether the store has its default threads. Other tasks have none, so that all hashing is counted. */
  readonly threads: boolean;
  readonly prepare: Prepare;
}

const [KIB, MIB] = [2 ** 10, 2 ** 20];

const over = (backendKind: BackendKind, threads = false, least = 1, batches = 1) => ({
  backendKind,
  threads,
  least,
  batches,
});
const [sealing, opening, disk, network] = [
  over("discard"),
  over("memory"),
  over("folder"),
  over("store"),
];
const threaded = over("store", true);
const many = over("store", false, 32);
// The CPU time of many requests whose answers are large wavers by a fifth from batch to batch.
const wavering = over("store", false, 32, 4);

const task = (
  name: string,
  title: string,
  where: ReturnType<typeof over>,
  prepare: Prepare,
): TaskInfo => ({ name, title, ...where, prepare });

const dedup = () => ({ dedupSecret: randomContent(32) });

export const TASKS: readonly TaskInfo[] = [
  task("put-memory", "seal and put 8 MiB, discarded", sealing, puts(8 * MIB)),
  task("get-memory", "get 8 MiB from memory", opening, gets(8 * MIB)),
  task(
    "put-convergent",
    "put 8 MiB with a dedup secret",
    sealing,
    puts(8 * MIB, { options: dedup }),
  ),
  task("put-small", "put 1 KiB, discarded", sealing, puts(KIB)),
  task("get-small", "get 1 KiB from memory", opening, gets(KIB)),
  task("keys-1", "rewrap and open for 1 recipient", opening, rewraps(1)),
  task("keys-64", "rewrap and open for 64 recipients", opening, rewraps(64)),
  task("put-memory-64m", "put 64 MiB, discarded", over("discard", true), puts(64 * MIB)),
  task("get-memory-64m", "get 64 MiB from memory", over("memory", true), gets(64 * MIB)),
  task("put-files", "put 8 MiB into a folder", disk, puts(8 * MIB)),
  task("get-files", "get 8 MiB from a folder", disk, gets(8 * MIB)),
  task("put-store", "put 1 MiB into the store", network, puts(MIB)),
  task("get-store", "get 1 MiB from the store", network, gets(MIB)),
  task("first-put", "put 1 MiB with a new store", network, puts(MIB, { fresh: true })),
  task("first-get", "get 1 MiB with a new store", network, gets(MIB, { fresh: true })),
  task("maintain-store", "put, stat, verify, list, delete 5 MiB", network, maintains(5 * MIB)),
  task("put-store-many", "put 64 KiB, 16 in flight", many, manyPuts(64 * KIB)),
  task("get-store-many", "get 64 KiB, 16 in flight", wavering, manyGets(64 * KIB)),
  task("put-store-8m", "put 8 MiB into the store", threaded, puts(8 * MIB)),
  task("get-store-8m", "get 8 MiB from the store", threaded, gets(8 * MIB, { read: allBytes })),
  task("put-store-64m", "put 64 MiB into the store", threaded, puts(64 * MIB)),
  task("get-store-64m", "get 64 MiB from the store", threaded, gets(64 * MIB, { read: allBytes })),
  task("stream-up-64m", "put a stream of 64 MiB", threaded, puts(64 * MIB, { given: streamOf })),
  task("stream-down-64m", "get a stream of 64 MiB", threaded, gets(64 * MIB)),
];
