import type { Address, Store } from "@idk/storage";

/** Whether a text is an address or a prefix of at least 8 digits. */
export function isAddressOrPrefix(text: string): boolean {
  return /^[0-9a-f]{8,64}$/u.test(text);
}

/** Whether the address has to be resolved by listing the store. */
export function isPrefix(given: string): boolean {
  return given.length < 64;
}

/**
 * Completes a prefix. A full address takes no request.
 *
 * @throws StorageError `usage` if several addresses begin with it, `not-found` if none does
 */
export async function resolveAddress(
  store: Pick<Store, "resolve">,
  given: string,
  signal: AbortSignal,
): Promise<Address> {
  return store.resolve(given, { signal });
}

/** Resolves several, without duplicates, in order. */
export async function resolveAddresses(
  store: Pick<Store, "resolve">,
  given: readonly string[],
  signal: AbortSignal,
): Promise<Set<Address>> {
  const addresses = new Set<Address>();
  // Sequentially: prefixes are typed, so there are few.
  for (const each of given) addresses.add(await resolveAddress(store, each, signal));
  return addresses;
}
