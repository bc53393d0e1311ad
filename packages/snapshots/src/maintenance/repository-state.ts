import type { FoundHead, RefusedHead } from "../repository/find-heads.ts";
import type { FoundSettings, HeadOptions, Repository } from "../repository/repository.ts";
import { type Forgetting, forgettingsInForce, isForgotten } from "../rules/forgetting.ts";
import { type Marker, compareMarkers, formatMarker } from "../format/names/marker.ts";
import type { Settings } from "../format/records/settings.ts";
import { SETTINGS_CHAIN } from "../format/names/chain.ts";
import type { Writer } from "../format/keys/writer.ts";
import { mayForget } from "../rules/counting.ts";
import { namesOf } from "../rules/death.ts";

/** All heads of a repository. */
export interface RepositoryState {
  /** The newest settings. */
  readonly settings: FoundSettings;
  /** Those that count, newest first within each chain. */
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
    heads.push(found);
    options.onHead?.(heads.length + refused.size);
  }
  const settings = await repository.settings(options);
  return { settings: newestSettings(heads) ?? settings, heads, refused: [...refused.values()] };
}

function newestSettings(heads: readonly FoundHead[]): FoundSettings | undefined {
  let newest: FoundSettings | undefined;
  for (const found of heads) {
    const { head, marker } = found;
    if (head.kind !== "repo" || head.name !== SETTINGS_CHAIN) continue;
    if (newest === undefined || compareMarkers(marker, newest.marker) < 0)
      newest = { ...found, head };
  }
  return newest;
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
