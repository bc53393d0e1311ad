import { FRAME_DECODED_MAX, METADATA_PACK } from "../../format/limits.ts";
import { encodeMetadataPack, metadataPackLength } from "../../format/packs/metadata-pack.ts";
import { encodeZstdFrame, hash } from "@idk/storage/blobs";
import { ByteWriter } from "../../format/tree/byte-writer.ts";
import type { Cache } from "../../cache/cache.ts";
import type { PackStore } from "./pack-store.ts";
import { type FramePart, plaintextIn } from "./jobs.ts";
import { StorageError } from "@idk/storage";
import { packLength } from "../../format/packs/pack.ts";

/** What a frame may be longer by than its parts compressed one after the other. */
const SLACK = 2 ** 14;
/** Compressing the frame again to know its length takes time, so this much has to come first. */
const MEASURED = 2 ** 17;
/** Complete packs that wait for those they refer to. */
const WAITING_MAX = 8;

/** Where something lies in the decoded frame of a metadata pack. */
export interface FramePlace {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
}

/** Puts nodes and piece lists into metadata packs. */
export interface MetadataPacker {
  /**
   * Adds a node or list.
   *
   * @param lengthMax of its bytes, at most
   * @param packs that it refers to
   * @param write given the row number of each pack
   * @param list of a piece list
   */
  add(
    lengthMax: number,
    packs: Iterable<number>,
    write: (into: ByteWriter, rowOf: (pack: number) => number) => void,
    list?: FramePart["list"],
  ): FramePlace;
  /** Whether `room` has to be awaited before the next. */
  readonly isFull: boolean;
  /** @param flushData begins to store the open data pack, which complete packs may wait for */
  room(flushData: () => Promise<void>): Promise<void>;
  /** Waits until all complete packs have begun to be stored. */
  settled(): Promise<void>;
  /** Begins to store the open pack, as the last before a head, and waits until all have begun. */
  flush(): Promise<void>;
}

interface OpenPack {
  readonly id: number;
  /** Row numbers by pack, from 1. */
  readonly rows: Map<number, number>;
  readonly frame: ByteWriter;
  readonly parts: FramePart[];
  /** Of the frame's beginning. */
  measured: { readonly length: number; readonly frame: Uint8Array };
}

export function metadataPacker(store: PackStore, cache: Cache): MetadataPacker {
  let open: OpenPack | undefined;
  /** A frame is up to 4 MiB, so one is used for all. */
  const frame = new ByteWriter(2 ** 18);
  const waiting = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;

  const lengthWith = (pack: OpenPack, added: number, addedRows: number): number => {
    const frameLength =
      pack.measured.frame.length + (pack.frame.length - pack.measured.length) + added + SLACK;
    return metadataPackLength(pack.rows.size + 1 + addedRows, frameLength);
  };
  const fits = (pack: OpenPack, added: number, addedRows: number): boolean => {
    if (pack.frame.length + added > FRAME_DECODED_MAX) return false;
    if (lengthWith(pack, added, addedRows) <= METADATA_PACK) return true;
    if (pack.frame.length - pack.measured.length < MEASURED) return false;
    measure(pack);
    return lengthWith(pack, added, addedRows) <= METADATA_PACK;
  };

  const close = (isLast: boolean): void => {
    if (open === undefined) return;
    const pack = open;
    open = undefined;
    if (pack.measured.length < pack.frame.length) measure(pack);
    const task = storeWhenPossible(pack, [...pack.rows.keys()], pack.measured.frame, isLast)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => waiting.delete(task));
    waiting.add(task);
  };
  const storeWhenPossible = async (
    { id, parts }: OpenPack,
    packs: readonly number[],
    compressed: Uint8Array,
    isLast: boolean,
  ): Promise<void> => {
    for (const pack of packs) await store.stored(pack);
    const rows = packs.map((pack) => {
      const row = cache.pack(pack)?.row;
      if (row === undefined) throw new Error("a metadata pack refers to a pack that is not stored");
      return row;
    });
    const used = metadataPackLength(rows.length + 1, compressed.length);
    if (used > METADATA_PACK) {
      throw new StorageError("limit", `a metadata pack would have ${used} bytes`);
    }
    const plaintext = encodeMetadataPack(rows, compressed, packLength("meta", used, isLast));
    const blob = store.buffer(plaintext.length);
    plaintextIn(blob).set(plaintext);
    await store.store({ id, sort: "meta", blob, digest: hash(plaintext), parts });
  };

  const settled = async (): Promise<void> => {
    while (waiting.size > 0) await Promise.race(waiting);
    if (failure !== undefined) throw failure.error;
  };

  return {
    add(lengthMax, packs, write, list) {
      const distinct = [...new Set(packs)];
      if (open !== undefined) {
        const { rows, id } = open;
        const added = distinct.filter((pack) => pack !== id && !rows.has(pack)).length;
        if (!fits(open, lengthMax, added)) close(false);
      }
      if (open === undefined) {
        frame.clear();
        const measured = { length: 0, frame: new Uint8Array(0) };
        open = { id: store.newPack(), rows: new Map(), frame, parts: [], measured };
      }
      const { id, rows } = open;
      for (const pack of distinct) {
        if (pack !== id && !rows.has(pack)) rows.set(pack, rows.size + 1);
      }
      const offset = frame.length;
      write(frame, (pack) => (pack === id ? 0 : rows.get(pack)!));
      const length = frame.length - offset;
      open.parts.push({ offset, length, list });
      return { pack: id, offset, length };
    },
    get isFull() {
      return waiting.size >= WAITING_MAX || failure !== undefined;
    },
    async room(flushData) {
      if (waiting.size >= WAITING_MAX) await flushData();
      while (waiting.size >= WAITING_MAX) await Promise.race(waiting);
      if (failure !== undefined) throw failure.error;
    },
    settled,
    async flush() {
      close(true);
      await settled();
    },
  };
}

function measure(pack: OpenPack): void {
  pack.measured = { length: pack.frame.length, frame: encodeZstdFrame(pack.frame.view()) };
}
