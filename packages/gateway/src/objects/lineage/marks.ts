import { timingSafeEqual } from "node:crypto";
import { fromHex, hash, mac, toHex, utf8 } from "@idk/storage/blobs";
import type { Mark } from "../../catalog/records.ts";
import type { MacKeys } from "../identity/mac.ts";
import type { MarkedBackend } from "./store-time.ts";

/*
 * Two kinds of markers tell a store and its catalog apart from others. The last 64 digits of their names are
 * 16 bytes, and the first 16 bytes of a MAC of everything that is said; others cannot make them.
 *
 * - A store's marker has its ID, and the number 0.
 * - A mark has a number, higher than that of all marks before, and a nonce. A catalog remembers it before
 *   it puts it. So a catalog that does not remember a mark of its store was copied before that was put.
 */

const [DIGITS, HALF] = [16, 32];
const STORES = chainOf("idk/s3/store");
const MARKS = chainOf("idk/s3/marks");
const [STORE_DOMAIN, MARK_DOMAIN] = [utf8("idk/s3/store"), utf8("idk/s3/mark")];

/** A mark in the store. */
export interface StoredMark extends Mark {
  /** Of its marker. */
  readonly name: string;
}

/** The name of a store's marker. The ID is 32 hexadecimal digits. */
export function storeMarker(keys: MacKeys, store: string): string {
  return `${STORES}/${"0".repeat(DIGITS)}-${store}${tagOf(keys[0], STORE_DOMAIN, fromHex(store))}`;
}

/** The name of a mark's marker. */
export function markMarker(keys: MacKeys, store: string, { number, nonce }: Mark): string {
  const digits = digitsOf(number);
  return `${MARKS}/${digits}-${nonce}${tagOf(keys[0], ...saidBy(store, digits, nonce))}`;
}

/** The IDs of a store: none if no gateway has written to it, more than one if something is wrong. */
export async function listStores(
  backend: MarkedBackend,
  keys: MacKeys,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const stores = new Set<string>();
  for await (const { name } of backend.listMarkers(`${STORES}/`, { signal })) {
    const [store, tag] = halvesOf(name);
    if (isAuthentic(keys, tag, STORE_DOMAIN, fromHex(store))) stores.add(store);
  }
  return [...stores];
}

/** The marks of a store, by number. Those that others made, or that are another store's, do not count. */
export async function listStoredMarks(
  backend: MarkedBackend,
  keys: MacKeys,
  store: string,
  signal?: AbortSignal,
): Promise<readonly StoredMark[]> {
  const marks: StoredMark[] = [];
  for await (const { name } of backend.listMarkers(`${MARKS}/`, { signal })) {
    const digits = name.slice(MARKS.length + 1, MARKS.length + 1 + DIGITS);
    const number = Number.parseInt(digits, 16);
    const [nonce, tag] = halvesOf(name);
    if (!Number.isSafeInteger(number)) continue;
    if (isAuthentic(keys, tag, ...saidBy(store, digits, nonce)))
      marks.push({ name, number, nonce });
  }
  return marks;
}

function saidBy(store: string, digits: string, nonce: string): readonly Uint8Array[] {
  return [MARK_DOMAIN, fromHex(store), fromHex(digits), fromHex(nonce)];
}

function digitsOf(number: number): string {
  return number.toString(16).padStart(DIGITS, "0");
}

function halvesOf(name: string): readonly [string, string] {
  const end = name.slice(-2 * HALF);
  return [end.slice(0, HALF), end.slice(HALF)];
}

function tagOf(key: Uint8Array, ...said: readonly Uint8Array[]): string {
  return toHex(mac(key, ...said)).slice(0, HALF);
}

function isAuthentic(keys: MacKeys, tag: string, ...said: readonly Uint8Array[]): boolean {
  return keys.some((key) => timingSafeEqual(fromHex(tag), fromHex(tagOf(key, ...said))));
}

function chainOf(name: string): string {
  return toHex(hash(utf8(name))).slice(0, HALF);
}
