import type { Address, Store } from "@idk/storage";
import { codeOf } from "../errors/failures.ts";

/** The fewest digits that name a blob to commands that print its full address and act on nothing. */
export const DIGITS_TO_DISPLAY = 8;

/**
 * The fewest digits that name a blob to all other commands. Anyone who can write to the store can vary
 * a blob until its address begins with 8 given digits, within minutes; 20 digits take 2^80 attempts.
 */
export const DIGITS_TO_ACT = 20;

/** Whether a text is an address, or at least 8 digits of one. */
export function isAddressOrPrefix(text: string): boolean {
  return /^[0-9a-f]{8,64}$/u.test(text);
}

/**
 * What is wrong with an address or prefix, to follow its name in a message.
 *
 * @returns undefined if nothing is
 */
export function addressFault(text: string, digitsMin: number): string | undefined {
  if (!isAddressOrPrefix(text)) {
    return `must be 64 lowercase hexadecimal digits, as \`idk put\` prints them, or at least the first ${digitsMin}`;
  }
  if (text.length >= digitsMin) return undefined;
  return (
    `${text} is too short: anyone who can write to the store can make another blob whose address ` +
    `begins with it. Give the whole address, or at least its first ${digitsMin} digits; ` +
    `\`idk inspect ${text}\` prints it`
  );
}

/** Whether the address has to be resolved by listing the store. */
export function isPrefix(given: string): boolean {
  return given.length < 64;
}

/**
 * Whether an error means that a blob was removed since it was listed. If the store still lists a blob
 * that it does not return, or a root of which a chunk is missing, it has lost bytes.
 */
export async function isRemoved(
  store: Pick<Store, "list">,
  address: string,
  error: unknown,
  signal: AbortSignal,
): Promise<boolean> {
  if (codeOf(error) !== "not-found") return false;
  for await (const found of store.list({ prefix: address, signal })) {
    if (found.address === address) return false;
  }
  return true;
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
  minDigits: number = DIGITS_TO_ACT,
): Promise<Address> {
  return store.resolve(given, { minDigits, signal });
}
