import type { FoundHead, RefusedHead } from "../repository/find-heads.ts";
import type {
  FoundSettings,
  FoundSnapshot,
  HeadOptions,
  Repository,
} from "../repository/repository.ts";
import { type Forgetting, forgettingsInForce, isForgotten } from "../rules/forgetting.ts";
import { FORGETTING_CHAIN } from "../format/names/chain.ts";
import { type Marker, formatMarker } from "../format/names/marker.ts";
import type { Settings } from "../format/records/settings.ts";
import type { Writer } from "../format/keys/writer.ts";
import { type StoredHead, mayForget, newestSettings } from "../rules/counting.ts";
import { namesOf } from "../rules/death.ts";

/** All heads of a repository. */
export interface RepositoryState {
  /** The newest settings. */
  readonly settings: FoundSettings;
  /** Those that count, newest first within each chain, without their texts (`withoutTexts`). */
  readonly heads: readonly FoundHead[];
  /** Those that do not count. */
  readonly refused: readonly RefusedHead[];
}

/**
 * Reads all heads: a listing, and one request for each.
 *
 * @throws StorageError `head` if there are no settings, `rollback`
 */
export async function readState(
  repository: Repository,
  options: HeadOptions & { readonly onHead?: (done: number) => void } = {},
): Promise<RepositoryState> {
  const refused = new Map<string, RefusedHead>();
  const onRefused = (one: RefusedHead) => {
    refused.set(formatMarker(one.marker), one);
    options.onRefused?.(one);
  };
  const heads: FoundHead[] = [];
  for await (const found of repository.heads({ ...options, onRefused })) {
    heads.push(withoutTexts(found));
    options.onHead?.(heads.length + refused.size);
  }
  const settings = await repository.settings(options);
  return { settings: newestSettings(heads) ?? settings, heads, refused: [...refused.values()] };
}

/** Tags of a head that are kept in memory, in all. */
const TAGS_MAX = 4096;

/**
 * A head without its message, and without tags if they are very long: all heads are held at once, and one
 * may have a MiB of either.
 */
export function withoutTexts<T extends StoredHead>(found: T): T {
  const { head } = found;
  const length = head.tags.reduce((sum, tag) => sum + tag.length, 0);
  const tags = length > TAGS_MAX || head.tags.length > TAGS_MAX ? [] : head.tags;
  return { ...found, head: { ...head, message: null, tags } };
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
    const { heads, settings } = await readState(repository, options);
    return forgottenOf(repository, heads, settings.head.settings);
  };
  return async (found) => (await (known ??= read()))(found);
}
