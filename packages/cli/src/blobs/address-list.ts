import type { Address, Store } from "@idk/storage";
import { usage } from "../errors/failures.ts";
import { parseLine, readList } from "../input/list-file.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { addressFault, DIGITS_TO_ACT, resolveAddress } from "./address.ts";

/** The addresses that a command works on. */
export interface AddressSource {
  /** Those on the command line. */
  readonly address: readonly string[];
  /** A list of more: a file, or - for standard input. */
  readonly fromFile: string | undefined;
  /** Whether the command removes what is listed: lines with a new and an old address are refused. */
  readonly removes?: boolean;
}

/** An address to work on. */
export interface Target {
  readonly given: string;
  readonly address: Address;
  /** Bytes of the blob, if a listing reported them. */
  readonly size?: number | undefined;
  readonly error?: undefined;
}

/** An address, or why there is none. */
export type Listed =
  | Target
  | { readonly given: string; readonly address?: undefined; readonly error: unknown };

/**
 * The only address, if a command prints the result of a single one; undefined if there may be several.
 *
 * @throws Failure `usage` if there is none
 */
export function onlyAddress({ address, fromFile }: AddressSource): string | undefined {
  const [only] = address;
  if (fromFile !== undefined) return undefined;
  if (only === undefined) {
    throw usage("name an ADDRESS, or a list of addresses with --from-file");
  }
  return address.length === 1 ? only : undefined;
}

/**
 * The entries of the command line and then of the list. A line of a list is an address with anything
 * after it, such as the output of `idk put` or `idk ls --long`, or the JSON of any command. JSON
 * without an address is skipped, and counted in a note.
 *
 * @returns a text to resolve, or an entry that failed
 */
export async function* addressEntries(
  { address, fromFile, removes = false }: AddressSource,
  { out, signal }: Pick<Session, "out" | "signal">,
): AsyncGenerator<Entry> {
  yield* address;
  if (fromFile === undefined) return;
  let skipped = 0;
  for await (const line of readList(fromFile, "\n", signal)) {
    const { text, json, replaces } = parseLine(line, "address");
    if (text === undefined) skipped += 1;
    else if (removes && (replaces || REPLACED.test(line))) yield newRoot(json ? text : line);
    else yield json ? text : (/^[0-9a-f]{8,64}(?=\s|$)/u.exec(text)?.[0] ?? text);
  }
  if (skipped > 0 && !out.json) {
    await out.note(`idk: note: ${count(skipped, "line")} of the list without an address skipped`);
  }
}

type Entry = string | Listed;

/** A line of `idk share` or `idk rewrap`: a new and an old address. */
const REPLACED = /^[0-9a-f]{64} {2}[0-9a-f]{64}$/u;

function newRoot(line: string): Listed {
  const given = line.slice(0, 64);
  const error = usage(
    `${given} is the new address of content that was shared or rewrapped, and stays: pass rm the ` +
      "old addresses, as you gave them to idk share or idk rewrap, and without --tree, because the " +
      "new roots share their chunks, unless they were resealed. To remove the new one, pass its " +
      "address alone",
  );
  return { given, error };
}

/**
 * Checks entries and completes prefixes. An address that occurs again is left out: with a dedup
 * secret, equal files have one address.
 *
 * @param minDigits the fewest digits of a prefix
 */
export async function* resolveEntries(
  entries: AsyncIterable<Entry>,
  opened: Pick<Store, "resolve">,
  signal: AbortSignal,
  minDigits: number = DIGITS_TO_ACT,
): AsyncGenerator<Listed> {
  const seen = new Set<string>();
  for await (const entry of entries) {
    const listed =
      typeof entry === "string" ? await resolved(entry, opened, signal, minDigits) : entry;
    const key = listed.address ?? listed.given;
    if (seen.has(key)) continue;
    seen.add(key);
    yield listed;
  }
}

/** The addresses of a source; see `addressEntries` and `resolveEntries`. */
export function readAddresses(
  source: AddressSource,
  opened: Pick<Store, "resolve">,
  session: Session,
  minDigits?: number,
): AsyncGenerator<Listed> {
  return resolveEntries(addressEntries(source, session), opened, session.signal, minDigits);
}

async function resolved(
  given: string,
  opened: Pick<Store, "resolve">,
  signal: AbortSignal,
  minDigits: number,
): Promise<Listed> {
  const fault = addressFault(given, minDigits);
  if (fault !== undefined) return { given, error: usage(`the address ${fault}`) };
  try {
    return { given, address: await resolveAddress(opened, given, signal, minDigits) };
  } catch (error) {
    return { given, error };
  }
}
