import { type ByteReader, byteReader } from "../byte-reader.ts";
import type { ContentEncoding } from "../../format/metadata.ts";
import { INLINE_MAX } from "../../format/limits.ts";
import { concatAll } from "../../bytes.ts";
import { loadLz4Encoder } from "./lz4-encode.ts";
import { loadZstdEncoder } from "./zstd.ts";

/** See `WriteOptions.compression`. */
export type Compression = "zstd" | "lz4" | "auto" | "none";

export const COMPRESSIONS: readonly Compression[] = ["zstd", "lz4", "auto", "none"];

/** Content as it will be stored. */
export interface EncodedContent {
  /**
   * The bytes to store, compressed or not. Its `total` and `position` refer to the content before
   * compression.
   */
  readonly reader: ByteReader;
  /** The encoding, to be called after all bytes were read; undefined if they are not compressed. */
  encoding(): ContentEncoding | undefined;
}

/**
 * Compresses content while it is read.
 *
 * @throws StorageError `usage` if the requested codec is not available; and what the content's own
 *   stream throws
 */
export async function encodeContent(
  source: ByteReader,
  compression: Compression,
  signal: AbortSignal | undefined,
): Promise<EncodedContent> {
  if (compression === "none") return plain(source);
  if (compression !== "auto") return encoding(source, await LOAD[compression](), signal);
  const encoder = await loadAnyEncoder();
  return encoder ? ifWorthwhile(source, encoder, signal) : plain(source);
}

interface Encoder {
  readonly enc: ContentEncoding["enc"];
  /**
   * Encodes the rest of a source as one frame. The output depends only on the bytes. Each piece is
   * in memory of its own.
   */
  readonly encode: (source: ByteReader) => AsyncGenerator<Uint8Array>;
}

const LOAD: Readonly<Record<ContentEncoding["enc"], () => Promise<Encoder>>> = {
  zstd: async () => ({ enc: "zstd", encode: await loadZstdEncoder() }),
  lz4: async () => ({ enc: "lz4", encode: await loadLz4Encoder() }),
};

/** The better of the codecs that are available. */
async function loadAnyEncoder(): Promise<Encoder | undefined> {
  const missing = () => undefined;
  return (await LOAD.zstd().catch(missing)) ?? (await LOAD.lz4().catch(missing));
}

function plain(source: ByteReader): EncodedContent {
  return { reader: source, encoding: () => undefined };
}

function encoding(
  source: ByteReader,
  { enc, encode }: Encoder,
  signal: AbortSignal | undefined,
): EncodedContent {
  return reading(source, enc, byteReader(encode(source), signal));
}

function reading(
  source: ByteReader,
  enc: ContentEncoding["enc"],
  encoded: ByteReader,
): EncodedContent {
  const reader: ByteReader = {
    ...encoded,
    total: source.total,
    position: source.position,
    cancel() {
      source.cancel();
      encoded.cancel();
    },
  };
  return { reader, encoding: () => ({ enc, len: source.position() }) };
}

/** The fraction of the content that compression has to save for `auto`. */
const GAIN = 0.1;

/** The most bytes that `enc` and `len` take in the root. */
const METADATA = 22;

/** Bytes per window of the sample. */
const WINDOW = 64 * 1024;

/**
 * Compresses if that saves at least a tenth of a sample. If the content fits into a root, the sample
 * is all of it; otherwise it is three windows of 64 KiB from the first mebibyte: from its start,
 * where headers are, its middle and its end. A put looks that far ahead anyway, and the result is
 * the same for bytes in memory and for a stream.
 */
async function ifWorthwhile(
  source: ByteReader,
  encoder: Encoder,
  signal: AbortSignal | undefined,
): Promise<EncodedContent> {
  const available = await source.lookAhead(INLINE_MAX + 1);
  if (available > INLINE_MAX) {
    const sample = windowsOf(source.peek(INLINE_MAX));
    const length = (await encodedWhole(encoder, sample)).length;
    return savesEnough(length, sample.length) ? encoding(source, encoder, signal) : plain(source);
  }
  const content = source.peek(available);
  const encoded = await encodedWhole(encoder, content);
  if (!savesEnough(encoded.length + METADATA, available)) return plain(source);
  source.take(available);
  return reading(source, encoder.enc, byteReader(encoded));
}

function savesEnough(encoded: number, length: number): boolean {
  return encoded <= length * (1 - GAIN);
}

function windowsOf(bytes: Uint8Array): Uint8Array {
  const last = bytes.length - WINDOW;
  const starts = [0, Math.floor(last / 2), last];
  return concatAll(starts.map((start) => bytes.subarray(start, start + WINDOW)));
}

async function encodedWhole({ encode }: Encoder, bytes: Uint8Array): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of encode(byteReader(bytes))) pieces.push(piece);
  return concatAll(pieces);
}
