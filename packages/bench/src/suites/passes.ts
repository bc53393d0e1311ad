/** Ways to store and read the same objects, to be compared: stores, backends, clients, bare requests. */
import { mkdir, open, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "@idk/storage";
import { inLanes } from "../harness/interleave.ts";
import type { Task } from "../harness/sampling.ts";
import { freshName, hashOf, lengthOf, randomContent, sha256 } from "../harness/content.ts";
import { type BareObject } from "./round-trip.ts";

export type Content = Pick<BareObject, "bytes" | "sha256">;

/** A pass over many objects, with a number of them in flight. */
export interface Passes {
  /** @returns what `get` needs, in the order of the objects */
  put(objects: readonly Content[], inFlight: number): Promise<string[]>;
  /** @param read consumes the bytes of the object with an index, valid until it has settled */
  get(keys: readonly string[], inFlight: number, read: Read): Promise<void>;
}

type Pieces = AsyncIterable<Uint8Array>;
type Read = (index: number, pieces: Pieces) => Promise<void>;

/** One call for each object. */
export interface Client {
  put(name: string, bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<unknown>;
  /** @returns the number of bytes read into the buffer */
  get(name: string, buffer: Uint8Array): Promise<number>;
}

/** @param most bytes of an object */
export function passesOf(client: Client, most: number): Passes {
  const buffers: Uint8Array[] = [];
  return {
    async put(objects, inFlight) {
      // New names, because a server may answer sooner if it already has the object.
      const names = objects.map(freshName);
      await inLanes([...objects.entries()], inFlight, ([i, object]) =>
        client.put(names[i]!, object.bytes, object.sha256),
      );
      return names;
    },
    get: (names, inFlight, read) =>
      inLanes([...names.entries()], inFlight, async ([i, name], lane) => {
        const buffer = (buffers[lane] ??= new Uint8Array(most));
        await read(i, once(buffer.subarray(0, await client.get(name, buffer))));
      }),
  };
}

async function* once(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield piece;
}

/** Contents of a store, read with `chunks`, which copies nothing. */
export function passesOfStore(store: Store): Passes {
  return {
    async put(objects, inFlight) {
      const addresses: string[] = [];
      await inLanes([...objects.entries()], inFlight, async ([i, { bytes }]) => {
        addresses[i] = await store.put(bytes);
      });
      return addresses;
    },
    get: (addresses, inFlight, read) =>
      inLanes([...addresses.entries()], inFlight, async ([i, address]) =>
        read(i, (await store.get(address)).chunks()),
      ),
  };
}

/** `putMany` and `getMany` of a store. */
export function passesOfMany(store: Store): Passes {
  return {
    async put(objects, concurrency) {
      const addresses: string[] = [];
      const items = objects.map(({ bytes: content }, key) => ({ key, content }));
      for await (const result of store.putMany(items, { concurrency })) {
        if (!result.ok) throw result.error;
        addresses[result.key] = result.address;
      }
      return addresses;
    },
    async get(addresses, concurrency, read) {
      const indexes = new Map(addresses.map((address, i) => [address, i]));
      for await (const result of store.getMany(addresses, { concurrency })) {
        if (!result.ok) throw result.error;
        await read(indexes.get(result.key)!, result.blob.chunks());
      }
    },
  };
}

/** Files, with the system calls that a durable file needs: the bound of a filesystem backend. */
export function files(folder: string): Client {
  const pathOf = (name: string): string => join(folder, name.slice(0, 2), name);
  const sync = async (path: string): Promise<void> => {
    const handle = await open(path);
    await handle.sync();
    await handle.close();
  };
  return {
    async put(name, bytes) {
      const path = pathOf(name);
      await mkdir(join(path, ".."), { recursive: true });
      const handle = await open(`${path}.new`, "wx");
      await handle.writeFile(bytes);
      await handle.sync();
      await handle.close();
      await rename(`${path}.new`, path);
      await sync(join(path, ".."));
    },
    async get(name, buffer) {
      const handle = await open(pathOf(name));
      const { bytesRead } = await handle.read(buffer);
      await handle.close();
      return bytesRead;
    },
  };
}

export function randomContents(size: number, count: number): Content[] {
  return Array.from({ length: count }, () => {
    const bytes = randomContent(size);
    return { bytes, sha256: sha256(bytes) };
  });
}

/** How what comes back is compared: by its length while the clock runs, by SHA-256 afterwards. */
type Comparison = readonly [
  of: (pieces: Pieces) => Promise<unknown>,
  expected: (content: Content) => unknown,
];
export const BY_LENGTH: Comparison = [lengthOf, ({ bytes }) => bytes.length];
export const BY_HASH: Comparison = [hashOf, ({ sha256 }) => sha256];

/** @throws Error if a content is missing or different */
export async function readAll(
  passes: Passes,
  keys: readonly string[],
  contents: readonly Content[],
  inFlight: number,
  [of, expected]: Comparison,
): Promise<void> {
  let count = 0;
  await passes.get(keys, inFlight, async (i, pieces) => {
    if ((await of(pieces)) !== expected(contents[i]!)) throw new Error("wrong bytes came back");
    count += 1;
  });
  if (count !== contents.length) throw new Error(`${count} of ${contents.length} came back`);
}

/** A put and a get of all contents, each of which is compared by SHA-256 in one more get. */
export function tasksOf(
  passes: Passes,
  contents: readonly Content[],
  { who, what = "", inFlight }: { who: string; what?: string; inFlight: number },
): [put: Task, get: Task] {
  let keys: readonly string[] = [];
  const put = async (): Promise<void> => {
    keys = await passes.put(contents, inFlight);
  };
  const read = (comparison: Comparison) => () =>
    readAll(passes, keys, contents, inFlight, comparison);
  const check = read(BY_HASH);
  const bytesPerOperation = contents.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const labels = (way: string) => {
    const series = `${way}, ${who}`;
    return { name: what === "" ? series : `${what}: ${series}`, series, bytesPerOperation };
  };
  return [
    { ...labels("put"), run: put, check },
    {
      ...labels("get"),
      prepare: () => keys.length > 0 || put(),
      run: read(BY_LENGTH),
      check,
    },
  ];
}
