import type { FoundSnapshot, HeadOptions, Repository } from "../../repository/repository.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import type { Snapshot } from "../../format/records/snapshot.ts";
import { StorageError } from "@idk/storage";
import { createHash } from "node:crypto";
import { isFaultOfOne } from "../../repository/find-heads.ts";
import { sessionSecrets } from "../../read/session-secrets.ts";

/** Opens the keys of the sessions that snapshots need: what others have opened proves nothing of a copy. */
export interface KeyChecker {
  /**
   * Opens keys that no snapshot before had, and compares each with what others have for the session.
   *
   * @param sessions that the snapshot's packs are of
   * @param onFault is told of the first key that is for none of the identities, and of the first other fault
   * @throws StorageError what the store throws
   */
  check(
    found: FoundSnapshot,
    snapshot: Snapshot,
    sessions: ReadonlySet<SessionId>,
    onFault: (session: SessionId, error: StorageError) => Promise<void>,
  ): Promise<void>;
}

/** Keys that are remembered, at about 300 bytes each, until this begins anew. */
const REMEMBERED_MAX = 2 ** 16;

/** A secret as a snapshot has it. */
interface Opened {
  /** Its hash: a secret is in memory no longer than needed. */
  readonly hash: string;
  /** The head that has it. */
  readonly by: string;
}

export function keyChecker(repository: Repository, options: HeadOptions): KeyChecker {
  /** By session and blob: the hash of the secret. */
  const opened = new Map<string, string>();
  const bySession = new Map<SessionId, Opened>();
  return {
    async check({ marker }, snapshot, sessions, onFault) {
      const secrets = sessionSecrets(repository, snapshot, options);
      const compare = async (session: SessionId): Promise<void> => {
        const key = hashOf(session, snapshot.sessionKeys.get(session) ?? new Uint8Array(0));
        let hash = opened.get(key);
        if (hash === undefined) {
          hash = hashOf(session, await secrets.secretOf(session, options.signal));
          if (opened.size >= REMEMBERED_MAX) opened.clear();
          opened.set(key, hash);
        }
        const other = bySession.get(session);
        if (other !== undefined && other.hash !== hash) {
          throw new StorageError(
            "tree",
            `it is another than that of the snapshot of the head ${other.by}: one of the two opens nothing`,
          );
        }
        if (other !== undefined) return;
        if (bySession.size >= REMEMBERED_MAX) bySession.clear();
        bySession.set(session, { hash, by: marker.address });
      };
      const told = new Set<boolean>();
      for (const session of sessions) {
        try {
          await compare(session);
        } catch (error) {
          if (!isFaultOfOne(error)) throw error;
          const isClosed = error.code === "no-match";
          if (told.has(isClosed)) continue;
          told.add(isClosed);
          await onFault(session, error);
        }
      }
    },
  };
}

function hashOf(session: SessionId, bytes: Uint8Array): string {
  return createHash("sha256").update(session).update(bytes).digest("base64");
}
