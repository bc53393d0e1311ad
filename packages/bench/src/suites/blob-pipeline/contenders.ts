/** Ways to store a folder of files. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Address,
  type Identity,
  type Store,
  type StoreOptions,
  createStore,
} from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { ITERATIONS, ITERATIONS_OLD, loadClassic, storeClassic } from "./classic.ts";
import type { MixedFile } from "./mixed-files.ts";
import { mean } from "../../statistics/describe.ts";
import type { StageTimes } from "./stages.ts";

/** A file and its path. */
export interface Source {
  readonly file: MixedFile;
  readonly path: string;
}

/** All files, stored once. */
interface Pass {
  /** Without those files that took part only in parts, their times estimated. */
  readonly seconds: number;
  readonly addresses: readonly string[];
  /** For each file, if it is known. */
  readonly stages?: readonly StageTimes[] | undefined;
  readBack(index: number): Promise<Uint8Array>;
}

export interface Contender {
  readonly name: string;
  /** Whether equal files give equal addresses and blobs. */
  readonly repeats: boolean;
  /** Stores all files in a folder that does not exist yet. */
  pass(sources: readonly Source[], folder: string): Promise<Pass>;
}

export const CLASSIC = "classic";
export const CLASSIC_OLD = "classic, fewer iterations";

/** A key takes as long for every file, so the classic pipeline derives real ones for one file of these. */
export const KEY_EVERY = 33;

/** The contenders with a target, and the others. */
export function contenders(
  identity: Identity,
  seed: number,
): { readonly judged: readonly Contender[]; readonly shown: readonly Contender[] } {
  const own = (name: string, options: Partial<StoreOptions>, putAll = oneByOne): Contender => ({
    name: `idk, ${name}`,
    repeats: options.dedupSecret !== undefined,
    async pass(sources, folder) {
      const store = createStore({
        // Like the classic pipeline, compress with LZ4 and do not wait for the disk.
        backend: filesystem(folder, { durability: "none" }),
        recipients: [identity.recipient],
        identities: [identity],
        compression: "lz4",
        ...options,
      });
      const start = performance.now();
      const addresses = await putAll(store, sources);
      const seconds = (performance.now() - start) / 1000;
      return {
        seconds,
        addresses,
        readBack: async (index) => (await store.get(addresses[index]!)).bytes(),
      };
    },
  });
  return {
    judged: [
      classic(CLASSIC, ITERATIONS),
      own("random", {}),
      own("convergent", { dedupSecret: new Uint8Array(32).fill(seed) }),
    ],
    shown: [
      classic(CLASSIC_OLD, ITERATIONS_OLD),
      own("random, 16 at once", {}, manyAtOnce),
      own("random, zstd where it pays", { compression: "auto" }),
      own("random, not compressed", { compression: "none" }),
    ],
  };
}

function classic(name: string, iterations: number): Contender {
  return {
    name,
    repeats: false,
    async pass(sources, folder) {
      await mkdir(folder);
      const target = (index: number) => join(folder, `${sources[index]!.file.name}.json`);
      const real = (index: number) => index % KEY_EVERY === 0;
      const taken: StageTimes[] = [];
      for (const [i, { path }] of sources.entries()) {
        taken.push(await storeClassic(path, target(i), real(i) ? iterations : 1));
      }
      const key = mean(taken.flatMap((times, i) => (real(i) ? times["key"]! : [])));
      const stages = taken.map((times, i) => (real(i) ? times : Object.assign(times, { key })));
      const seconds = stages.flatMap(Object.values<number>).reduce((sum, each) => sum + each, 0);
      return { seconds, addresses: [], stages, readBack: (index) => loadClassic(target(index)) };
    },
  };
}

async function oneByOne(store: Store, sources: readonly Source[]): Promise<Address[]> {
  const addresses: Address[] = [];
  for (const { path } of sources) addresses.push(await store.put(await readFile(path)));
  return addresses;
}

async function manyAtOnce(store: Store, sources: readonly Source[]): Promise<Address[]> {
  const addresses: Address[] = [];
  const items = sources.map(({ path }, key) => ({ key, content: Bun.file(path) }));
  for await (const result of store.putMany(items)) {
    if (!result.ok) throw result.error;
    addresses[result.key] = result.address;
  }
  return addresses;
}
