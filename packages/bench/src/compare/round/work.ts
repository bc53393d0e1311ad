import type { Backend, Content, Identity, PutOptions, Store } from "@idk/storage";
import type { StoreOptions, StoredContent } from "@idk/storage";
import { expectBytes, randomContent, sha256 } from "../../harness/content.ts";
import { entryPoint, requireFunctions } from "./library.ts";

export interface Work {
  /** Runs a number of operations, sequentially unless the task says otherwise. */
  pass(operations: number): Promise<void>;
  /**
   * Compares by SHA-256 what the last pass read, or one more put, read back.
   *
   * @throws Error if they differ
   */
  verify(): Promise<void>;
  /** Bytes of content per put, to compute the overhead; absent if the task puts nothing. */
  readonly puts?: number | undefined;
}

/** Prepares a task, unmeasured. */
export type Prepare = (fixture: Fixture) => Promise<Work>;

/** The library of this revision and the backend of the task. */
export interface Fixture {
  readonly identity: Identity;
  readonly library: typeof import("@idk/storage");
  /** A store over the backend of the task, or over the one in the options. */
  open(options?: Partial<StoreOptions>): Store;
  /** A new backend with the same objects. */
  connect(): Promise<Backend>;
  /** A backend that keeps what is put, even if the task's discards it. */
  readonly keeping: Backend;
}

type Bytes = Uint8Array<ArrayBuffer>;

const IN_FLIGHT = 16;

/**
 * @param own options of all stores
 * @throws Missing if this revision lacks the library
 */
export async function fixtureOver(
  { backend, ...others }: Pick<Fixture, "connect" | "keeping"> & { readonly backend: Backend },
  own: Pick<StoreOptions, "nacl" | "workers">,
): Promise<Fixture> {
  const names = ["createStore", "generateIdentity"] as const;
  const library = await entryPoint<Fixture["library"]>("@idk/storage", names);
  const identity = await library.generateIdentity();
  const keys = { recipients: [identity.recipient], identities: [identity] };
  return {
    ...others,
    identity,
    library,
    open(options = {}) {
      const store = library.createStore({ backend, ...keys, ...own, ...options });
      requireFunctions("Store", store, ["put", "get"]);
      return store;
    },
  };
}

interface PutTask {
  /** The form in which content is given, by default as bytes. */
  given?(content: Bytes): Content;
  options?(): PutOptions;
  /** Whether each put uses a new store over a new backend. */
  readonly fresh?: boolean;
}

export function puts(
  size: number,
  { given = (bytes) => bytes, options, fresh = false }: PutTask = {},
): Prepare {
  return async (fixture) => {
    const first = fixture.open();
    const content = randomContent(size);
    const put = async () => {
      const store = fresh ? fixture.open({ backend: await fixture.connect() }) : first;
      await store.put(given(content), options?.());
      if (fresh) await store.close?.();
    };
    return { pass: repeated(put), puts: size, verify: () => readBack(fixture, content, given) };
  };
}

interface GetTask {
  /** Reads the content, into the buffer or into memory of its own. */
  readonly read?: Read;
  /** Whether each get uses a new store over a new backend. */
  readonly fresh?: boolean;
}

export function gets(size: number, { read = copyStream, fresh = false }: GetTask = {}): Prepare {
  return async ({ open, connect }) => {
    const content = randomContent(size);
    const first = open();
    const address = await first.put(content);
    return reading(content, async (buffer) => {
      const store = fresh ? open({ backend: await connect() }) : first;
      const bytes = await read(await store.get(address), buffer);
      if (fresh) await store.close?.();
      return bytes;
    });
  };
}

export function rewraps(recipients: number): Prepare {
  return async ({ library, open, identity }) => {
    const others = Array.from({ length: recipients - 1 }, () => library.generateIdentity());
    const all = [identity, ...(await Promise.all(others))].map(({ recipient }) => recipient);
    const store = open();
    requireFunctions("Store", store, ["rewrap"]);
    const content = randomContent(32);
    const address = await store.put(content);
    return reading(content, async (buffer) => {
      const shared = await store.rewrap(address, all);
      const bytes = await copyStream(await store.get(shared), buffer);
      await store.delete(shared);
      return bytes;
    });
  };
}

export function manyPuts(size: number): Prepare {
  return async (fixture) => {
    requireFunctions("Store", fixture.open(), ["putMany"]);
    const contents = Array.from({ length: IN_FLIGHT }, () => randomContent(size));
    const putAll = async (store: Store, operations: number) => {
      const addresses = new Map<number, string>();
      const items = Array.from({ length: operations }, (_, key) => ({
        key,
        content: contents[key % IN_FLIGHT]!,
      }));
      for await (const result of store.putMany(items, { concurrency: IN_FLIGHT })) {
        if (!result.ok) throw result.error;
        addresses.set(result.key, result.address);
      }
      expectAll(addresses, operations);
      return addresses;
    };
    const store = fixture.open();
    return {
      pass: async (operations) => void (await putAll(store, operations)),
      puts: size,
      async verify() {
        const kept = fixture.open({ backend: fixture.keeping });
        for (const [i, address] of await putAll(kept, IN_FLIGHT)) {
          expectBytes(await (await kept.get(address)).bytes(), sha256(contents[i]!));
        }
      },
    };
  };
}

export function manyGets(size: number): Prepare {
  return async ({ open }) => {
    const store = open();
    requireFunctions("Store", store, ["getMany"]);
    const contents = Array.from({ length: IN_FLIGHT }, () => randomContent(size));
    const addresses = await Promise.all(contents.map((content) => store.put(content)));
    const last: Uint8Array[] = [];
    return {
      async pass(operations) {
        last.length = 0;
        const done = new Set<number>();
        const items = Array.from({ length: operations }, (_, key) => ({
          key,
          address: addresses[key % IN_FLIGHT]!,
        }));
        for await (const result of store.getMany(items, { concurrency: IN_FLIGHT })) {
          if (!result.ok) throw result.error;
          last[result.key % IN_FLIGHT] = await result.blob.bytes();
          done.add(result.key);
        }
        expectAll(done, operations);
      },
      verify: async () => last.forEach((bytes, i) => expectBytes(bytes, sha256(contents[i]!))),
    };
  };
}

/** @throws Error if an operation has no result */
function expectAll({ size }: { readonly size: number }, operations: number): void {
  if (size !== operations)
    throw new Error(`only ${size} of ${operations} operations have a result`);
}

/** Everything that is done to a stored content but reading it. */
export function maintains(size: number): Prepare {
  return async (fixture) => {
    const store = fixture.open();
    requireFunctions("Store", store, ["stat", "verify", "list", "deleteTree"]);
    const content = randomContent(size);
    const pass = repeated(async () => {
      const address = await store.put(content);
      await store.stat(address);
      await store.verify(address);
      await Array.fromAsync(store.list());
      await store.deleteTree(address);
    });
    return { pass, verify: () => readBack(fixture, content) };
  };
}

type Read = (stored: StoredContent, buffer: Bytes) => Promise<Uint8Array>;

export const allBytes: Read = (stored) => stored.bytes();

const copyStream: Read = async (stored, buffer) => {
  let length = 0;
  for await (const piece of stored.stream()) {
    buffer.set(piece, length);
    length += piece.length;
  }
  return buffer.subarray(0, length);
};

export function streamOf(bytes: Bytes): ReadableStream<Uint8Array> {
  return new Blob([bytes]).stream();
}

/** @param read reads the content once */
function reading(content: Bytes, read: (buffer: Bytes) => Promise<Uint8Array>): Work {
  const [buffer, hash] = [new Uint8Array(content.length), sha256(content)];
  let last: Uint8Array = buffer;
  return {
    pass: repeated(async () => {
      last = await read(buffer);
    }),
    async verify() {
      expectBytes(last, hash);
      // What a later pass does not write must not look right.
      last.fill(0);
    },
  };
}

/** Puts the content where it is kept, and reads it. */
async function readBack(
  { open, keeping }: Fixture,
  content: Bytes,
  given: (bytes: Bytes) => Content = (bytes) => bytes,
): Promise<void> {
  const store = open({ backend: keeping });
  const address = await store.put(given(content));
  expectBytes(await (await store.get(address)).bytes(), sha256(content));
}

function repeated(operation: () => Promise<unknown>): Work["pass"] {
  return async (operations) => {
    for (let i = 0; i < operations; i++) await operation();
  };
}
