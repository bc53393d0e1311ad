import { CborError, type CborItem, decodeCborT, encodeCborT } from "@idk/storage/blobs";
import type { Bucket, Key, ObjectRecord, Seq, Texts, Time } from "../../catalog/records.ts";

/*
 * What the sealed roots of a gateway are, besides content roots, which have no record. A record is
 * CBOR-T in the metadata of its root, under `s3`, with its MAC under `mac`. The content of the root is
 * that of an inline object, or belongs to the record, as said with each type.
 */

/** What all records have. */
interface Stored {
  /** The ID of the store that it was made for, so that it counts in no other. */
  readonly store: string;
}

/** An object. Its content is the object's, or a manifest (manifest.ts). */
export interface IdentityRecord extends Stored, Omit<ObjectRecord, "root"> {
  readonly type: "object";
  readonly bucket: Seq;
  readonly bucketName: string;
  readonly key: Key;
  /** The catalog that gave out the seq. */
  readonly catalog: string;
}

/** A bucket. No content. */
export interface BucketRecord extends Stored, Bucket {
  readonly type: "bucket";
}

/** Deletions; the content is a list of them. */
export interface TombstoneRecord extends Stored {
  readonly type: "tombstones";
}

/** A snapshot of the catalog; the content is a manifest. */
export interface SnapshotRecord extends Stored {
  readonly type: "snapshot";
  readonly catalog: string;
  /** Rows with a lower seq are in it, unless their write is listed in its manifest. */
  readonly seq: Seq;
  /** When it was begun, by the store's clock if it tells its time. */
  readonly time: Time;
}

/** A record of a root. */
export type RootRecord = IdentityRecord | BucketRecord | TombstoneRecord | SnapshotRecord;

type WithoutStore<Item> = Item extends unknown ? Omit<Item, "store"> : never;
/** A record before it is known which store it is made for. */
export type NewRecord = WithoutStore<RootRecord>;

/** Encodes a record. The same record always gives the same bytes. */
export function encodeRecord(record: RootRecord): Uint8Array<ArrayBuffer> {
  const fields: Record<string, CborItem> = {};
  for (const [name, value] of Object.entries(record)) fields[name] = cborOf(value);
  return encodeCborT(new Map(Object.entries(fields)));
}

/**
 * Decodes a record. Its shape is checked, although only records with a valid MAC are decoded, because
 * a later version may have written it.
 *
 * @throws CborError if it is not a record of this version
 */
export function decodeRecord(bytes: Uint8Array): RootRecord {
  const fields = mapOf(decodeCborT(bytes, { itemsMax: 20_000 }));
  const store = textOf(fields.get("store"));
  switch (textOf(fields.get("type"))) {
    case "object":
      return {
        type: "object",
        store,
        bucket: integerOf(fields.get("bucket")),
        bucketName: textOf(fields.get("bucketName")),
        key: bytesOf(fields.get("key")),
        catalog: textOf(fields.get("catalog")),
        seq: integerOf(fields.get("seq")),
        kind: fields.get("kind") === "inline" ? "inline" : "manifest",
        size: integerOf(fields.get("size")),
        etag: textOf(fields.get("etag")),
        time: integerOf(fields.get("time")),
        checksums: textsOf(fields.get("checksums")),
        headers: textsOf(fields.get("headers")),
        tags: tagsOf(fields.get("tags")),
      };
    case "bucket":
      return {
        type: "bucket",
        store,
        id: integerOf(fields.get("id")),
        name: textOf(fields.get("name")),
        owner: textOf(fields.get("owner")),
        region: textOf(fields.get("region")),
        time: integerOf(fields.get("time")),
      };
    case "tombstones":
      return { type: "tombstones", store };
    case "snapshot":
      return {
        type: "snapshot",
        store,
        catalog: textOf(fields.get("catalog")),
        seq: integerOf(fields.get("seq")),
        time: integerOf(fields.get("time")),
      };
    default:
      throw new CborError("this type of record is not known");
  }
}

/** Texts by name become a map; everything else is what it is. */
export function cborOf(value: unknown): CborItem {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) {
    return value as CborItem;
  }
  if (Array.isArray(value)) return value.map(cborOf);
  return new Map(Object.entries(value).map(([name, inner]) => [name, cborOf(inner)]));
}

export function mapOf(item: CborItem | undefined): ReadonlyMap<string, CborItem> {
  if (item instanceof Map) return item;
  throw wrong("a map");
}

export function listOf(item: CborItem | undefined): readonly CborItem[] {
  if (Array.isArray(item)) return item as readonly CborItem[];
  throw wrong("a list");
}

export function integerOf(item: CborItem | undefined): number {
  if (typeof item === "number" && item >= 0) return item;
  throw wrong("an integer");
}

export function textOf(item: CborItem | undefined): string {
  if (typeof item === "string") return item;
  throw wrong("text");
}

/** A copy, because decoded byte strings are views of a buffer. */
export function bytesOf(item: CborItem | undefined): Uint8Array<ArrayBuffer> {
  if (item instanceof Uint8Array) return new Uint8Array(item);
  throw wrong("bytes");
}

export function textsOf(item: CborItem | undefined): Texts {
  const texts: Record<string, string> = Object.create(null);
  for (const [name, value] of mapOf(item)) texts[name] = textOf(value);
  return { ...texts };
}

export function tagsOf(item: CborItem | undefined): ObjectRecord["tags"] {
  return listOf(item).map((tag) => {
    const [key, value] = listOf(tag);
    return [textOf(key), textOf(value)];
  });
}

function wrong(what: string): CborError {
  return new CborError(`a record has something else in place of ${what}`);
}
