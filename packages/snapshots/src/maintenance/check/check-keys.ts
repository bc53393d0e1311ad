import type { FoundSnapshot, HeadOptions, Repository } from "../../repository/repository.ts";
import { type OpenSnapshot, openSnapshot } from "../../read/open-snapshot.ts";
import type { PackReader } from "../../read/pack-reader.ts";
import type { PackTable } from "./pack-table.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import { StorageError } from "@idk/storage";
import { createHash } from "node:crypto";
import { isFaultOfOne } from "../../repository/find-heads.ts";
import { sessionSecrets } from "../../read/session-secrets.ts";

/** Opens the keys of the sessions that snapshots need: what others have opened proves nothing of a copy. */
export interface KeyChecker {
  /**
   * Opens keys that no snapshot before had, and compares each with what others have for the session. If two
   * differ, a pack of each is opened, because anyone who may write can give any session a wrong key.
   *
   * @param sessions that the snapshot's packs are of, each with the number of a pack that is there, if any is
   * @param onFault is told of the first key that is for none of the identities, and of the first other fault,
   *   also of a snapshot before
   * @throws StorageError what the store throws
   */
  check(
    opened: OpenSnapshot,
    sessions: ReadonlyMap<SessionId, number | undefined>,
    onFault: (found: FoundSnapshot, session: SessionId, error: StorageError) => Promise<void>,
  ): Promise<void>;
}

/** Keys that are remembered, at about 300 bytes each, until this begins anew. */
const REMEMBERED_MAX = 2 ** 16;

/** A secret as a snapshot has it. */
interface Opened {
  /** Its hash: a secret is in memory no longer than needed. */
  readonly hash: string;
  readonly found: FoundSnapshot;
  /** The number of a pack of the session that the snapshot needs. */
  readonly pack: number;
  /** Whether it has opened that pack. */
  readonly isProven: boolean;
}

/** @param table the packs of all trees */
export function keyChecker(
  repository: Repository,
  table: PackTable,
  options: HeadOptions,
): KeyChecker {
  const { signal } = options;
  /** By session and blob: the hash of the secret. */
  const known = new Map<string, string>();
  const bySession = new Map<SessionId, Opened>();
  /** The payloads of snapshots that were found to be wrong only later. */
  const accused = new Set<string>();

  async function opensPack(packs: PackReader, number: number): Promise<boolean> {
    const row = table.row(number);
    // Another snapshot may have referred to it as one of the other sort.
    for (const sort of ["metadata", "data"] as const) {
      try {
        await packs[sort](row, signal);
        return true;
      } catch (error) {
        if (!isFaultOfOne(error)) throw error;
      }
    }
    return false;
  }
  async function isRight({ isProven, found, pack }: Opened): Promise<boolean> {
    if (isProven) return true;
    const { packs } = await openSnapshot(repository, found, options);
    return opensPack(packs, pack);
  }

  return {
    async check({ found, snapshot, packs }, sessions, onFault) {
      const secrets = sessionSecrets(repository, snapshot, options);
      const compare = async (session: SessionId, pack: number | undefined): Promise<void> => {
        const key = hashOf(session, snapshot.sessionKeys.get(session) ?? new Uint8Array(0));
        let hash = known.get(key);
        if (hash === undefined) {
          hash = hashOf(session, await secrets.secretOf(session, signal));
          if (known.size >= REMEMBERED_MAX) known.clear();
          known.set(key, hash);
        }
        const other = bySession.get(session);
        if (pack === undefined || other?.hash === hash) return;
        if (other !== undefined && !(await opensPack(packs, pack))) throw differs(other);
        if (bySession.size >= REMEMBERED_MAX) bySession.clear();
        const own = { hash, found, pack, isProven: other !== undefined };
        bySession.set(session, own);
        if (other === undefined || accused.has(other.found.payloadHash)) return;
        if (await isRight(other)) return;
        accused.add(other.found.payloadHash);
        await onFault(other.found, session, differs(own));
      };
      const told = new Set<boolean>();
      for (const [session, pack] of sessions) {
        try {
          await compare(session, pack);
        } catch (error) {
          if (!isFaultOfOne(error)) throw error;
          const isClosed = error.code === "no-match";
          if (told.has(isClosed)) continue;
          told.add(isClosed);
          await onFault(found, session, error);
        }
      }
    },
  };
}

function differs({ found: { marker } }: Opened): StorageError {
  return new StorageError(
    "tree",
    `it is another than that of the snapshot of the head ${marker.address}, and does not open a pack of the session`,
  );
}

function hashOf(session: SessionId, bytes: Uint8Array): string {
  return createHash("sha256").update(session).update(bytes).digest("base64");
}
