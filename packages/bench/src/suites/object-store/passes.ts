/** Ways to store and read the same contents, to be compared: stores, clients, bare requests. */
import type { Store } from "@idk/storage";
import {
  CHUNK,
  freshName,
  hashOf,
  lengthOf,
  randomContent,
  sha256,
} from "../../harness/content.ts";
import { putAll } from "../../harness/identity.ts";
import { inLanes } from "../../harness/interleave.ts";
import type { Task } from "../../harness/sampling.ts";

/** Content up to this size is in one blob. */
export const ONE_BLOB: number = 2 ** 20;

/** Chunks of a content that a store with default settings has in flight at once. */
export const IN_FLIGHT = 4;

export type Way = "put" | "get";
export const WAYS: readonly Way[] = ["put", "get"];

export interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** 64 hex digits. */
  readonly sha256: string;
}

export function contentOf(bytes: Uint8Array<ArrayBuffer>): Content {
  return { bytes, sha256: sha256(bytes) };
}

export function randomContents(size: number, count: number): Content[] {
  return Array.from({ length: count }, () => contentOf(randomContent(size)));
}

/** What a store makes of a content: one blob, or one for each chunk. */
export function chunksOf({ bytes }: Content): Content[] {
  const step = bytes.length <= ONE_BLOB ? bytes.length : CHUNK;
  return Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
    contentOf(bytes.slice(i * step, (i + 1) * step)),
  );
}

type Pieces = AsyncIterable<Uint8Array>;

/** Consumes the bytes of the content with an index, valid until it has settled. */
type Reader = (index: number, pieces: Pieces) => Promise<void>;

/** A pass over many contents, with a number of them in flight. */
export interface Passes {
  /** @returns what `get` needs, in the order of the contents */
  put(contents: readonly Content[], inFlight: number): Promise<string[]>;
  get(keys: readonly string[], inFlight: number, read: Reader): Promise<void>;
}

/** One call for each object. */
export interface Client {
  put(name: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<unknown>;
  /** @returns the number of bytes read into the buffer */
  get(name: string, buffer: Uint8Array): Promise<number>;
}

/** @param most bytes of an object */
export function passesOf(client: Client, most: number): Passes {
  const buffers: Uint8Array[] = [];
  return oneByOne(
    async ({ bytes, sha256 }) => {
      // A new name, because a server may answer sooner if it already has the object.
      const name = freshName();
      await client.put(name, bytes, sha256);
      return name;
    },
    async (name, lane) => {
      const buffer = (buffers[lane] ??= new Uint8Array(most));
      return once(buffer.subarray(0, await client.get(name, buffer)));
    },
  );
}

export async function* once<Piece extends Uint8Array>(piece: Piece): AsyncGenerator<Piece> {
  yield piece;
}

/** Contents of a store, put and read as streams. */
export function passesOfStreams(store: Store): Passes {
  return oneByOne(
    ({ bytes }) => store.put(once(bytes)),
    async (address) => (await store.get(address)).stream(),
  );
}

/** Contents of a store, read with `chunks`, which copies nothing. */
export function passesOfStore(store: Store): Passes {
  return oneByOne(
    ({ bytes }) => store.put(bytes),
    async (address) => (await store.get(address)).chunks(),
  );
}

export function oneByOne(
  put: (content: Content) => Promise<string>,
  open: (key: string, lane: number) => Promise<Pieces>,
): Passes {
  return {
    async put(contents, inFlight) {
      const keys: string[] = [];
      await inLanes([...contents.entries()], inFlight, async ([i, content]) => {
        keys[i] = await put(content);
      });
      return keys;
    },
    get: (keys, inFlight, read) =>
      inLanes([...keys.entries()], inFlight, async ([i, key], lane) =>
        read(i, await open(key, lane)),
      ),
  };
}

/** Passes that may leave it to the store how many contents are in flight. */
export interface ManyPasses {
  put(contents: readonly Content[], inFlight: number | undefined): Promise<string[]>;
  get(keys: readonly string[], inFlight: number | undefined, read: Reader): Promise<void>;
}

/** `putMany` and `getMany` of a store. */
export function passesOfMany(store: Store): ManyPasses {
  return {
    put: (contents, concurrency) =>
      putAll(
        store,
        contents.map(({ bytes }) => bytes),
        concurrency,
      ),
    async get(addresses, concurrency, read) {
      const indexes = new Map(addresses.map((address, i) => [address, i]));
      for await (const result of store.getMany(addresses, { concurrency })) {
        if (!result.ok) throw result.error;
        await read(indexes.get(result.key)!, result.blob.chunks());
      }
    },
  };
}

/** How what comes back is compared: by its length while the clock runs, by SHA-256 afterwards. */
type Comparison = (pieces: Pieces, content: Content) => Promise<boolean>;
export const byLength: Comparison = async (pieces, { bytes }) =>
  (await lengthOf(pieces)) === bytes.length;
export const byHash: Comparison = async (pieces, content) =>
  (await hashOf(pieces)) === content.sha256;

/** @throws Error if a content is missing or different */
export async function readAll(
  passes: Passes,
  keys: readonly string[],
  contents: readonly Content[],
  inFlight: number,
  isSame: Comparison,
): Promise<void> {
  let count = 0;
  await passes.get(keys, inFlight, async (i, pieces) => {
    if (!(await isSame(pieces, contents[i]!))) throw new Error("wrong bytes came back");
    count += 1;
  });
  if (count !== contents.length) throw new Error(`${count} of ${contents.length} came back`);
}

/** A put and a get of all contents, each of which is compared by SHA-256 in one more get. */
export function tasksOf(
  passes: Passes,
  contents: readonly Content[],
  { who, what, inFlight = 1 }: { who: string; what?: string; inFlight?: number },
): Record<Way, Task> {
  let keys: readonly string[] = [];
  const put = async (): Promise<void> => {
    keys = await passes.put(contents, inFlight);
  };
  const read = (isSame: Comparison) => () => readAll(passes, keys, contents, inFlight, isSame);
  const bytesPerOperation = contents.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const labels = (way: Way) => {
    const series = `${way}, ${who}`;
    return { name: what === undefined ? series : `${what}: ${series}`, series, bytesPerOperation };
  };
  const check = read(byHash);
  const prepare = () => keys.length > 0 || put();
  return {
    put: { ...labels("put"), run: put, check },
    get: { ...labels("get"), prepare, run: read(byLength), check },
  };
}
