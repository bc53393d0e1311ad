import { FORGOTTEN_MAX } from "../../format/limits.ts";
import { FORGETTING_CHAIN, chainOf } from "../../format/names/chain.ts";
import type { Marker } from "../../format/names/marker.ts";
import type { ForgettingHead } from "../../format/records/head.ts";
import type { HeadOptions, Repository } from "../../repository/repository.ts";
import { StorageError } from "@idk/storage";
import { mayForget, whyNotAllowed } from "../../rules/counting.ts";
import { headsBefore, putHead } from "../../repository/put-head.ts";
import type { RepositoryState } from "../repository-state.ts";
import { namesOf } from "../../rules/death.ts";

/** Options of everything that writes heads of kind `forget` or `unforget`. */
export interface ForgettingOptions extends HeadOptions {
  /** Who can read the heads: all readers, and the owner's own identity. */
  readonly recipients: readonly string[];
  /** Changes nothing. */
  readonly dryRun?: boolean | undefined;
  readonly message?: string | undefined;
}

/**
 * The head that this machine would write now, without markers and the heads before it.
 *
 * @throws StorageError `usage` if it has no key to write with
 */
export function forgettingHead(
  { writer, pinned, backend }: Repository,
  kind: ForgettingHead["kind"],
  now: number,
  message: string | undefined,
): ForgettingHead {
  if (writer === undefined) {
    throw new StorageError(
      "usage",
      `${backend.description} is opened without a key to sign with: forgetting needs one`,
    );
  }
  const { repository } = pinned;
  return {
    kind,
    repository,
    chain: chainOf(repository, FORGETTING_CHAIN),
    name: FORGETTING_CHAIN,
    generation: now,
    previous: [],
    time: now,
    writer: writer.writer,
    expectedSeconds: null,
    message: message ?? null,
    tags: [],
    markers: [],
  };
}

/** Which heads this head may name; an error for a head that does not count at all. */
export function permissionOf(
  { pinned }: Repository,
  { settings, heads }: RepositoryState,
  head: ForgettingHead,
): (marker: Marker) => boolean {
  const rules = settings.head.settings;
  const stored = {
    marker: { chain: head.chain, generation: head.generation, address: settings.marker.address },
    head,
    payloadHash: "",
  };
  if (whyNotAllowed(stored, rules, pinned.owner) !== undefined) {
    throw new StorageError(
      "usage",
      `${head.writer} may not forget anything in this repository: use the owner's key, or let the ` +
        "owner allow it",
    );
  }
  const names = namesOf(heads);
  return mayForget(head, rules, pinned.owner, (chain) => names.get(chain));
}

/**
 * Writes heads of kind `forget` or `unforget`, each of at most 8,192 markers and durable before the next.
 *
 * @param draft as of `forgettingHead`
 * @param deadline the store's time, in milliseconds, until which all have to be stored
 * @returns their markers
 * @throws StorageError `unavailable` if it took longer
 */
export async function writeForgetting(
  repository: Repository,
  draft: ForgettingHead,
  markers: readonly Marker[],
  options: ForgettingOptions,
  deadline: number = Infinity,
): Promise<Marker[]> {
  const { backend, writer } = repository;
  const { signal, recipients } = options;
  const written: Marker[] = [];
  for (let at = 0; at < markers.length; at += FORGOTTEN_MAX) {
    const now = await backend.currentTime(signal ? { signal } : {});
    const newest = await repository.newest(FORGETTING_CHAIN, options);
    const head: ForgettingHead = {
      ...draft,
      ...(await headsBefore(backend, draft.chain, newest ? [newest.marker] : [], now, signal)),
      time: now,
      markers: markers.slice(at, at + FORGOTTEN_MAX),
    };
    const by = deadline === Infinity ? undefined : { time: deadline, tooLate };
    const stored = await putHead(repository, writer!, head, recipients, { signal, deadline: by });
    written.push(stored.marker);
  }
  // So that a store that hides what was just forgotten is noticed.
  if (written.length > 0) await repository.newest(FORGETTING_CHAIN, options);
  return written;
}

function tooLate(): StorageError {
  return new StorageError(
    "unavailable",
    "the request to unforget took so long that a prune may have begun to delete the snapshots: make " +
      "sure that none runs, unforget again, and run check",
  );
}
