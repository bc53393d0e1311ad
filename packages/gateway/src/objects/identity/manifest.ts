import { parseAddress } from "@idk/storage";
import { type CborItem, decodeCborT, encodeCborT, fromHex, toHex } from "@idk/storage/blobs";
import type { Part, PlacedRoot, Seq, Time, Tombstone } from "../../catalog/records.ts";
import { bytesOf, cborOf, integerOf, listOf, mapOf, textOf, textsOf } from "./records.ts";

/** What a manifest says: the content roots of an object in order, and the parts it was uploaded in. */
export interface Manifest {
  readonly contents: readonly PlacedRoot[];
  /** Empty if it was not uploaded in parts. */
  readonly parts: readonly Part[];
  /** Of a snapshot: the writes that were registered when it was begun, by seq. */
  readonly writes?: readonly Seq[];
  /** Of a snapshot: when the first of these writes began, by the store's clock. */
  readonly began?: Time | undefined;
}

/** The most content roots of an object. With 10,000 parts, its manifest and its row of a snapshot can be read. */
export const CONTENTS_MAX = 500_000;
/** The most bytes of a manifest. */
export const MANIFEST_MAX: number = 2 ** 26;
/** Items of CBOR in it. */
const ITEMS_MAX = 2 ** 22;

/** Encodes a manifest, about 60 bytes for each content root and 150 for each part. */
export function encodeManifest({
  contents,
  parts,
  writes,
  began,
}: Manifest): Uint8Array<ArrayBuffer> {
  const fields = new Map<string, CborItem>([
    ["contents", contents.map((root) => encodeContent(root))],
    ["parts", parts.map(encodePart)],
  ]);
  if (writes !== undefined) fields.set("writes", [...writes]);
  if (began !== undefined) fields.set("began", began);
  return encodeCborT(fields);
}

/** @throws CborError */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const fields = mapOf(decodeCborT(bytes, { itemsMax: ITEMS_MAX }));
  const began = fields.get("began");
  return {
    contents: listOf(fields.get("contents")).map(decodeContent),
    parts: listOf(fields.get("parts")).map(decodePart),
    writes: listOf(fields.get("writes") ?? []).map(integerOf),
    began: began === undefined ? undefined : integerOf(began),
  };
}

/** A content root as address, size, MD5 and the number of its part. */
export function encodeContent({ address, size, md5, part }: PlacedRoot): CborItem {
  return [fromHex(address), size, fromHex(md5), part];
}

/** @throws CborError, StorageError if the address is not one */
export function decodeContent(item: CborItem): PlacedRoot {
  const [address, size, md5, part] = listOf(item);
  return {
    address: parseAddress(toHex(bytesOf(address))),
    size: integerOf(size),
    md5: toHex(bytesOf(md5)),
    part: integerOf(part),
  };
}

/** A part as number, seq, size, ETag, time and checksums. */
export function encodePart({ number, seq, size, etag, time, checksums }: Part): CborItem {
  return [number, seq, size, etag, time, cborOf(checksums)];
}

/** @throws CborError */
export function decodePart(item: CborItem): Part {
  const [number, seq, size, etag, time, checksums] = listOf(item);
  return {
    number: integerOf(number),
    seq: integerOf(seq),
    size: integerOf(size),
    etag: textOf(etag),
    time: integerOf(time),
    checksums: textsOf(checksums),
  };
}

/** A deletion, as a tombstone says it. Without a key, the whole bucket was deleted. */
export interface Deletion extends Pick<Tombstone, "bucket" | "seq"> {
  readonly key: Uint8Array | undefined;
  /** Set if the write with exactly this seq was refused: its root may be in the store, and is void. */
  readonly isVoid?: boolean;
}

/** Encodes the content of a tombstone. */
export function encodeDeletions(deletions: readonly Deletion[]): Uint8Array<ArrayBuffer> {
  return encodeCborT(
    deletions.map(({ bucket, key, seq, isVoid = false }) => [
      bucket,
      key ?? null,
      seq,
      ...(isVoid ? [1] : []),
    ]),
  );
}

/** @throws CborError */
export function decodeDeletions(bytes: Uint8Array): readonly Deletion[] {
  return listOf(decodeCborT(bytes)).map((item) => {
    const [bucket, key, seq, isVoid] = listOf(item);
    return {
      bucket: integerOf(bucket),
      key: key === null ? undefined : bytesOf(key),
      seq: integerOf(seq),
      isVoid: isVoid === 1,
    };
  });
}
