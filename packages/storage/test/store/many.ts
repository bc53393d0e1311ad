import {
  type Address,
  type Backend,
  type PutItem,
  type PutResult,
  StorageError,
  type Store,
} from "../../src/index.ts";

/** A backend that blocks every put and get until it is released or aborted. */
interface Gated {
  readonly backend: Backend;
  /** In order of arrival. */
  readonly waiting: { readonly open: () => void }[];
}

export function gated(inner: Backend): Gated {
  const waiting: { readonly open: () => void }[] = [];
  const pass = (signal: AbortSignal | undefined) =>
    new Promise<void>((open, fail) => {
      waiting.push({ open });
      signal?.addEventListener("abort", () => fail(new StorageError("aborted", "stopped")));
    });
  const backend: Backend = {
    ...inner,
    put: async (name, bytes, options) => {
      await pass(options?.signal);
      return inner.put(name, bytes, options);
    },
    get: async (name, buffer, options) => {
      await pass(options?.signal);
      return inner.get(name, buffer, options);
    },
  };
  return { backend, waiting };
}

interface Seen {
  pulled: number;
  ended: boolean;
}

/** Items that record how many were pulled, and whether the iterator was closed. */
export function counted<T>(
  length: number,
  item: (index: number) => T,
): { readonly seen: Readonly<Seen>; readonly items: AsyncIterable<T> } {
  const seen: Seen = { pulled: 0, ended: false };
  async function* items(): AsyncGenerator<T> {
    try {
      for (let i = 0; i < length; i++) {
        seen.pulled += 1;
        yield item(i);
      }
    } finally {
      seen.ended = true;
    }
  }
  return { seen, items: items() };
}

/** Lets everything run that does not wait for a timer. */
export const settle = (): Promise<void> => Bun.sleep(5);

export const item = (i: number): PutItem<number> => ({ key: i, content: `content ${i}` });

export function addressOf<Key>(result: PutResult<Key>): Address {
  if (!result.ok) throw result.error;
  return result.address;
}

export async function putAll(store: Store, count: number): Promise<Address[]> {
  const addresses: Address[] = [];
  for (let i = 0; i < count; i++) addresses.push(await store.put(`content ${i}`));
  return addresses;
}
