import type { FoundHead, RefusedHead } from "../repository/find-heads.ts";
import type {
  FoundSettings,
  FoundSnapshot,
  HeadOptions,
  Repository,
} from "../repository/repository.ts";
import { type Forgetting, forgettingsInForce, isForgotten } from "../rules/forgetting.ts";
import { ADDRESS_LENGTH } from "../format/limits.ts";
import type { Address } from "@idk/storage";
import { FORGETTING_CHAIN } from "../format/names/chain.ts";
import { type Marker, formatMarker } from "../format/names/marker.ts";
import type { Head } from "../format/records/head.ts";
import type { Settings } from "../format/records/settings.ts";
import type { Writer } from "../format/keys/writer.ts";
import { type StoredHead, mayForget, newestSettings } from "../rules/counting.ts";
import { fromHex, toHex } from "@idk/storage/blobs";
import { namesOf } from "../rules/death.ts";

/** All heads of a repository. */
export interface RepositoryState {
  /** The newest settings. */
  readonly settings: FoundSettings;
  /** Those that count, newest first within each chain, as short as `shortHead` makes them. */
  readonly heads: readonly FoundHead[];
  /** Those that do not count. */
  readonly refused: readonly RefusedHead[];
}

/** Options of `readState`. */
export interface StateOptions extends HeadOptions, KeptParts {
  readonly onHead?: (done: number) => void;
}

/**
 * Reads all heads: a listing, and one request for each.
 *
 * @throws StorageError `head` if there are no settings, `rollback`
 */
export async function readState(
  repository: Repository,
  options: StateOptions = {},
): Promise<RepositoryState> {
  const refused = new Map<string, RefusedHead>();
  const onRefused = (one: RefusedHead) => {
    refused.set(formatMarker(one.marker), one);
    options.onRefused?.(one);
  };
  const heads: FoundHead[] = [];
  for await (const found of repository.heads({ ...options, onRefused })) {
    heads.push(shortHead(found, options));
    options.onHead?.(heads.length + refused.size);
  }
  const settings = await repository.settings(options);
  return { settings: newestSettings(heads) ?? settings, heads, refused: [...refused.values()] };
}

/** What a head keeps in memory of its lists, of which it may have a MiB. */
export interface KeptParts {
  /** The heads before it, by default: it takes these to find forks. Settings always keep them. */
  readonly previous?: boolean | undefined;
  /** Those of its tags that are among these; by default none. */
  readonly tags?: readonly string[] | undefined;
}

/** A head without its message and most of its lists: all heads are held at once, and others store them. */
export function shortHead<T extends StoredHead>(
  found: T,
  { previous = true, tags = [] }: KeptParts = {},
): T {
  const { head } = found;
  const chosen = tags.filter((tag) => head.tags.includes(tag));
  const before = addressBytes(previous || head.kind === "repo" ? head.previous : []);
  return { ...found, head: withPrevious({ ...head, message: null, tags: chosen }, before) };
}

/**
 * A head that makes the list of those before it when it is asked for: as bytes they take a third of what
 * they take as texts. A function of its own, so that what the head was made from is not kept with it.
 */
function withPrevious(head: Head, before: Uint8Array): Head {
  return {
    ...head,
    get previous() {
      return addressesIn(before);
    },
  };
}

function addressBytes(addresses: readonly Address[]): Uint8Array {
  const bytes = new Uint8Array(addresses.length * ADDRESS_LENGTH);
  for (const [i, address] of addresses.entries()) bytes.set(fromHex(address), i * ADDRESS_LENGTH);
  return bytes;
}

function addressesIn(bytes: Uint8Array): Address[] {
  const count = bytes.length / ADDRESS_LENGTH;
  const at = (i: number) => bytes.subarray(i * ADDRESS_LENGTH, (i + 1) * ADDRESS_LENGTH);
  return Array.from({ length: count }, (_, i) => toHex(at(i)) as Address);
}

/** The heads that forget or unforget, with what each may name. */
export function forgettingsOf(
  heads: readonly FoundHead[],
  settings: Settings,
  owner: Writer,
): (Forgetting & { readonly storedAt: number })[] {
  const names = namesOf(heads);
  const nameOf: Parameters<typeof mayForget>[3] = (chain) => names.get(chain);
  return heads.flatMap(({ marker, head, storedAt }) => {
    if (head.kind !== "forget" && head.kind !== "unforget") return [];
    return { marker, head, storedAt, mayName: mayForget(head, settings, owner, nameOf) };
  });
}

/** The heads that do not count and that the owner has not forgotten. */
export function refusedInForce(
  { pinned: { owner } }: Repository,
  { heads, refused, settings }: RepositoryState,
): RefusedHead[] {
  const forgettings = forgettingsOf(heads, settings.head.settings, owner);
  const inForce = forgettingsInForce(forgettings.filter(({ head }) => head.writer === owner));
  return refused.filter(({ marker }) => inForce.get(formatMarker(marker))?.head.kind !== "forget");
}

/**
 * Which heads are forgotten.
 *
 * @param heads all that count, as `repository.heads()` yields them
 */
export function forgottenOf(
  repository: Repository,
  heads: readonly FoundHead[],
  settings: Settings,
): (head: FoundHead) => boolean {
  const payloads = new Map(heads.map((found) => [formatMarker(found.marker), found.payloadHash]));
  const forgettings = forgettingsOf(heads, settings, repository.pinned.owner);
  const payloadOf = (marker: Marker) => payloads.get(formatMarker(marker)) ?? formatMarker(marker);
  const inForce = forgettingsInForce(forgettings, payloadOf);
  return ({ payloadHash }) => isForgotten(inForce, payloadHash);
}

/**
 * Whether snapshots are forgotten, by a state that is read at the first question: all heads, or three
 * requests if nothing was ever forgotten.
 *
 * @throws StorageError as `Repository.heads`
 */
export function forgottenIn(
  repository: Repository,
  options: HeadOptions = {},
): (found: FoundSnapshot) => Promise<boolean> {
  let known: Promise<(head: FoundHead) => boolean> | undefined;
  const read = async (): Promise<(head: FoundHead) => boolean> => {
    if ((await repository.newest(FORGETTING_CHAIN, options)) === undefined) return () => false;
    const { heads, settings } = await readState(repository, { ...options, previous: false });
    return forgottenOf(repository, heads, settings.head.settings);
  };
  return async (found) => (await (known ??= read()))(found);
}
