import {
  type Content,
  type Identity,
  type Store,
  type StoreOptions,
  createStore,
  generateIdentity,
  parseIdentity,
} from "@idk/storage";
import { Usage } from "../command/usage.ts";
import type { Environment } from "../suite.ts";

/**
 * The identity of suites: the one in `TEST_KEY`, or a new one. It must not be printed.
 *
 * @throws Usage if `TEST_KEY` is not an identity
 */
export async function suiteIdentity({ TEST_KEY: text }: Environment): Promise<Identity> {
  if (!text) return generateIdentity();
  try {
    return parseIdentity(text.trim());
  } catch (cause) {
    throw new Usage("TEST_KEY is not an identity: `idk keygen` makes one", { cause });
  }
}

/** Stores contents, by default 16 at once, and returns their addresses, in their order. */
export async function putAll(
  store: Store,
  contents: readonly Content[],
  concurrency?: number,
): Promise<string[]> {
  const addresses: string[] = [];
  const items = contents.map((content, key) => ({ key, content }));
  for await (const result of store.putMany(items, { concurrency })) {
    if (!result.ok) throw result.error;
    addresses[result.key] = result.address;
  }
  return addresses;
}

/** A store that an identity writes and reads. */
export function storeOf(
  identity: Identity,
  options: Pick<StoreOptions, "backend"> & Partial<StoreOptions>,
): Store {
  return createStore({
    recipients: [identity.recipient],
    identities: [identity],
    ...options,
  });
}
