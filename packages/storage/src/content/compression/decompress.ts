import { type ByteReader, byteReader } from "../byte-reader.ts";
import type { Metadata, MetadataValue } from "../../format/metadata.ts";
import { StorageError } from "../../errors.ts";
import { decodeLz4Frame } from "./lz4-decode.ts";
import { decodeZstdFrame } from "./zstd.ts";
import { typeName } from "../../bytes.ts";

/** Decodes content by its metadata keys `enc` and `len` (docs/format.md, "Metadata"). */
export interface ContentDecoder {
  /** Bytes of decoded content: the metadata's `len`. A claim until everything is decoded. */
  readonly length: number;
  /**
   * Decodes all of the content's bytes from the start; a piece may be overwritten once the next is
   * requested. Yields at most 64 KiB at a time, each in memory of its own, and at most `length`
   * bytes in total. Reads only on demand; leaving the loop early ends the pieces.
   *
   * @throws StorageError `encoding` if the pieces are not exactly one frame of `length` bytes, which
   *   may be detected only at the end; and what the pieces throw
   */
  decode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** One way to encode content. */
interface Codec {
  /** Decodes exactly one frame. Does not allocate memory just because `length` claims it. */
  decode(source: ByteReader, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** By the value of `enc`. A map, because the value may be "constructor". */
const CODECS: ReadonlyMap<MetadataValue, Codec> = new Map<string, Codec>([
  ["lz4", { decode: decodeLz4Frame }],
  ["zstd", { decode: decodeZstdFrame }],
]);

/**
 * The decoder that a root's metadata calls for; undefined if the content is not compressed.
 *
 * @throws StorageError `encoding` if `enc` is unknown, or `len` is not a length in bytes
 */
export function contentDecoder(metadata: Metadata): ContentDecoder | undefined {
  const { enc, len: length } = metadata;
  if (enc === undefined) return undefined;
  const codec = CODECS.get(enc);
  if (codec === undefined) throw new StorageError("encoding", unknownEncoding(enc));
  if (typeof length !== "number" || !Number.isSafeInteger(length) || length < 0) {
    const found = length === undefined ? "is missing" : `is ${typeName(length)}`;
    throw new StorageError(
      "encoding",
      `compressed content needs its decoded length in the metadata key "len", which ${found}`,
    );
  }
  return { length, decode: (pieces) => decodeWhole(codec, pieces, length) };
}

function unknownEncoding(enc: MetadataValue): string {
  const known = [...CODECS.keys()].join(" and ");
  if (typeof enc !== "string") return `the metadata key "enc" is ${typeName(enc)}, not text`;
  // Anyone may have written it, so it may not be safe to print.
  const named = /^[\x20-\x7e]{1,32}$/u.test(enc) ? `"${enc}"` : "not printable";
  return `the content's encoding is ${named}; this version supports ${known}`;
}

async function* decodeWhole(
  codec: Codec,
  pieces: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const source = byteReader(pieces);
  try {
    let decoded = 0;
    for await (const piece of codec.decode(source, length)) {
      decoded += piece.length;
      if (decoded > length) throw wrongLength("more", length);
      yield piece;
    }
    if (decoded < length) throw wrongLength("fewer", length);
    if ((await source.lookAhead(1)) > 0) {
      throw new StorageError(
        "encoding",
        "the compressed content continues after the end of its frame",
      );
    }
  } finally {
    source.cancel();
  }
}

function wrongLength(difference: "more" | "fewer", length: number): StorageError {
  return new StorageError(
    "encoding",
    `the content decodes to ${difference} than the ${length} bytes that its metadata states`,
  );
}
