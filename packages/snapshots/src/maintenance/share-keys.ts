import { FORGETTING_CHAIN, chainOf } from "../format/names/chain.ts";
import type { FoundSnapshot, HeadOptions, Repository } from "../repository/repository.ts";
import type { Marker } from "../format/names/marker.ts";
import { StorageError } from "@idk/storage";
import type { KeysHead } from "../format/records/head.ts";
import type { SessionId } from "../format/names/identifiers.ts";
import { changeSettings } from "../repository/settings.ts";
import { encodeSessionSecrets } from "../format/records/keys.ts";
import { headsBefore, putHead } from "../repository/put-head.ts";
import { countBlobs } from "./reach-reader.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";
import { openSnapshot } from "../read/open-snapshot.ts";
import { sealRecord } from "../repository/records.ts";
import { sessionSecrets } from "../read/session-secrets.ts";
import { treeChecker } from "./check/check-trees.ts";

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
  /** Sessions that the snapshots name and have no pack of that could be read: not given. */
  readonly unused: number;
  /** Snapshots, newer than those whose sessions were given, that cannot be read whole. */
  readonly skipped: readonly SkippedSnapshot[];
  /** The heads written; none if there are no snapshots. */
  readonly heads: readonly Marker[];
}

/** A snapshot that is missing or malformed. */
export interface SkippedSnapshot {
  readonly found: FoundSnapshot;
  readonly error: StorageError;
}

/**
 * Lets readers that join now read the repository: seals the settings to them too, and the secrets of all
 * sessions that the newest snapshots need, whose keys later snapshots copy unopened. They can read what is
 * backed up from then on with their keys among the recipients; the heads of earlier snapshots stay closed
 * to them.
 *
 * The key of a session says nothing about the repository that the session is of, so a writer could name
 * those of another one that the owner can read: only such are given as open a pack of the snapshot's tree.
 * This reads all metadata packs of the newest snapshots, and at most one data pack for each session.
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
  const seal = async () =>
    changeSettings(repository, recipients, (same) => same, { ...options, forReaders: true });
  // First, because they decide which heads count.
  const sealed = await seal();
  if (writer === undefined) throw new StorageError("usage", "sharing keys needs the owner's key");

  const secrets = new Map<SessionId, Uint8Array>();
  const sessions = { unopened: new Set<SessionId>(), unused: new Set<SessionId>() };
  const skipped: SkippedSnapshot[] = [];
  const blobCount = await countBlobs(repository, signal);
  const chains = new Set<string>();
  for await (const found of repository.heads({ ...options, reportUnreadable: false })) {
    const { head } = found;
    if (head.kind !== "snap" || chains.has(head.name)) continue;
    const snap = { ...found, head };
    try {
      await addSecrets(repository, snap, { secrets, ...sessions, blobCount }, options);
      chains.add(head.name);
    } catch (error) {
      if (!isFaultOfOne(error)) throw error;
      skipped.push({ found: snap, error });
    }
  }
  const [unopened, unused] = [sessions.unopened, sessions.unused].map(
    (some) => [...some].filter((session) => !secrets.has(session)).length,
  );

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
      ...(await headsBefore(backend, chain, before ? [before.marker] : [], now, signal)),
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
  // This may have taken long, and what other owners have changed or joined since then is not for these readers.
  const inForce = await repository.settings({ ...options, refresh: true });
  if (inForce.payloadHash !== sealed.payloadHash) await seal();
  return {
    chains: chains.size,
    sessions: secrets.size,
    unopened: unopened!,
    unused: unused!,
    skipped,
    heads,
  };
}

/**
 * Adds the secrets of a snapshot's sessions that open a pack of its tree.
 *
 * @throws StorageError the first fault of the tree, after what was found is added
 */
async function addSecrets(
  repository: Repository,
  found: FoundSnapshot,
  into: {
    readonly secrets: Map<SessionId, Uint8Array>;
    readonly unopened: Set<SessionId>;
    readonly unused: Set<SessionId>;
    readonly blobCount: number;
  },
  options: HeadOptions,
): Promise<void> {
  const { signal } = options;
  const { snapshot, tree, packs } = await openSnapshot(repository, found, options);
  const opened = sessionSecrets(repository, snapshot, options);
  const toUse = new Map<SessionId, Uint8Array>();
  for (const session of snapshot.sessionKeys.keys()) {
    try {
      toUse.set(session, await opened.secretOf(session, signal));
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== "no-match") throw error;
      into.unopened.add(session);
    }
  }
  const trees = treeChecker(into.blobCount);
  let fault: StorageError | undefined;
  const findings = {
    onFault: async (_: Uint8Array, error: StorageError) => {
      fault ??= error;
    },
    isBad: () => false,
    onFile: async () => undefined,
  };
  const { packs: needed } = await trees.check(snapshot, tree, findings, signal);
  for (const sort of ["meta", "data"] as const) {
    for (const number of needed()) {
      const row = trees.packs.row(number);
      const secret = toUse.get(row.session);
      if (secret === undefined || trees.packs.sortOf(number) !== sort) continue;
      try {
        await (sort === "meta" ? packs.metadata(row, signal) : packs.data(row, { signal }));
      } catch (error) {
        if (!isFaultOfOne(error)) throw error;
        continue;
      }
      into.secrets.set(row.session, secret);
      toUse.delete(row.session);
    }
  }
  for (const session of toUse.keys()) into.unused.add(session);
  if (fault !== undefined) throw fault;
}
