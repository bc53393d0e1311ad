import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { S3Error } from "../errors.ts";
import type { ChunkSignatures } from "../signature/chunk-signatures.ts";
import { createHash } from "node:crypto";
import { sha256Hex } from "../signature/v4.ts";

/** How the chunks of a body are framed. */
export interface ChunkFraming {
  /** Undefined if they are not signed. */
  readonly signatures: ChunkSignatures | undefined;
  readonly hasTrailer: boolean;
  /** The header that the trailer has to have, in lower case; undefined if it has none. */
  readonly trailerName: string | undefined;
  /** Bytes of content in all chunks. */
  readonly length: number;
}

/** S3 allows a shorter chunk only as the last one with content. */
const MIN_CHUNK = 8192;
/** Eight digits are 4 GiB, and S3 has no longer chunks; some clients pad with zeros. */
const SIZE_DIGITS = 16;
const CHUNK_LINE_MAX = SIZE_DIGITS + ";chunk-signature=".length + 64;
const TRAILER_LINE_MAX = 256;

/**
 * The content of a body of chunks. Its pieces are views of what the source gave; a piece may come
 * before the signature of its chunk was checked, so nothing may be released before the end.
 *
 * @returns the value of the trailer's header, if it has one
 * @throws S3Error `IncompleteBody`, `InvalidChunkSizeError`, `MalformedTrailerError`,
 *   `SignatureDoesNotMatch`
 */
export async function* decodeChunks(
  source: AsyncIterable<Uint8Array>,
  framing: ChunkFraming,
): AsyncGenerator<Uint8Array, string | undefined, undefined> {
  const reader = createByteReader(source);
  try {
    let left = framing.length;
    let isShort = false;
    for (;;) {
      const { size, signature } = await readChunkLine(reader, framing);
      if (size > 0 && isShort) throw new S3Error("InvalidChunkSizeError");
      if (size > left || (size === 0 && left > 0)) throw incomplete();
      isShort = size < MIN_CHUNK;
      left -= size;
      yield* readChunk(reader, size, signature, framing.signatures);
      if (size === 0) break;
    }
    const value = framing.hasTrailer
      ? await readTrailer(reader, framing)
      : await readEmptyLine(reader);
    if (!(await reader.isAtEnd())) throw incomplete();
    return value;
  } finally {
    await reader.close();
  }
}

async function readChunkLine(
  reader: ByteReader,
  { signatures }: ChunkFraming,
): Promise<{ readonly size: number; readonly signature: string }> {
  const line = (await reader.line(CHUNK_LINE_MAX)) ?? "";
  const pattern =
    signatures === undefined
      ? /^(?<size>[0-9a-fA-F]{1,16})$/u
      : /^(?<size>[0-9a-fA-F]{1,16});chunk-signature=(?<signature>[0-9a-f]{64})$/u;
  const groups = pattern.exec(line)?.groups;
  const size = Number.parseInt(groups?.["size"] ?? "", 16);
  if (!Number.isSafeInteger(size)) throw incomplete();
  return { size, signature: groups?.["signature"] ?? "" };
}

async function* readChunk(
  reader: ByteReader,
  size: number,
  signature: string,
  signatures: ChunkSignatures | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = signatures === undefined ? undefined : createHash("sha256");
  for (let left = size; left > 0;) {
    const piece = await reader.take(left);
    if (piece === undefined) throw incomplete();
    hash?.update(piece);
    left -= piece.length;
    yield piece;
  }
  // The line of the last chunk, which has no content, is followed by the trailer.
  if (size > 0) await readEmptyLine(reader);
  if (hash !== undefined) signatures?.checkChunk(hash.digest("hex"), signature);
}

async function readEmptyLine(reader: ByteReader): Promise<undefined> {
  if ((await reader.line(0)) !== "") throw incomplete();
}

/** Lines `name:value`, of which signed ones end with the signature, and an empty line. */
async function readTrailer(
  reader: ByteReader,
  { signatures, trailerName }: ChunkFraming,
): Promise<string | undefined> {
  const lines: string[] = [];
  for (;;) {
    // minio-go, with which mc and MinIO upload, ends the header with LF CR LF.
    const line = await reader.line(TRAILER_LINE_MAX, true);
    if (line === undefined) throw incomplete();
    if (line === "") break;
    lines.push(line);
    // A header and a signature.
    if (lines.length > 2) throw new S3Error("MalformedTrailerError");
  }
  if (lines.length === 0 && trailerName !== undefined) throw new S3Error("MalformedTrailerError");
  const signature =
    signatures === undefined
      ? undefined
      : /^x-amz-trailer-signature:(?<hex>[0-9a-f]{64})$/u.exec(lines.pop() ?? "")?.groups?.["hex"];
  if (signatures !== undefined && signature === undefined) throw incomplete();
  const [line, ...others] = lines;
  const match = /^(?<name>[^:]*):(?<value>[\t\x20-\x7E]*)$/u.exec(line ?? "");
  const name = match?.groups?.["name"]?.toLowerCase();
  const value = match?.groups?.["value"]?.trim();
  if (others.length > 0 || (line !== undefined && match === null) || name !== trailerName) {
    throw new S3Error("MalformedTrailerError");
  }
  const canonical = name === undefined ? "" : `${name}:${value}\n`;
  if (signature !== undefined) signatures?.checkTrailer(sha256Hex(canonical), signature);
  return value;
}

function incomplete(): S3Error {
  return new S3Error("IncompleteBody");
}
