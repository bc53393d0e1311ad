import { randomFillSync } from "node:crypto";
import type { Backend, Identity, Store, StoreOptions } from "@idk/storage";
import { entryPoint, requireMethods } from "./library.ts";

/** Runs a number of operations, sequentially unless the task says otherwise. */
export type Pass = (operations: number) => Promise<void>;

export interface Work {
  readonly pass: Pass;
  /** Bytes of content per put, to compute the overhead; absent if the task puts nothing. */
  readonly puts?: number | undefined;
}

/** The library of this revision and the backend of the task. */
export interface Fixture {
  readonly backend: Backend;
  readonly identity: Identity;
  readonly library: typeof import("@idk/storage");
  open(options?: Partial<StoreOptions>): Store;
}

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const IN_FLIGHT = 16;

/** Prepares each task, unmeasured. */
const WORK: Readonly<Record<string, (fixture: Fixture) => Promise<Work>>> = {
  "put-memory": puts(8 * MIB),
  "get-memory": gets(8 * MIB),
  "put-convergent": convergentPuts(8 * MIB),
  "put-small": puts(KIB),
  "get-small": gets(KIB),
  "keys-1": rewraps(1),
  "keys-64": rewraps(64),
  "put-files": puts(8 * MIB),
  "get-files": gets(8 * MIB),
  "put-store": puts(MIB),
  "get-store": gets(MIB),
  "put-store-many": manyPuts(64 * KIB),
  "get-store-many": manyGets(64 * KIB),
};

export async function prepare(task: string, fixture: Fixture): Promise<Work> {
  const work = WORK[task];
  if (work === undefined) throw new Error(`there is no task ${task}`);
  return work(fixture);
}

/** @throws Missing if this revision lacks the library */
export async function fixtureOver(backend: Backend): Promise<Fixture> {
  const library = await entryPoint<Fixture["library"]>("@idk/storage", [
    "createStore",
    "generateIdentity",
  ]);
  const identity = await library.generateIdentity();
  return {
    backend,
    identity,
    library,
    open(options = {}) {
      const store = library.createStore({
        backend,
        recipients: [identity.recipient],
        identities: [identity],
        // No worker threads: timing does not depend on other threads, and all hashing is counted.
        workers: 0,
        ...options,
      });
      requireMethods("Store", store, ["put", "get"]);
      return store;
    },
  };
}

function puts(size: number): (fixture: Fixture) => Promise<Work> {
  return async ({ open }) => {
    const store = open();
    const content = noise(size);
    const pass = repeated(() => store.put(content));
    return { pass, puts: size };
  };
}

function gets(size: number): (fixture: Fixture) => Promise<Work> {
  return async ({ open }) => {
    const store = open();
    const address = await store.put(noise(size));
    return { pass: repeated(() => readAll(store, address, size)) };
  };
}

function convergentPuts(size: number): (fixture: Fixture) => Promise<Work> {
  return async ({ open }) => {
    const store = open();
    const content = noise(size);
    const dedupSecret = noise(32);
    const counter = new DataView(dedupSecret.buffer);
    let next = 0;
    const pass = repeated(() => {
      // A new secret gives new blobs, so that none exists already.
      counter.setUint32(0, next++);
      return store.put(content, { dedupSecret });
    });
    return { pass, puts: size };
  };
}

function rewraps(recipients: number): (fixture: Fixture) => Promise<Work> {
  return async ({ library, open, identity }) => {
    const others = await Promise.all(
      Array.from({ length: recipients - 1 }, () => library.generateIdentity()),
    );
    const all = [identity, ...others].map(({ recipient }) => recipient);
    const store = open();
    requireMethods("Store", store, ["rewrap"]);
    const address = await store.put(noise(32));
    const pass = repeated(async () => {
      const shared = await store.rewrap(address, all);
      await readAll(store, shared, 32);
      await store.delete(shared);
    });
    return { pass };
  };
}

function manyPuts(size: number): (fixture: Fixture) => Promise<Work> {
  return async ({ open }) => {
    const store = open();
    requireMethods("Store", store, ["putMany"]);
    const content = noise(size);
    const pass: Pass = async (operations) => {
      const items = Array.from({ length: operations }, (_, key) => ({ key, content }));
      for await (const result of store.putMany(items, { concurrency: IN_FLIGHT })) {
        if (!result.ok) throw result.error;
      }
    };
    return { pass, puts: size };
  };
}

function manyGets(size: number): (fixture: Fixture) => Promise<Work> {
  return async ({ open }) => {
    const store = open();
    requireMethods("Store", store, ["getMany"]);
    const addresses = await Promise.all(
      Array.from({ length: IN_FLIGHT }, () => store.put(noise(size))),
    );
    const pass: Pass = async (operations) => {
      const items = Array.from({ length: operations }, (_, key) => ({
        key,
        address: addresses[key % IN_FLIGHT]!,
      }));
      for await (const result of store.getMany(items, { concurrency: IN_FLIGHT })) {
        if (!result.ok) throw result.error;
        assertLength((await result.blob.bytes()).length, size);
      }
    };
    return { pass };
  };
}

async function readAll(store: Store, address: string, size: number): Promise<void> {
  let length = 0;
  for await (const piece of (await store.get(address)).stream()) length += piece.length;
  assertLength(length, size);
}

function assertLength(length: number, size: number): void {
  if (length !== size) throw new Error(`${length} of ${size} bytes came back`);
}

function repeated(operation: () => Promise<unknown>): Pass {
  return async (operations) => {
    for (let i = 0; i < operations; i++) await operation();
  };
}

function noise(length: number): Uint8Array<ArrayBuffer> {
  return randomFillSync(new Uint8Array(length));
}
