import { DATA_PACK, PIECE_MAX } from "../../format/limits.ts";
import { ByteWriter } from "../../format/tree/byte-writer.ts";
import type { Cache } from "../../cache/cache.ts";
import { type Codec, plaintextIn } from "./jobs.ts";
import type { PackStore } from "./pack-store.ts";
import type { PlacedPiece } from "../../format/tree/encode-content.ts";
import type { Threads } from "./threads.ts";
import { addPlace } from "../places.ts";
import { packLength } from "../../format/packs/pack.ts";
import { hash as sha256 } from "@idk/storage/blobs";

/** Bytes of pieces that are compressed together. */
const BATCH = 2 * PIECE_MAX;
/** Pieces in a batch, so that a million tiny files are not kept in memory until they fill one. */
const BATCH_PIECES = 4096;

/** A piece of this session, which gets its place when its batch has been compressed. */
export class NewPiece implements PlacedPiece {
  pack = -1;
  offset = 0;
  stored = 0;
  encoding = 0;
  /** Whether an entry has it, which the cache counts when the piece is noted. */
  isCounted = false;
  readonly length: number;
  readonly hash: Uint8Array;

  constructor(hash: Uint8Array, length: number) {
    this.hash = hash;
    this.length = length;
  }

  get isPlaced(): boolean {
    return this.pack !== -1;
  }
}

/** Batches that are compressed at once, besides the one that is filled. */
const BATCHES_MAX = 2;

interface Batch {
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly pieces: NewPiece[];
  filled: number;
}

/** Puts the pieces of files into data packs. */
export interface DataPacker {
  /** The piece of these bytes, if it is in a batch that is not in packs yet. */
  find(hash: Uint8Array): NewPiece | undefined;
  /** Takes a piece. Its bytes are copied. */
  add(hash: Uint8Array, bytes: Uint8Array): NewPiece;
  /** Whether `room` has to be awaited before the next piece. */
  readonly isFull: boolean;
  room(): Promise<void>;
  /** The last piece that was added. It is the last to have a place. */
  readonly last: NewPiece | undefined;
  /** Places all pieces. */
  place(): Promise<void>;
  /** Places all pieces, and begins to store the open pack, as the last before a head if it is. */
  flush(isLast: boolean): Promise<void>;
}

export function dataPacker(
  store: PackStore,
  cache: Cache,
  threads: Threads,
  codec: Codec | undefined,
): DataPacker {
  /** By hash, as text of one character for each byte. */
  const waiting = new Map<string, NewPiece>();
  const idle: Uint8Array<ArrayBuffer>[] = [];
  const batchesMax = Math.min(threads.jobs, BATCHES_MAX) + 1;
  let batch: Batch | undefined;
  let last: NewPiece | undefined;
  let inFlight = 0;
  let placing = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;
  let pack: { id: number; blob: Uint8Array<ArrayBuffer>; length: number } | undefined;
  /** The hashes of the pieces in the open pack. */
  const hashes = new ByteWriter();

  const storePack = async (isLast: boolean): Promise<void> => {
    if (pack === undefined) return;
    const { id, blob, length } = pack;
    pack = undefined;
    const whole = packLength("data", length, isLast);
    const digest = sha256(hashes.view());
    hashes.clear();
    const isFull = whole === DATA_PACK;
    const bytes = isFull ? blob : blob.slice(0, blob.length - DATA_PACK + whole);
    await store.store({ id, sort: "data", blob: bytes, digest });
  };
  const placeBatch = async (
    { pieces }: Batch,
    bytes: Uint8Array,
    stored?: Uint32Array,
    encodings?: Uint8Array,
  ): Promise<void> => {
    let from = 0;
    for (const [index, piece] of pieces.entries()) {
      const length = stored?.[index] ?? piece.length;
      if (pack !== undefined && pack.length + length > DATA_PACK) await storePack(false);
      pack ??= { id: store.newPack(), blob: store.buffer(DATA_PACK), length: 0 };
      plaintextIn(pack.blob).set(bytes.subarray(from, from + length), pack.length);
      piece.offset = pack.length;
      piece.stored = length;
      piece.encoding = encodings?.[index] ?? 0;
      piece.pack = pack.id;
      hashes.raw(piece.hash);
      pack.length += length;
      from += length;
      addPlace(cache, "piece", piece.hash, piece);
      waiting.delete(keyOf(piece.hash));
    }
  };
  const send = (): void => {
    if (batch === undefined) return;
    const sent = batch;
    batch = undefined;
    inFlight += 1;
    const lengths = Uint32Array.from(sent.pieces, ({ length }) => length);
    const compressed =
      codec === undefined ? undefined : threads.compress({ buffer: sent.buffer, lengths, codec });
    // What fails is thrown when its turn comes.
    compressed?.catch(() => undefined);
    const before = placing;
    placing = (async () => {
      await before;
      try {
        if (failure !== undefined) return;
        const outcome = await compressed;
        await placeBatch(sent, outcome?.buffer ?? sent.buffer, outcome?.stored, outcome?.encodings);
        idle.push(outcome?.buffer ?? sent.buffer);
      } catch (error) {
        failure ??= { error };
      } finally {
        inFlight -= 1;
      }
    })();
  };
  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error;
  };
  const placeAll = async (): Promise<void> => {
    send();
    await placing;
    throwFailure();
  };

  return {
    find: (hash) => waiting.get(keyOf(hash)),
    add(hash, bytes) {
      if (batch !== undefined && batch.filled + bytes.length > BATCH) send();
      batch ??= { buffer: idle.pop() ?? new Uint8Array(BATCH), pieces: [], filled: 0 };
      const piece = new NewPiece(hash, bytes.length);
      last = piece;
      batch.buffer.set(bytes, batch.filled);
      batch.filled += bytes.length;
      batch.pieces.push(piece);
      waiting.set(keyOf(hash), piece);
      if (batch.pieces.length === BATCH_PIECES || batch.filled + PIECE_MAX / 64 > BATCH) send();
      return piece;
    },
    get isFull() {
      return inFlight >= batchesMax || failure !== undefined;
    },
    async room() {
      while (inFlight >= batchesMax && failure === undefined) {
        await Promise.race([placing, new Promise<void>((resolve) => setTimeout(resolve, 5))]);
      }
      throwFailure();
    },
    get last() {
      return last;
    },
    place: placeAll,
    async flush(isLast) {
      await placeAll();
      await storePack(isLast);
    },
  };
}

/** Text of one character for each byte. */
function keyOf(hash: Uint8Array): string {
  return String.fromCharCode.apply(undefined, hash as unknown as number[]);
}
