import type { Address } from "@idk/storage";
import type { Bucket, ExportedRow } from "../../catalog/records.ts";
import { decodeDeletions, decodeManifest } from "../identity/manifest.ts";
import type { AddressSet } from "../maintenance/address-set.ts";
import { type InspectedBlob, type Inspector, isTransient } from "../maintenance/inspect-root.ts";
import { findSnapshots, type FoundSnapshot } from "../maintenance/lineage.ts";
import { decodeRows } from "../maintenance/rows.ts";
import type { Candidates } from "./candidates.ts";
import type { RowSpool } from "./row-spool.ts";

/** What the store says. */
export interface Survey {
  readonly listed: AddressSet;
  readonly objects: RowSpool;
  readonly buckets: Map<number, Bucket>;
  /** Buckets as far as their objects name them. */
  readonly fallbacks: Map<number, Bucket>;
  readonly candidates: Candidates;
  readonly deletedBuckets: Set<number>;
  /** The highest seq that any blob names. */
  highest: number;
}

/** A snapshot, and the writes that it may not have although their seq is lower. */
export interface UsedSnapshot extends FoundSnapshot {
  readonly open: ReadonlySet<number>;
}

/**
 * The newest snapshot whose rows can all be read.
 *
 * @throws StorageError `unavailable`: without the newest one, a provider could bring back what it buries
 */
export async function usableSnapshot(
  inspector: Inspector,
  signal: AbortSignal | undefined,
): Promise<UsedSnapshot | undefined> {
  for await (const found of findSnapshots(inspector, signal)) {
    try {
      for await (const row of snapshotRows(inspector.roots, found, signal)) void row;
      return { ...found, open: new Set(found.manifest.writes) };
    } catch (error) {
      signal?.throwIfAborted();
      if (isTransient(error)) throw error;
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
export async function noteRecord(
  survey: Survey,
  root: Address,
  { record, content }: Extract<InspectedBlob, { kind: "record" }>,
): Promise<void> {
  const noteSeq = (seq: number): void => {
    survey.highest = Math.max(survey.highest, seq);
  };
  if (record.type === "bucket") {
    const { type: _, store: __, ...bucket } = record;
    noteSeq(bucket.id);
    survey.buckets.set(bucket.id, bucket);
  } else if (record.type === "tombstones") {
    for (const { bucket, key, seq, isVoid } of decodeDeletions(content)) {
      noteSeq(seq);
      if (isVoid === true) survey.candidates.declareVoid(seq);
      else if (key === undefined) survey.deletedBuckets.add(bucket);
      else survey.candidates.bury(bucket, key, seq);
    }
  } else if (record.type === "object") {
    const { type, bucketName, catalog: _, store: __, ...object } = record;
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

/**
 * Rows of the snapshot that are still in the store, then those that were stored since, as far as the
 * snapshot does not contradict them.
 */
export async function* allRows(
  roots: Inspector["roots"],
  snapshot: UsedSnapshot | undefined,
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
  for await (const row of objects.rows()) {
    if (row.type !== "object") continue;
    const { seq } = row.object;
    if (snapshot !== undefined && seq < snapshot.seq && !snapshot.open.has(seq)) continue;
    yield row;
  }
}
