import { type ByteReader, byteReader } from "../byte-reader.ts";
import type { ContentEncoding } from "../../format/metadata.ts";
import { INLINE_MAX } from "../../format/limits.ts";
import { concatAll } from "../../bytes.ts";
import { loadLz4Encoder } from "./lz4-encode.ts";
import { loadZstdEncoder } from "./zstd.ts";

/** What a writer may ask for; see `WriteOptions.compression`. */
export type Compression = "zstd" | "lz4" | "auto" | "none";

export const COMPRESSIONS: readonly Compression[] = ["zstd", "lz4", "auto", "none"];

/** Content as it is to be stored. */
export interface EncodedContent {
  /**
   * The bytes to store, compressed or as they are. Its `total` and `position` are those of the
   * content before compression.
   */
  readonly reader: ByteReader;
  /** How they are encoded, once all of them were read; undefined where they are as they were. */
  encoding(): ContentEncoding | undefined;
}

/**
 * Compresses content on its way into the store, as it is read and no faster.
 *
 * @throws StorageError `usage` where a codec that was asked for is not there; and what the content's
 *   own stream throws
 */
export async function compressed(
  source: ByteReader,
  compression: Compression,
  signal: AbortSignal | undefined,
): Promise<EncodedContent> {
  if (compression === "none") return plain(source);
  if (compression !== "auto") return encoding(source, await LOAD[compression](), signal);
  const encoder = await loadAnyEncoder();
  return encoder ? whereItPays(source, encoder, signal) : plain(source);
}

interface Encoder {
  readonly enc: ContentEncoding["enc"];
  /**
   * Encodes all that is left of a source as one frame. What comes out depends on the bytes alone.
   * Each piece is in memory of its own.
   */
  readonly encode: (source: ByteReader) => AsyncGenerator<Uint8Array>;
}

const LOAD: Readonly<Record<ContentEncoding["enc"], () => Promise<Encoder>>> = {
  zstd: async () => ({ enc: "zstd", encode: await loadZstdEncoder() }),
  lz4: async () => ({ enc: "lz4", encode: await loadLz4Encoder() }),
};

/** The better one of those that are there. */
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

/** What compression has to save for `auto`, as a part of the content. */
const GAIN = 0.1;

/** Bytes that `enc` and `len` take in the root, at most. */
const METADATA = 22;

/** A window of the sample. */
const WINDOW = 64 * 1024;

/**
 * Compresses where a sample says that it saves a tenth. The sample is the content itself where it
 * fits into a root, otherwise three windows of 64 KiB from its first mebibyte: from the beginning,
 * where headers are, from the middle and from the end of it. That far a put looks ahead anyway, and
 * the answer is the same for bytes in memory and for a stream of them.
 *
 * OpenZFS and Borg decide likewise, for each record or chunk: they try it on the data.
 */
async function whereItPays(
  source: ByteReader,
  encoder: Encoder,
  signal: AbortSignal | undefined,
): Promise<EncodedContent> {
  const available = await source.lookAhead(INLINE_MAX + 1);
  if (available > INLINE_MAX) {
    const sample = windowsOf(source.peek(INLINE_MAX));
    const length = (await encodedWhole(encoder, sample)).length;
    return pays(length, sample.length) ? encoding(source, encoder, signal) : plain(source);
  }
  const content = source.peek(available);
  const encoded = await encodedWhole(encoder, content);
  if (!pays(encoded.length + METADATA, available)) return plain(source);
  source.take(available);
  return reading(source, encoder.enc, byteReader(encoded));
}

function pays(encoded: number, length: number): boolean {
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
