import { type Identity, type NaCl, StorageError } from "@idk/storage";
import { openRoot, ROOT_BLOB_MAX } from "@idk/storage/blobs";
import type { HeadOptions, Repository } from "../repository/repository.ts";
import { FORGETTING_CHAIN, chainOf } from "../format/names/chain.ts";
import { SECRET_LENGTH } from "../format/limits.ts";
import type { SessionId } from "../format/names/identifiers.ts";
import type { Snapshot } from "../format/records/snapshot.ts";
import { decodeSessionSecrets } from "../format/records/keys.ts";
import { isFaultForNow, isFaultOfOne, newestMarkers, readHead } from "../repository/find-heads.ts";
import { readRecord } from "../repository/records.ts";
import { whyNotAllowed } from "../rules/counting.ts";

/** Opens the secrets of a snapshot's sessions. */
export interface SessionSecretsOf {
  /**
   * The secret of a session, 32 bytes. Secret.
   *
   * @throws StorageError `no-match` if no identity opens it and nobody has given its key; `tree` if the
   *   snapshot has no key for it
   */
  secretOf(session: SessionId, signal?: AbortSignal): Promise<Uint8Array>;
}

/** The secrets of a snapshot's sessions: from its own keys, and otherwise from heads of kind `keys`. */
export function sessionSecrets(
  repository: Repository,
  snapshot: Snapshot,
  options: HeadOptions = {},
): SessionSecretsOf {
  const opened = new Map<SessionId, Uint8Array>();
  let given: Given | undefined;
  const nextGiven = async (from: Given) => {
    try {
      return await from.next();
    } catch (error) {
      // So that a later call begins anew and does not find an end that is none.
      given = undefined;
      throw error;
    }
  };
  return {
    async secretOf(session, signal) {
      const known = opened.get(session);
      if (known !== undefined) return known;
      const blob = snapshot.sessionKeys.get(session);
      if (blob === undefined) {
        throw new StorageError("tree", `the snapshot has no key of the session ${session}`);
      }
      const own = openSessionKey(repository, session, blob);
      if (own !== undefined) {
        opened.set(session, own);
        return own;
      }
      given ??= givenSecrets(repository, { ...options, signal });
      for (let isDone = false; !isDone;) {
        const next = await nextGiven(given);
        isDone = next.done === true;
        // The newest that has it, and only what this snapshot needs: there may be very many.
        for (const [id, secret] of next.value ?? []) {
          if (snapshot.sessionKeys.has(id) && !opened.has(id))
            opened.set(id, new Uint8Array(secret));
        }
        // Another call may have read the head that has it.
        const found = opened.get(session);
        if (found !== undefined) return found;
      }
      throw new StorageError(
        "no-match",
        `none of the identities opens the key of the session ${session}: someone who can read ` +
          "this snapshot has to give its keys to the readers that joined later",
      );
    },
  };
}

type Given = AsyncGenerator<ReadonlyMap<SessionId, Uint8Array>, undefined>;

/** Opens a session key blob; undefined if it is for none of the identities. */
function openSessionKey(
  { naCl, identities }: { readonly naCl: NaCl; readonly identities: readonly Identity[] },
  session: SessionId,
  blob: Uint8Array,
): Uint8Array | undefined {
  if (blob.length > ROOT_BLOB_MAX) throw notAKey(session);
  let content: Uint8Array | undefined;
  try {
    // A copy, because it is opened in place.
    ({ content } = openRoot(naCl, new Uint8Array(blob), identities));
  } catch (error) {
    if (error instanceof StorageError && error.code === "no-match") return undefined;
    throw error;
  }
  if (content?.length !== SECRET_LENGTH) throw notAKey(session);
  return new Uint8Array(content);
}

function notAKey(session: SessionId): StorageError {
  return new StorageError("tree", `what the snapshot has as the key of ${session} is none`);
}

/** The secrets that readers gave to those who joined later, newest first. */
async function* givenSecrets(repository: Repository, options: HeadOptions): Given {
  const { backend, pinned, clock } = repository;
  const { signal, onRefused } = options;
  const settings = await repository.settings(options);
  const now = await clock.now(signal);
  const chain = chainOf(pinned.repository, FORGETTING_CHAIN);
  for await (const listed of newestMarkers(backend, chain, now, signal)) {
    const found = await readHead(repository, pinned, listed, now, options);
    if ("error" in found) {
      onRefused?.(found);
      continue;
    }
    const { head } = found;
    const why = whyNotAllowed(found, settings.head.settings, pinned.owner);
    if (head.kind !== "keys" || why !== undefined) continue;
    try {
      const content = await readRecord(repository, "keys", head.keys, signal);
      const record = decodeSessionSecrets(content);
      if (record.repository === pinned.repository) yield record.secrets;
    } catch (error) {
      // Older ones may still have the key.
      const isFault = options.reportUnreadable ? isFaultForNow : isFaultOfOne;
      if (!isFault(error)) throw error;
      onRefused?.({ ...listed, error });
    }
  }
  return undefined;
}
