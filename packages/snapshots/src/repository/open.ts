import { type Backend, type Identity, type NaClChoice, loadNaCl } from "@idk/storage";
import {
  type DiscoveredRepository,
  type PinnedRepository,
  type Repository,
  repositoryOf,
} from "./repository.ts";
import type { HeadMemory } from "./head-memory.ts";
import type { WriterKey } from "../format/keys/writer.ts";
import { recentHeads } from "./recent-heads.ts";
import { requireMarkers } from "./marker-backend.ts";
import { storeClock } from "./store-clock.ts";

/** Options of `openRepository`. */
export interface RepositoryOptions {
  /** Of the repository's location, the folder `repo/` of the store. */
  readonly backend: Backend;
  /** To read with. A host that only writes has none. */
  readonly identities?: readonly Identity[] | undefined;
  /** To sign with. */
  readonly writer?: WriterKey | undefined;
  /** What `discoverRepository` has just read of the same store is not read again. */
  readonly pinned: PinnedRepository | DiscoveredRepository;
  /** What this machine remembers of this repository, and of no other. */
  readonly memory: HeadMemory;
  readonly naCl?: NaClChoice | undefined;
}

/**
 * Opens a repository. Makes no request.
 *
 * @throws StorageError `usage` if the backend has no markers
 */
export async function openRepository({
  backend: given,
  identities = [],
  writer,
  pinned,
  memory,
  naCl = "auto",
}: RepositoryOptions): Promise<Repository> {
  const backend = requireMarkers(given);
  const { repository, owner, graceSeconds } = pinned;
  // Whoever has no identity cannot read what the one who discovered it could.
  const read = identities.length > 0 && "read" in pinned ? pinned.read : undefined;
  const parts = {
    backend,
    naCl: await loadNaCl(naCl),
    identities,
    pinned: { repository, owner, graceSeconds },
    writer,
    memory,
    clock: read?.clock ?? storeClock(backend),
    recent: read?.recent ?? recentHeads(),
  };
  return repositoryOf(parts, read);
}
