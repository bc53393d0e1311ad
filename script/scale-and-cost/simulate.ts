/** Writes contents through the library over a counting backend, to check the model. */
import { type Backend, StorageError, createStore, generateIdentity } from "@idk/storage";
import type { Content } from "./model.ts";

const MIB = 2 ** 20;

/** Requests to the store and what it contains afterwards. */
export interface Observed {
  readonly depth: number;
  readonly puts: number;
  readonly storedBytes: number;
  readonly rootBytes: number;
  /** GETs for one byte in the first chunk. */
  readonly rangeGets: number;
  /** GETs for all of the content; undefined if it was not kept. */
  readonly wholeGets?: number;
}

interface Counting {
  readonly backend: Backend;
  puts: number;
  gets: number;
  readonly sizes: Map<string, number>;
}

/**
 * @param whole whether to keep all blobs and read everything back. Otherwise only the first and the last
 *   blobs are kept, so that a tree of two levels does not need a gigabyte of memory.
 */
export async function simulate(content: Content, whole: boolean): Promise<Observed> {
  const { length, chunkLog2 = 22, recipients = 1, pad = true } = content;
  const identities = await Promise.all(Array.from({ length: recipients }, generateIdentity));
  const counting = countingBackend(whole ? Infinity : 16);
  await using store = createStore({
    backend: counting.backend,
    recipients: identities.map(({ recipient }) => recipient),
    identities: identities.slice(0, 1),
    chunkSize: 2 ** chunkLog2,
    padding: pad ? "padme" : "none",
  });
  const address = await store.put(zeros(length));
  const { depth } = await store.stat(address);

  const getsOf = async (work: () => Promise<unknown>) => {
    counting.gets = 0;
    await work();
    return counting.gets;
  };
  const range = { start: 0, end: Math.min(1, length) };
  const rangeGets = await getsOf(async () => (await store.get(address, { range })).bytes());
  const { sizes } = counting;
  const observed = {
    depth,
    puts: counting.puts,
    storedBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    rootBytes: sizes.get(address)!,
    rangeGets,
  };
  if (!whole) return observed;
  const wholeGets = await getsOf(async () => {
    let read = 0;
    for await (const piece of (await store.get(address)).stream()) read += piece.length;
    if (read !== length) throw new Error(`read ${read} bytes of ${length}`);
  });
  return { ...observed, wholeGets };
}

async function* zeros(length: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(MIB);
  for (let left = length; left > 0; left -= MIB) yield piece.subarray(0, Math.min(MIB, left));
}

/** Counts calls and sizes. Keeps the given number of first and of last blobs. */
function countingBackend(ends: number): Counting {
  const first = new Map<string, Uint8Array>();
  const last = new Map<string, Uint8Array>();
  const sizes = new Map<string, number>();
  const backend: Backend = {
    description: "counting",
    async put(name, bytes) {
      counting.puts += 1;
      sizes.set(name, bytes.length);
      if (first.size < ends) {
        first.set(name, bytes.slice());
        return;
      }
      last.set(name, bytes.slice());
      const [oldest] = last.keys();
      if (last.size > ends && oldest !== undefined) last.delete(oldest);
    },
    async get(name, buffer) {
      counting.gets += 1;
      const bytes = first.get(name) ?? last.get(name);
      if (bytes === undefined) throw new StorageError("not-found", `${name} was not kept`);
      buffer.set(bytes);
      return bytes.length;
    },
    async head(name) {
      const size = sizes.get(name);
      return size === undefined ? undefined : { size };
    },
    async delete() {},
    async *list() {},
  };
  const counting: Counting = { backend, puts: 0, gets: 0, sizes };
  return counting;
}
