import { type Address, parseAddress } from "../../crypto/address.ts";
import type { CallOptions } from "../options.ts";
import type { Backend } from "../../backend/backend.ts";
import { StorageError, usage } from "../../errors.ts";

/** Options of `list`. */
export interface ListOptions extends CallOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
}

/** One stored blob, root or chunk. */
export interface ListedAddress {
  readonly address: Address;
  /** Bytes stored. */
  readonly size: number;
  /** When it was stored, in milliseconds since 1970, as the server reports it; absent if unknown. */
  readonly storedAt?: number | undefined;
}

const PREFIX = /^[0-9a-f]{0,64}$/u;

/** All blobs of the store; see `Store.list`. */
export async function* list(
  backend: Backend,
  { prefix = "", signal }: ListOptions,
): AsyncGenerator<ListedAddress> {
  if (!PREFIX.test(prefix)) throw usage("a prefix is at most 64 lowercase hexadecimal digits");
  for await (const { name, size, storedAt } of backend.list(prefix, { signal })) {
    yield {
      address: parseAddress(name),
      size,
      ...(storedAt === undefined ? {} : { storedAt }),
    };
  }
}

/** Options of `resolve`. */
export interface ResolveOptions extends CallOptions {
  /**
   * The fewest digits that are accepted, 8 to 64, by default 20. Anyone who can write to the store
   * can find, within minutes, content of their own whose address begins with 8 given digits, and
   * delete or outlast the original; 20 digits are out of reach. Lower it only to show something
   * about a blob together with its whole address, never to read, share or delete it.
   */
  readonly minDigits?: number | undefined;
}

const DIGITS_DEFAULT = 20;
/** Fewer digits would be ambiguous in any store of some size, now or later. */
const DIGITS_MIN = 8;
const ADDRESS_LENGTH = 64;
const FORM = /^[0-9a-f]*$/u;

/** How many candidates an error names. */
const NAMED = 4;

/** The one address that starts with these digits; see `Store.resolve`. */
export async function resolve(
  backend: Backend,
  prefix: string,
  { signal, minDigits = DIGITS_DEFAULT }: ResolveOptions,
): Promise<Address> {
  if (!Number.isInteger(minDigits) || minDigits < DIGITS_MIN || minDigits > ADDRESS_LENGTH) {
    throw usage(`minDigits must be an integer from ${DIGITS_MIN} to ${ADDRESS_LENGTH}`);
  }
  if (typeof prefix === "string" && prefix.length === ADDRESS_LENGTH) return parseAddress(prefix);
  if (typeof prefix !== "string" || !FORM.test(prefix) || prefix.length > ADDRESS_LENGTH) {
    throw usage("an address is 64 lowercase hexadecimal digits");
  }
  if (prefix.length < minDigits) {
    throw usage(
      `give the whole address or at least its first ${minDigits} digits, got ${prefix.length}: ` +
        "content whose address begins with fewer digits can be forged",
    );
  }
  // Stop early: the listing of a short prefix could be long.
  const found = new Set<string>();
  for await (const { name } of backend.list(prefix, { signal })) {
    found.add(name);
    if (found.size > NAMED) break;
  }
  const [only, ...others] = [...found].toSorted();
  if (only === undefined) {
    throw new StorageError(
      "not-found",
      `the store has no blob whose address begins with ${prefix}`,
    );
  }
  if (others.length === 0) return parseAddress(only);
  const named = [only, ...others].slice(0, NAMED).join(", ");
  const more = found.size > NAMED ? " and more" : "";
  throw usage(`several addresses begin with ${prefix}, give more digits: ${named}${more}`);
}
