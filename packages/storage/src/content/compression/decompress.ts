import { type ByteReader, byteReader } from "../byte-reader.ts";
import type { Metadata, MetadataValue } from "../../format/metadata.ts";
import { StorageError } from "../../errors.ts";
import { decodeLz4Frame } from "./lz4-decode.ts";
import { decodeZstdFrame } from "./zstd.ts";
import { typeName } from "../../bytes.ts";

/** What the metadata keys `enc` and `len` say about the content (docs/format.md, "Metadata"). */
export interface ContentDecoder {
  /** How many bytes the content decodes to: the metadata's `len`. A claim until all is decoded. */
  readonly length: number;
  /**
   * Decodes the content's bytes, all of them from the first on; a piece may change once the next
   * one is asked for. Yields at most 64 KiB at a time, each in memory of its own, and at most
   * `length` bytes in all. Reads on only when asked to; leaving it ends the pieces.
   *
   * @throws StorageError `encoding` where the pieces are anything but one frame of `length` bytes,
   * which may show only at the end; and what the pieces throw
   */
  decode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** One way to encode content. */
interface Codec {
  /** Decodes one frame, up to its end and no further. Allocates nothing by the given length alone. */
  decode(source: ByteReader, length: number): AsyncGenerator<Uint8Array<ArrayBuffer>>;
}

/** By the value of `enc`. A map, because it may say "constructor". */
const CODECS: ReadonlyMap<MetadataValue, Codec> = new Map<string, Codec>([
  ["lz4", { decode: decodeLz4Frame }],
  ["zstd", { decode: decodeZstdFrame }],
]);

/**
 * The decoder that the metadata of a root asks for; undefined where the content is not encoded.
 *
 * @throws StorageError `encoding` where `enc` is unknown, or `len` is no length in bytes
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
      `encoded content needs its decoded length in the metadata key "len", which ${found}`,
    );
  }
  return { length, decode: (pieces) => decodeWhole(codec, pieces, length) };
}

function unknownEncoding(enc: MetadataValue): string {
  const known = [...CODECS.keys()].join(" and ");
  if (typeof enc !== "string") return `the metadata key "enc" is ${typeName(enc)}, not text`;
  // Anyone may have written it: not every text can be shown.
  const shown = /^[\x20-\x7e]{1,32}$/u.test(enc) ? `"${enc}"` : "one of another name";
  return `the content's encoding is ${shown}; this version knows ${known}`;
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
      throw new StorageError("encoding", "the encoded content goes on behind the end of its frame");
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
