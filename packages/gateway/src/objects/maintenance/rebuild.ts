import { type Address, type Backend, createStore, type Identity, loadNaCl } from "@idk/storage";
import { toHex } from "@idk/storage/blobs";
import type { Catalog } from "../../catalog/catalog.ts";
import type { Bucket, ExportedRow } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import { macKeysOf } from "../identity/mac.ts";
import { decodeDeletions, decodeManifest } from "../identity/manifest.ts";
import { type AddressSet, createAddressSet } from "./address-set.ts";
import { inParallel } from "./in-parallel.ts";
import { type InspectedBlob, inspectRoot, type Inspector, isMissing } from "./inspect-root.ts";
import { findSnapshots, type FoundSnapshot } from "./lineage.ts";
import { decodeRows } from "./rows.ts";
import { createRowSpool, type RowSpool } from "./row-spool.ts";

/** Options of `rebuildCatalog`. */
export interface RebuildOptions {
  /** The store's backend, below `s3/`. */
  readonly backend: Backend;
  /** A new one, without buckets. */
  readonly catalog: Catalog;
  /** Those that open the roots. */
  readonly identities: readonly Identity[];
  /** The key of gateways without an identity, if they were given one that is not of these identities. */
  readonly macKey?: Uint8Array | undefined;
  /** Uses the newest snapshot, and opens only what was stored since. By default true. */
  readonly useSnapshot?: boolean | undefined;
  /** For a file of rows, which is deleted; by default the system's folder for such files. */
  readonly temporaryFolder?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A blob that is at fault, or an object. */
export interface RebuildFault {
  readonly address: Address;
  readonly message: string;
}

/** What a rebuild found. */
export interface RebuildReport {
  readonly buckets: number;
  readonly objects: number;
  /** The snapshot that was used. */
  readonly snapshot: Address | undefined;
  /** Roots that open, but were not made by a gateway. They are refused. At most 1,000. */
  readonly forged: readonly Address[];
  readonly forgedCount: number;
  /** Blobs that could not be read or opened, and objects whose content is missing. At most 1,000. */
  readonly faults: readonly RebuildFault[];
  readonly faultCount: number;
  /**
   * False if blobs could not be read or opened: they may be objects. The catalog is then marked as
   * incomplete, and nothing is deleted by it until it is rebuilt, or accepted.
   */
  readonly isComplete: boolean;
}

const REPORTED_MAX = 1000;
const BATCH = 500;
/** What was stored so long before a snapshot may have been committed after it. */
const MARGIN = 60 * 60_000;

/** What the store says. */
interface Survey {
  readonly listed: AddressSet;
  readonly objects: RowSpool;
  readonly buckets: Map<number, Bucket>;
  /** Buckets as far as their objects name them. */
  readonly fallbacks: Map<number, Bucket>;
  /** The highest seq that a tombstone names, by bucket and key. */
  readonly deleted: Map<string, number>;
  readonly deletedBuckets: Set<number>;
  /** The highest seq that any blob names. */
  highest: number;
}

/**
 * Makes a catalog from what is sealed in the store.
 *
 * @throws S3Error `InvalidRequest` if the catalog is not new
 */
export async function rebuildCatalog(options: RebuildOptions): Promise<RebuildReport> {
  const { backend, catalog, identities, macKey, useSnapshot = true, signal } = options;
  if ((await catalog.listBuckets({ limit: 1 })).length > 0) {
    throw new S3Error(
      "InvalidRequest",
      "A catalog is rebuilt into a new one: this one has buckets.",
    );
  }
  const macKeys = macKeysOf(identities, macKey);
  if (macKeys === undefined) throw new S3Error("InvalidRequest", "A rebuild needs an identity.");
  await catalog.setComplete(false);

  const roots = createStore({ backend, identities, workers: 0 });
  const inspector = { backend, naCl: await loadNaCl(), identities, macKeys, roots };
  const counts = { forgedCount: 0, faultCount: 0, unread: 0, buckets: 0, objects: 0 };
  const forged: Address[] = [];
  const faults: RebuildFault[] = [];
  const fault = (address: Address, message: string): void => {
    counts.faultCount += 1;
    if (faults.length < REPORTED_MAX) faults.push({ address, message });
  };

  const survey: Survey = {
    listed: createAddressSet(),
    objects: await createRowSpool(options.temporaryFolder),
    buckets: new Map(),
    fallbacks: new Map(),
    deleted: new Map(),
    deletedBuckets: new Set(),
    highest: 0,
  };
  try {
    const newest = await usableSnapshot(inspector, signal);
    const snapshot = useSnapshot ? newest : undefined;
    const since = snapshot === undefined ? 0 : snapshot.time - MARGIN;
    await inParallel(backend.list("", { signal }), async ({ name, size, storedAt }) => {
      const address = name as Address;
      survey.listed.add(address);
      if (storedAt !== undefined && storedAt < since) return;
      const inspected = await inspectRoot(inspector, { address, size }, signal);
      if (inspected.kind === "forged") {
        counts.forgedCount += 1;
        if (forged.length < REPORTED_MAX) forged.push(address);
      } else if (inspected.kind === "unknown") {
        // A blob that was deleted meanwhile is not there.
        if (isMissing(inspected.error)) return;
        counts.unread += 1;
        fault(address, inspected.error.message);
      } else if (inspected.kind === "record") {
        try {
          await note(survey, address, inspected);
        } catch (error) {
          counts.unread += 1;
          fault(address, error instanceof Error ? error.message : String(error));
        }
      }
    });

    const rows = (): AsyncIterable<ExportedRow> => allRows(roots, snapshot, survey, signal);
    Object.assign(counts, await importAll(catalog, survey, rows));
    await continueSequence(catalog, Math.max(survey.highest, newest?.seq ?? 0));
    for await (const row of catalog.exportRows()) {
      if (row.type !== "object") continue;
      const missing = row.contents.find(({ address }) => !survey.listed.has(address));
      if (missing) fault(row.object.root, `its content root ${missing.address} is missing`);
    }
    if (newest !== undefined) {
      await catalog.recordSnapshot({ seq: newest.seq, time: newest.time, name: newest.address });
    }
    const isComplete = counts.unread === 0;
    await catalog.setComplete(isComplete);
    const { buckets, objects, forgedCount, faultCount } = counts;
    return {
      buckets,
      objects,
      snapshot: snapshot?.address,
      forged,
      forgedCount,
      faults,
      faultCount,
      isComplete,
    };
  } finally {
    await survey.objects.close();
  }
}

/** The newest snapshot whose rows can all be read. */
async function usableSnapshot(
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<FoundSnapshot | undefined> {
  for await (const found of findSnapshots(inspector, signal)) {
    try {
      for await (const row of snapshotRows(inspector.roots, found, signal)) void row;
      return found;
    } catch {
      signal?.throwIfAborted();
      // An older one takes longer, and leads to the same.
    }
  }
  return undefined;
}

async function* snapshotRows(
  roots: Inspector["roots"],
  { manifest }: FoundSnapshot,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExportedRow> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const { address } of manifest.contents) {
      yield* (await roots.get(address, { signal })).chunks();
    }
  }
  yield* decodeRows(bytes());
}

/** Notes what a record says. */
async function note(
  survey: Survey,
  root: Address,
  { record, content }: Extract<InspectedBlob, { kind: "record" }>,
): Promise<void> {
  const noteSeq = (seq: number): void => {
    survey.highest = Math.max(survey.highest, seq);
  };
  if (record.type === "bucket") {
    const { type: _, ...bucket } = record;
    noteSeq(bucket.id);
    survey.buckets.set(bucket.id, bucket);
  } else if (record.type === "tombstones") {
    for (const { bucket, key, seq } of decodeDeletions(content)) {
      noteSeq(seq);
      if (key === undefined) survey.deletedBuckets.add(bucket);
      else {
        const name = nameOf(bucket, key);
        survey.deleted.set(name, Math.max(seq, survey.deleted.get(name) ?? 0));
      }
    }
  } else if (record.type === "object") {
    const { type, bucketName, catalog: _, ...object } = record;
    noteSeq(object.seq);
    const { contents, parts } =
      object.kind === "inline" ? { contents: [], parts: [] } : decodeManifest(content);
    await survey.objects.add({
      type,
      object: { ...object, root, parts: parts.length },
      contents,
      parts,
    });
    // If the bucket's own blob was never stored.
    const { bucket: id, time } = object;
    survey.fallbacks.set(id, { id, name: bucketName, owner: "", region: "", time });
  } else noteSeq(record.seq);
}

function nameOf(bucket: number, key: Uint8Array): string {
  return `${bucket}/${toHex(key)}`;
}

/** Rows of the snapshot that are still in the store, then those that were stored since. */
async function* allRows(
  roots: Inspector["roots"],
  snapshot: FoundSnapshot | undefined,
  { listed, objects }: Survey,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExportedRow> {
  if (snapshot !== undefined) {
    for await (const row of snapshotRows(roots, snapshot, signal)) {
      // It was replaced or deleted since.
      if (row.type === "object" && !listed.has(row.object.root)) continue;
      if (row.type === "part" && !row.contents.every(({ address }) => listed.has(address)))
        continue;
      yield row;
    }
  }
  yield* objects.rows();
}

/** Imports the rows that were not deleted, buckets first. */
async function importAll(
  catalog: Catalog,
  survey: Survey,
  rows: () => AsyncIterable<ExportedRow>,
): Promise<{ buckets: number; objects: number }> {
  const { deleted, deletedBuckets } = survey;
  const buckets = new Map(survey.buckets);
  for await (const row of rows()) if (row.type === "bucket") buckets.set(row.bucket.id, row.bucket);
  for (const [id, bucket] of survey.fallbacks) if (!buckets.has(id)) buckets.set(id, bucket);
  /** Of two buckets of a name, the later one: the other one was deleted. */
  const byName = new Map<string, Bucket>();
  for (const bucket of buckets.values()) {
    if (deletedBuckets.has(bucket.id)) continue;
    const other = byName.get(bucket.name);
    if (other === undefined || other.id < bucket.id) byName.set(bucket.name, bucket);
  }
  const present = new Set([...byName.values()].map(({ id }) => id));
  const uploads = new Set<number>();

  let batch: ExportedRow[] = [];
  const add = async (row: ExportedRow): Promise<void> => {
    batch.push(row);
    if (batch.length === BATCH) await flush();
  };
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await catalog.importRows(batch);
    batch = [];
  };
  for (const bucket of byName.values()) await add({ type: "bucket", bucket });
  for await (const row of rows()) {
    if (row.type === "object") {
      const { bucket, key, seq } = row.object;
      if (present.has(bucket) && seq > (deleted.get(nameOf(bucket, key)) ?? 0)) await add(row);
    } else if (row.type === "upload" && present.has(row.upload.bucket)) {
      uploads.add(row.upload.seq);
      await add(row);
    } else if (row.type === "part" && uploads.has(row.upload)) await add(row);
  }
  await flush();

  let objects = 0;
  for await (const row of catalog.exportRows()) if (row.type === "object") objects += 1;
  return { buckets: present.size, objects };
}

/**
 * Makes the sequence continue above every seq in the store, also those of tombstones, which would
 * otherwise bury new objects at the next rebuild: as if a bucket had had the next number.
 */
async function continueSequence(catalog: Catalog, seq: number): Promise<void> {
  const id = seq + 1;
  const bucket = { id, name: `rebuild-${id}`, owner: "", region: "", time: 0 };
  await catalog.importRows([{ type: "bucket", bucket }]);
  await catalog.deleteBucket(id, 0);
}
