import { type Backend, type Identity, identityFromSecretKey, wrapBackend } from "@idk/storage";
import type { BackupOptions } from "../../src/write/options.ts";
import type { PinnedRepository, Repository } from "../../src/repository/repository.ts";
import { filesystem } from "@idk/storage/filesystem";
import { headMemoryFile } from "../../src/repository/head-memory-file.ts";
import { join } from "node:path";
import { openRepository } from "../../src/repository/open.ts";
import { ownerKeyOf } from "../../src/format/keys/writer.ts";

/** What a process does that is killed: a backup of `source`, or a prune. */
export interface Killed {
  readonly command: "backup" | "prune";
  /** Has the store, the cache and what is remembered. */
  readonly work: string;
  readonly source: string;
  readonly pinned: PinnedRepository;
  /** The request at which it is killed, from 1; 0 for none. */
  readonly request: number;
  /** Whether the request has done its work by then. */
  readonly isDone: boolean;
}

/** Prune takes everything for older than its grace period, which is an hour. */
const LATER_MS = 2 * 3_600_000;

export const identity: Identity = identityFromSecretKey(new Uint8Array(32).fill(7));

export function optionsOf({ work, source }: Pick<Killed, "work" | "source">): BackupOptions {
  return {
    name: "home",
    paths: [Buffer.from(source)],
    recipients: [identity.recipient],
    cache: join(work, "cache/cache.sqlite"),
    compression: "none",
    workers: 0,
  };
}

/** Opens the repository of a folder. For a prune, the store's time now is later. */
export async function openAt(
  { work, pinned }: Pick<Killed, "work" | "pinned">,
  change: (backend: Backend) => Backend = (backend) => backend,
): Promise<Repository> {
  return openRepository({
    backend: change(filesystem(join(work, "store/repo"), { durability: "none" })),
    identities: [identity],
    writer: ownerKeyOf(identity),
    pinned,
    memory: headMemoryFile(join(work, "heads.json")),
  });
}

/** Shifts the store's time now, and leaves the times of what is stored. */
export function later(inner: Backend): Backend {
  return wrapBackend(inner, {
    currentTime:
      (time) =>
      async (...given) =>
        (await time(...given)) + LATER_MS,
  });
}
