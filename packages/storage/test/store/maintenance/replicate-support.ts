import {
  type Address,
  type Backend,
  type Store,
  StorageError,
  wrapBackend,
} from "../../../src/index.ts";
import { aliceStore, random } from "../../support.ts";
import { expect } from "bun:test";
import { memory } from "../../../src/backend/memory.ts";

export const MiB: number = 2 ** 20;
export const CHUNK: number = 2 ** 18;

export interface Filled {
  readonly from: Backend;
  readonly store: Store;
  readonly roots: Address[];
  /** The names of all blobs, in order. */
  readonly all: string[];
  readonly chunks: string[];
}

/** Two trees and a small blob: three roots, 8 + 9 chunks. */
export async function filled(): Promise<Filled> {
  const from = memory();
  const store = aliceStore({ backend: from, chunkSize: CHUNK, padding: "none" });
  const roots = [
    await store.put(random(2 * MiB)),
    await store.put(random(2 * MiB + 1)),
    await store.put("small"),
  ];
  const all = await namesIn(from);
  return { from, store, roots, all, chunks: all.filter((name) => !roots.some((r) => r === name)) };
}

export const SMALL = 400;

/** So many small roots. */
export async function manySmall(): Promise<Backend> {
  const from = memory();
  const contents = Array.from({ length: SMALL }, (_, i) => ({ key: i, content: `${i}` }));
  for await (const _ of aliceStore({ backend: from }).putMany(contents));
  return from;
}

/** A store that returns each tenth blob only when it is asked again. */
export function refusingEachTenth(inner: Backend): Backend {
  let calls = 0;
  return wrapBackend(inner, {
    get:
      (get) =>
      async (...given) => {
        calls += 1;
        if (calls % 10 === 0) throw new StorageError("unavailable", "busy", { transient: true });
        return get(...given);
      },
  });
}

export async function namesIn(backend: Backend): Promise<string[]> {
  return (await Array.fromAsync(backend.list(""), ({ name }) => name)).toSorted();
}

export async function bytesOf(backend: Backend, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array((await backend.head(name))!.size);
  await backend.get(name, bytes);
  return bytes;
}

export interface Watched {
  readonly backend: Backend;
  readonly put: string[];
  readonly got: string[];
  /** Reads in flight: now, and the maximum so far. */
  readonly seen: { inFlight: number; most: number };
}

/** Records the names of the blobs put and fetched. */
export function watched(inner: Backend, ms = 1): Watched {
  const put: string[] = [];
  const got: string[] = [];
  const seen = { inFlight: 0, most: 0 };
  const backend: Backend = {
    ...inner,
    put: async (...given) => {
      put.push(given[0]);
      expect(given[2]?.sha256).toBe(given[0]);
      await inner.put(...given);
    },
    get: async (...given) => {
      got.push(given[0]);
      seen.inFlight += 1;
      seen.most = Math.max(seen.most, seen.inFlight);
      await Bun.sleep(ms);
      seen.inFlight -= 1;
      return inner.get(...given);
    },
  };
  return { backend, put, got, seen };
}
