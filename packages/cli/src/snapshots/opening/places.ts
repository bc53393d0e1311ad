import type { PinnedRepository } from "@idk/snapshots";
import type { StoreLocation } from "@idk/storage/url";
import { hash, toHex, utf8 } from "@idk/storage/blobs";
import { join } from "node:path";
import type { UserFolders } from "../../folders.ts";
import { storeKey } from "../../stores/store-key.ts";

/** Where this user's files about one repository are. */
export interface RepositoryPlaces {
  /** The newest heads that this machine has seen, without which a rollback goes unnoticed. */
  readonly heads: string;
  /** The folder of the caches of its chains. Without them a backup reads and sends everything. */
  readonly caches: string;
  /** The cache of the snapshots of a name. */
  cacheOf(name: string): string;
  /** How the last backup of a name ended. */
  lastRunOf(name: string): string;
}

/** A copy of a repository in another store has its own, because it may be behind. */
export function placesOf(
  { state, cache }: UserFolders,
  store: StoreLocation,
  { repository }: Pick<PinnedRepository, "repository">,
): RepositoryPlaces {
  const own = `${repository}-${digest(JSON.stringify(storeKey(store))).slice(0, 16)}`;
  return placesIn(join(cache, "snapshots", own), join(state, "repositories", `${own}.json`));
}

/** All in one folder, for a while. */
export function placesIn(
  caches: string,
  heads: string = join(caches, "heads.json"),
): RepositoryPlaces {
  const of = (name: string, suffix: string) =>
    join(caches, `${digest(name).slice(0, 32)}.${suffix}`);
  return {
    heads,
    caches,
    cacheOf: (name) => of(name, "sqlite"),
    lastRunOf: (name) => of(name, "json"),
  };
}

function digest(text: string): string {
  return toHex(hash(utf8(text)));
}
