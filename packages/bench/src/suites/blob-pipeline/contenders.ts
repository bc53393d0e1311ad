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
import { type Counts, counting } from "../../harness/counting.ts";
import { ITERATIONS, ITERATIONS_OLD, loadClassic, storeClassic } from "./classic.ts";
import type { MixedFile } from "./mixed-files.ts";
import type { StageTimes } from "./stages.ts";

/** A file and its path. */
export interface Source {
  readonly file: MixedFile;
  readonly path: string;
}

/** One way to store files. */
export interface Contender {
  readonly name: string;
  /**
   * Stores all files in a folder that does not exist yet.
   *
   * @returns reads back the file with the given index
   */
  pass(sources: readonly Source[], folder: string): Promise<(index: number) => Promise<Uint8Array>>;
  /** Files (as requests) and bytes written so far. */
  counts(): Counts;
}

export const CLASSIC = "classic";
export const CLASSIC_OLD = "classic, fewer iterations";

/** @param onFile receives the stage times of each file of the classic pipeline */
export function contenders(
  identity: Identity,
  seed: number,
  onFile: (times: StageTimes) => void,
): Contender[] {
  const dedupSecret = new Uint8Array(32).fill(seed);
  const own = (name: string, options: Partial<StoreOptions>, putAll = oneByOne): Contender => {
    let total: Counts = { requests: 0, bytesSent: 0, bytesReceived: 0 };
    return {
      name: `idk, ${name}`,
      async pass(sources, folder) {
        const { store, counts } = openStore(folder, identity, options);
        const addresses = await putAll(store, sources);
        const { requests, bytesSent } = counts();
        total = {
          requests: total.requests + requests,
          bytesSent: total.bytesSent + bytesSent,
          bytesReceived: 0,
        };
        return async (index) => (await store.get(addresses[index]!)).bytes();
      },
      counts: () => total,
    };
  };
  return [
    classic(CLASSIC, ITERATIONS, onFile),
    classic(CLASSIC_OLD, ITERATIONS_OLD),
    own("random", {}),
    own("convergent", { dedupSecret }),
    own("random, 16 at once", {}, manyAtOnce),
    own("random, zstd where it pays", { compression: "auto" }),
    own("random, not compressed", { compression: "none" }),
  ];
}

/** A store that, like the classic pipeline, compresses with LZ4 and does not wait for the disk. */
export function openStore(
  folder: string,
  identity: Identity,
  options: Partial<StoreOptions> = {},
): { store: Store; counts(): Counts } {
  const { backend, counts } = counting(filesystem(folder, { durability: "none" }));
  const store = createStore({
    backend,
    recipients: [identity.recipient],
    identities: [identity],
    compression: "lz4",
    ...options,
  });
  return { store, counts };
}

function classic(
  name: string,
  iterations: number,
  onFile: (times: StageTimes) => void = () => {},
): Contender {
  let [requests, bytesSent] = [0, 0];
  return {
    name,
    async pass(sources, folder) {
      await mkdir(folder);
      const target = ({ file }: Source) => join(folder, `${file.name}.json`);
      for (const source of sources) {
        const { times, written } = await storeClassic(source.path, target(source), iterations);
        onFile(times);
        requests++;
        bytesSent += written;
      }
      return (index) => loadClassic(target(sources[index]!));
    },
    counts: () => ({ requests, bytesSent, bytesReceived: 0 }),
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
