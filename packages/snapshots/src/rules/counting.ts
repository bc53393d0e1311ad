import type { ChainId, RepositoryId } from "../format/names/identifiers.ts";
import { FORGETTING_CHAIN, SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import { type Head, type RepositoryHead, decodeHead } from "../format/records/head.ts";
import { type Marker, compareMarkers } from "../format/names/marker.ts";
import type { Settings } from "../format/records/settings.ts";
import { type Writer, isSignedBy } from "../format/keys/writer.ts";
import { AHEAD_MAX_MS } from "../format/limits.ts";
import { StorageError } from "@idk/storage";
import { matchesPattern } from "../format/names/pattern.ts";
import { hash, toHex } from "@idk/storage/blobs";

/** What everybody's configuration fixes of a repository. */
export interface Pinned {
  readonly repository: RepositoryId;
  readonly owner: Writer;
}

/** A head as it is stored. */
export interface StoredHead {
  readonly marker: Marker;
  readonly head: Head;
  /** SHA-256 of the payload. Heads of equal payloads are one head under several addresses. */
  readonly payloadHash: string;
}

/**
 * Whether a marker is so far ahead of the store's time that it does not count: more than a day. Anyone
 * who can put can make one up, and it would be the newest for ever.
 *
 * @param storedAt the store's time of the marker, in milliseconds
 * @param now the store's time now, in milliseconds
 */
export function isAhead({ generation }: Marker, storedAt: number, now: number): boolean {
  return generation > Math.min(storedAt, now) + AHEAD_MAX_MS;
}

/**
 * Decodes a head and verifies all that does not depend on the settings: that its marker, chain, name,
 * repository, generation, kind and signature agree, and, if it has settings, that the owner signed it.
 *
 * @param content of the blob at the marker's address, of the type `RECORD_TYPES.head`
 * @throws StorageError `head`
 */
export function verifiedHead(content: Uint8Array, marker: Marker, pinned: Pinned): StoredHead {
  const { head, payload, signature } = decodeHead(content);
  const refuse = (why: string) => new StorageError("head", `the head ${marker.address} ${why}`);
  if (head.repository !== pinned.repository) throw refuse("belongs to another repository");
  if (head.chain !== chainOf(head.repository, head.name)) {
    throw refuse("has a name that is not that of its chain");
  }
  if (head.chain !== marker.chain || head.generation !== marker.generation) {
    throw refuse("is not the one that its marker names");
  }
  if (head.kind === "repo" && head.writer !== pinned.owner) {
    throw refuse("has settings that the owner did not sign");
  }
  if (!isSignedBy(head.writer, payload, signature)) throw refuse("has a wrong signature");
  return { marker, head, payloadHash: toHex(hash(payload)) };
}

/**
 * The newest settings of a repository; undefined if there are none.
 *
 * @param heads verified ones, of any kind and in any order
 */
export function newestSettings<T extends StoredHead>(
  heads: Iterable<T>,
): (T & { readonly head: RepositoryHead }) | undefined {
  let newest: (T & { readonly head: RepositoryHead }) | undefined;
  for (const found of heads) {
    const { head, marker } = found;
    if (head.kind !== "repo") continue;
    if (newest === undefined || compareMarkers(marker, newest.marker) < 0)
      newest = { ...found, head };
  }
  return newest;
}

/**
 * Why a verified head does not count under the newest settings; undefined if it does. A head that does
 * not count is reported and skipped.
 */
export function whyNotAllowed(
  { head }: StoredHead,
  settings: Settings,
  owner: Writer,
): string | undefined {
  const { name, writer, generation } = head;
  // Settings are the owner's, which is verified without settings.
  if (name === SETTINGS_CHAIN) return undefined;
  if (name === FORGETTING_CHAIN) {
    const may = settings.rules.some(
      (rule) => rule.mayForget && rule.writer === writer && isWithin(rule, generation),
    );
    return writer === owner || may ? undefined : "its writer may not forget anything";
  }
  if (closedBehind(name, settings) < generation) return "its name is closed";
  if (writer === owner) return undefined;
  const rules = settings.rules.filter(
    (rule) => rule.writer === writer && matchesPattern(rule.pattern, name),
  );
  if (rules.some((rule) => isWithin(rule, generation))) return undefined;
  return rules.length === 0
    ? "its writer may not write under this name"
    : "its writer may no longer write under this name";
}

function isWithin(rule: { readonly lastGeneration: number | null }, generation: number): boolean {
  return rule.lastGeneration === null || generation <= rule.lastGeneration;
}

/** The last generation that may be written to a chain; Infinity if it is not closed. */
export function closedBehind(name: string, { rules }: Settings): number {
  let last = Infinity;
  for (const rule of rules) {
    if (rule.writer !== null || rule.lastGeneration === null) continue;
    if (matchesPattern(rule.pattern, name)) last = Math.min(last, rule.lastGeneration);
  }
  return last;
}

/**
 * Which heads a head of kind `forget` or `unforget` may name: the owner's all, another writer's those of
 * the chains in which it may forget.
 *
 * @param nameOf the name of a chain, if any head of it is known
 */
export function mayForget(
  head: Head,
  settings: Settings,
  owner: Writer,
  nameOf: (chain: ChainId) => string | undefined,
): (marker: Marker) => boolean {
  if (head.writer === owner) return () => true;
  const rules = settings.rules.filter(
    (rule) => rule.mayForget && rule.writer === head.writer && isWithin(rule, head.generation),
  );
  return ({ chain }) => {
    const name = nameOf(chain);
    // Settings and forgetting are the owner's, whatever a pattern matches.
    if (name === undefined || name === SETTINGS_CHAIN || name === FORGETTING_CHAIN) return false;
    return rules.some((rule) => matchesPattern(rule.pattern, name));
  };
}
