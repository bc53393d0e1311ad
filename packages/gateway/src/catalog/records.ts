import type { Address } from "@idk/storage";

/**
 * A number of the catalog's one sequence, from 1 to 2^53 − 1. It orders the writes of a key, names a
 * version of an object, and identifies buckets, uploads and parts. No number is given out twice.
 */
export type Seq = number;

/** An object's key: 1 to 1,024 bytes of UTF-8, compared byte by byte, never normalised. */
export type Key = Uint8Array;

/** Milliseconds since 1970. */
export type Time = number;

/** A bucket. A bucket that is made again under the same name has another `id`. */
export interface Bucket {
  readonly id: Seq;
  readonly name: string;
  /** The access key that made it, or whatever the gateway calls its owners. */
  readonly owner: string;
  readonly region: string;
  readonly time: Time;
}

/** A blob that contains a piece of an object's content. The pieces in their order are the content. */
export interface ContentRoot {
  readonly address: Address;
  /** Bytes of content in it. */
  readonly size: number;
  /** MD5 of that content, as 32 lowercase hexadecimal digits. */
  readonly md5: string;
}

/** A content root of a stored object or part, with the number of the part that it belongs to. */
export interface PlacedRoot extends ContentRoot {
  /** The part's number, 1 for an object that was not uploaded in parts. */
  readonly part: number;
}

/** Small texts by name: headers (`content-type`, `x-amz-meta-…`), checksums (`crc32`, …). */
export type Texts = Readonly<Record<string, string>>;

/** What an object or a part is besides its content. */
export interface Attributes {
  /** Bytes of content. */
  readonly size: number;
  /** Without quotation marks. */
  readonly etag: string;
  /** When it was stored, as clients are told. */
  readonly time: Time;
  /** Checksums by algorithm in lower case, as the gateway answers them. */
  readonly checksums: Texts;
}

/** What an object is, as the gateway hands it over to be committed. */
export interface ObjectRecord extends Attributes {
  readonly seq: Seq;
  /** `inline`: the root contains the content. `manifest`: the root lists content roots. */
  readonly kind: "inline" | "manifest";
  /** The identity root: the inline root or the manifest. */
  readonly root: Address;
  /** Headers to return as they are, by lower-case name. */
  readonly headers: Texts;
  /** In the order given. */
  readonly tags: readonly (readonly [key: string, value: string])[];
}

/** A committed object. */
export interface StoredObject extends ObjectRecord {
  readonly bucket: Seq;
  readonly key: Key;
  /** How many parts it was uploaded in; 0 if it was not. */
  readonly parts: number;
}

/** An object as a listing has it. */
export type ListedObject = Pick<StoredObject, "key" | "size" | "etag" | "time" | "checksums">;

/** An object with the list of its content roots, which is empty if it is inline. */
export interface OpenedObject {
  readonly object: StoredObject;
  readonly contents: readonly PlacedRoot[];
}

/** A part of an upload, or of an object that was uploaded in parts. */
export interface Part extends Attributes {
  /** 1 to 10,000. */
  readonly number: number;
  readonly seq: Seq;
}

/** A multipart upload in progress. */
export interface Upload {
  /** For clients: opaque, not to be guessed. Of two uploads of a key, the later one's is greater. */
  readonly id: string;
  readonly seq: Seq;
  readonly bucket: Seq;
  readonly key: Key;
  readonly owner: string;
  readonly time: Time;
  readonly headers: Texts;
  readonly tags: readonly (readonly [key: string, value: string])[];
  /** Options to keep until Complete, such as the checksum algorithm and type. */
  readonly options: Texts;
}

/** What a deletion leaves behind until a tombstone in the store says the same. */
export interface Tombstone {
  readonly bucket: Seq;
  /** The bucket's name; the bucket itself may be gone. */
  readonly bucketName: string;
  /** Empty if the bucket was deleted. */
  readonly key: Key;
  /** Objects of this key with a lower seq are deleted. Of a bucket, its id. */
  readonly seq: Seq;
  readonly time: Time;
}

/** A blob to be deleted. */
export interface Garbage {
  readonly address: Address;
  /** A manifest is due at once; an inline root, if a tombstone buries it, and content an hour later, for running reads. */
  readonly kind: "identity" | "content";
  readonly due: Time;
}

/** A write that stores blobs which no row names yet. */
export interface WriteInProgress {
  readonly seq: Seq;
  readonly started: Time;
  /** The last sign of life. */
  readonly beat: Time;
}

/** A mark that a catalog has put into its store, or was about to: see objects/lineage/marks.ts. */
export interface Mark {
  /** From 1. */
  readonly number: number;
  /** 32 hexadecimal digits, made at random. */
  readonly nonce: string;
}

/** Which catalog this is, and how far it may be trusted to know all that the store has. */
export interface Lineage {
  /** Made at random when the catalog was made; a rebuilt catalog has another. */
  readonly uuid: string;
  /** The store that it belongs to, 32 hexadecimal digits; undefined before its first write. */
  readonly store: string | undefined;
  /**
   * A rebuild has judged all identity roots with a seq up to this: those that no row names were replaced,
   * deleted or never committed. 0 if it was not rebuilt.
   */
  readonly settled: Seq;
  /** The newest sealed snapshot of the catalog that it has recorded. */
  readonly snapshot: { readonly seq: Seq; readonly time: Time; readonly name: string } | undefined;
  /** False while a rebuild runs, and after one that could not read everything. */
  readonly isComplete: boolean;
}

/** A row of an export, from which `importRows` makes the same again. */
export type ExportedRow =
  | { readonly type: "bucket"; readonly bucket: Bucket }
  | {
      readonly type: "object";
      readonly object: StoredObject;
      readonly contents: readonly PlacedRoot[];
      /** Of an object that was uploaded in parts: all of them, by number. */
      readonly parts: readonly Part[];
    }
  | { readonly type: "upload"; readonly upload: Upload }
  | {
      readonly type: "part";
      readonly upload: Seq;
      readonly part: Part;
      readonly contents: readonly ContentRoot[];
    };
