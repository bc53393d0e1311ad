import { FORGETTING_CHAIN, chainOf } from "../format/names/chain.ts";
import { type HeadOptions, type Repository } from "../repository/repository.ts";
import type { Marker } from "../format/names/marker.ts";
import { StorageError } from "@idk/storage";
import type { KeysHead } from "../format/records/head.ts";
import type { SessionId } from "../format/names/identifiers.ts";
import { changeSettings } from "../repository/settings.ts";
import { decodeSnapshot } from "../format/records/snapshot.ts";
import { encodeSessionSecrets } from "../format/records/keys.ts";
import { headsBefore, putHead } from "../repository/put-head.ts";
import { readRecord, sealRecord } from "../repository/records.ts";
import { sessionSecrets } from "../read/session-secrets.ts";

/** Secrets in one record, which has at most 2^20 bytes. */
const SECRETS_PER_RECORD = 10_000;

/** What a later reader was given. */
export interface SharedKeys {
  /** Chains whose newest snapshot has them. */
  readonly chains: number;
  /** Sessions whose secrets were given. */
  readonly sessions: number;
  /** Sessions that none of the identities here opens. */
  readonly unopened: number;
  /** The heads written; none if there are no snapshots. */
  readonly heads: readonly Marker[];
}

/**
 * Lets readers that join now read the repository: seals the settings to them too, and the secrets of all
 * sessions that the newest snapshots need, whose keys later snapshots copy unopened. They can read what is
 * backed up from then on with their keys among the recipients; the heads of earlier snapshots stay closed
 * to them.
 *
 * @param repository of the owner, with the identities of a reader
 * @param recipients all readers, old and new
 * @throws StorageError `usage` if this machine does not hold the owner's key, `rollback`
 */
export async function shareKeys(
  repository: Repository,
  recipients: readonly string[],
  options: HeadOptions = {},
): Promise<SharedKeys> {
  const { pinned, writer, backend, naCl } = repository;
  const { signal } = options;
  await changeSettings(repository, recipients, (settings) => settings, options);
  if (writer === undefined) throw new StorageError("usage", "sharing keys needs the owner's key");

  const secrets = new Map<SessionId, Uint8Array>();
  const unopened = new Set<SessionId>();
  const chains = new Set<string>();
  for await (const { head } of repository.heads(options)) {
    if (head.kind !== "snap" || chains.has(head.name)) continue;
    chains.add(head.name);
    const snapshot = decodeSnapshot(
      await readRecord(repository, "snapshot", head.snapshot, signal),
    );
    const opened = sessionSecrets(repository, snapshot, options);
    for (const session of snapshot.sessionKeys.keys()) {
      try {
        secrets.set(session, await opened.secretOf(session, signal));
      } catch (error) {
        if (!(error instanceof StorageError) || error.code !== "no-match") throw error;
        unopened.add(session);
      }
    }
  }

  const heads: Marker[] = [];
  const all = [...secrets];
  for (let at = 0; at < all.length; at += SECRETS_PER_RECORD) {
    const some = new Map(all.slice(at, at + SECRETS_PER_RECORD));
    const content = encodeSessionSecrets({ repository: pinned.repository, secrets: some });
    const { address, blob } = sealRecord(naCl, "keys", content, recipients);
    await backend.put(address, blob, { sha256: address, ...(signal && { signal }) });
    const before = await repository.newest(FORGETTING_CHAIN, options);
    const now = await backend.currentTime(signal ? { signal } : {});
    const chain = chainOf(pinned.repository, FORGETTING_CHAIN);
    const head: KeysHead = {
      kind: "keys",
      repository: pinned.repository,
      chain,
      name: FORGETTING_CHAIN,
      ...(await headsBefore(backend, chain, before?.marker, now, signal)),
      time: now,
      writer: writer.writer,
      expectedSeconds: null,
      message: null,
      tags: [],
      keys: address,
    };
    const { marker } = await putHead(repository, writer, head, recipients, { signal });
    heads.push(marker);
  }
  return { chains: chains.size, sessions: secrets.size, unopened: unopened.size, heads };
}
