import type { FoundSnapshot, HeadOptions, Repository } from "../../repository/repository.ts";
import { type Address, StorageError } from "@idk/storage";
import { type OpenSnapshot, openSnapshot } from "../../read/open-snapshot.ts";
import type { Row } from "../../format/packs/row.ts";
import { PACK_BLOB_MAX, type PackSort, openPack } from "../../format/packs/pack.ts";
import { type SessionSecretsOf, sessionSecrets } from "../../read/session-secrets.ts";
import type { PackTable } from "./pack-table.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import { fetchBlob, hash, toHex, utf8 } from "@idk/storage/blobs";
import { isFaultForNow } from "../../repository/find-heads.ts";

/** Opens the keys of the sessions that snapshots need: what others have opened proves nothing of a copy. */
export interface KeyChecker {
  /**
   * Opens keys that no snapshot before had, and compares each with what others have for the session. If two
   * differ, a pack of each is opened, because anyone who may write can give any session a wrong key. A pack
   * that is missing or damaged proves nothing of a key.
   *
   * @param sessions that the snapshot's packs are of, each with the numbers of packs that may be there. One of
   *   them is opened; the next if it is missing or damaged
   * @throws StorageError what the store throws
   */
  check(
    opened: OpenSnapshot,
    sessions: ReadonlyMap<SessionId, readonly number[]>,
    findings: KeyFindings,
  ): Promise<void>;
}

/** Is told of what is found, also of a snapshot before. */
export interface KeyFindings {
  /** The first key of a snapshot that is for none of the identities, and its first other fault. */
  readonly onFault: (
    found: FoundSnapshot,
    session: SessionId,
    error: StorageError,
  ) => Promise<void>;
  /** A pack that is missing or damaged, so that it proves nothing of a key. */
  readonly onPack: (found: FoundSnapshot, pack: Address, error: StorageError) => Promise<void>;
}

/** Packs of a session to try: in a part of the store, nobody knows which of the others are there. */
export const PACKS_TRIED = 4;

/** Keys that are remembered, at about 300 bytes each, until this begins anew. */
const REMEMBERED_MAX = 2 ** 16;

/** A secret as a snapshot has it. */
interface Opened {
  /** Its hash: a secret is in memory no longer than needed. */
  readonly hash: string;
  readonly found: FoundSnapshot;
  /** The numbers of packs of the session that the snapshot needs, 1 or more. */
  readonly packs: readonly number[];
  /** Whether it has opened one of them. */
  readonly isProven: boolean;
}

/** @param table the packs of all trees */
export function keyChecker(
  repository: Repository,
  table: PackTable,
  options: HeadOptions,
): KeyChecker {
  const { signal } = options;
  const { backend, naCl } = repository;
  /** By session and blob: the hash of the secret. */
  const known = new Map<string, string>();
  const bySession = new Map<SessionId, Opened>();
  /** The payloads of snapshots that were found to be wrong only later. */
  const accused = new Set<string>();
  let buffer: Uint8Array<ArrayBuffer> | undefined;

  const remember = (session: SessionId, opened: Opened): void => {
    if (bySession.size >= REMEMBERED_MAX) bySession.clear();
    bySession.set(session, opened);
  };
  /** Whether a snapshot's secret opens one of its packs; undefined if none of them proves anything. */
  async function opensPacks(
    secrets: SessionSecretsOf,
    { found, packs }: Pick<Opened, "found" | "packs">,
    findings: KeyFindings,
  ): Promise<boolean | undefined> {
    let secret: Uint8Array;
    try {
      secret = await secrets.secretOf(table.row(packs[0]!).session, signal);
    } catch (error) {
      if (!isFaultForNow(error)) throw error;
      return undefined;
    }
    for (const pack of packs) {
      const opens = await opensPack(secret, found, table.row(pack), findings);
      if (opens !== undefined) return opens;
    }
    return undefined;
  }
  /** Undefined if the pack proves nothing. */
  async function opensPack(
    secret: Uint8Array,
    found: FoundSnapshot,
    row: Row,
    { onPack }: KeyFindings,
  ): Promise<boolean | undefined> {
    let blob: Uint8Array;
    try {
      buffer ??= new Uint8Array(PACK_BLOB_MAX);
      blob = await fetchBlob(backend, row.address, buffer, { signal });
    } catch (error) {
      if (!isFaultForNow(error)) throw error;
      await onPack(found, row.address, error);
      return undefined;
    }
    const opens = (sort: PackSort): boolean => {
      try {
        // A copy, because it is opened in place.
        openPack(naCl, secret, sort, row, blob.slice());
        return true;
      } catch (error) {
        if (!isFaultForNow(error)) throw error;
        // Whatever comes after these is the fault of who sealed the pack with this secret.
        return error.code !== "format" && error.code !== "commit";
      }
    };
    // Another snapshot may have referred to it as one of the other sort.
    return opens("meta") || opens("data");
  }
  async function isRight(other: Opened, findings: KeyFindings): Promise<boolean | undefined> {
    if (other.isProven) return true;
    let opened: OpenSnapshot;
    try {
      opened = await openSnapshot(repository, other.found, options);
    } catch (error) {
      // It was there before: a prune has deleted it, or the check of records reports it.
      if (!isFaultForNow(error)) throw error;
      return undefined;
    }
    return opensPacks(sessionSecrets(repository, opened.snapshot, options), other, findings);
  }

  return {
    async check({ found, snapshot }, sessions, findings) {
      const { onFault } = findings;
      const secrets = sessionSecrets(repository, snapshot, options);
      const compare = async (session: SessionId, packs: readonly number[]): Promise<void> => {
        const key = hashOf(session, snapshot.sessionKeys.get(session) ?? new Uint8Array(0));
        let hash = known.get(key);
        if (hash === undefined) {
          hash = hashOf(session, await secrets.secretOf(session, signal));
          if (known.size >= REMEMBERED_MAX) known.clear();
          known.set(key, hash);
        }
        const other = bySession.get(session);
        if (packs.length === 0 || other?.hash === hash) return;
        const own = { hash, found, packs };
        if (other === undefined) return remember(session, { ...own, isProven: false });
        const isOwnRight = await opensPacks(secrets, own, findings);
        if (isOwnRight === false) throw differs(other);
        const isOtherRight = await isRight(other, findings);
        // What is proven is not forgotten for what is not.
        if (isOtherRight === true && isOwnRight !== true) {
          remember(session, { ...other, isProven: true });
        } else {
          remember(session, { ...own, isProven: isOwnRight === true });
        }
        if (isOtherRight !== false || accused.has(other.found.payloadHash)) return;
        accused.add(other.found.payloadHash);
        await onFault(other.found, session, differs(own));
      };
      const told = new Set<boolean>();
      for (const [session, packs] of sessions) {
        try {
          await compare(session, packs);
        } catch (error) {
          if (!isFaultForNow(error)) throw error;
          const isClosed = error.code === "no-match";
          if (told.has(isClosed)) continue;
          told.add(isClosed);
          await onFault(found, session, error);
        }
      }
    },
  };
}

function differs({ found: { marker } }: Pick<Opened, "found">): StorageError {
  return new StorageError(
    "tree",
    `it is another than that of the snapshot of the head ${marker.address}, and does not open a pack of the session`,
  );
}

function hashOf(session: SessionId, bytes: Uint8Array): string {
  return toHex(hash(utf8(session), bytes));
}
