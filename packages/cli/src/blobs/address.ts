import type { Address, Store } from "@idk/storage";

/** Whether a text is an address, or long enough a beginning of one to be looked for. */
export function isAddressOrPrefix(text: string): boolean {
  return /^[0-9a-f]{8,64}$/u.test(text);
}

/** Whether the store has to be asked which address is meant. */
export function isPrefix(given: string): boolean {
  return given.length < 64;
}

/**
 * Finds the address that was meant. A whole one takes no request.
 *
 * @throws StorageError `usage` where several begin with it, `not-found` where none does
 */
export async function resolveAddress(
  store: Pick<Store, "resolve">,
  given: string,
  signal: AbortSignal,
): Promise<Address> {
  return store.resolve(given, { signal });
}

/** Several at once, each only once; in their order. */
export async function resolveAddresses(
  store: Pick<Store, "resolve">,
  given: readonly string[],
  signal: AbortSignal,
): Promise<Set<Address>> {
  const addresses = new Set<Address>();
  // One after the other: people type a few, and lists of thousands hold whole addresses.
  for (const each of given) addresses.add(await resolveAddress(store, each, signal));
  return addresses;
}
