import type { Entry } from "../../format/tree/entry.ts";
import { StorageError } from "@idk/storage";
import { equal, hash, utf8 } from "@idk/storage/blobs";

/** The first entry of each group of hard links that is in the target. */
export interface JoinedLinks {
  /**
   * Where the first entry of the group is, as a path below the target.
   *
   * @throws StorageError `tree` if it differs from this entry in type, size or content
   */
  find(entry: Entry): Uint8Array | undefined;
  /** Where the first entry of a group is, by the group's number. */
  at(group: number): Uint8Array | undefined;
  /** Makes an entry the first of its group. */
  add(entry: Entry, path: Uint8Array): void;
  /** Forgets the first entry of a group, which turned out not to be restored. */
  drop(group: number): void;
}

/** Of what has to be equal in a group. */
const DIGEST_LENGTH = 16;
const BLOCK = 2 ** 20;

/**
 * There may be a group for every file, and nothing says when a group ends. So paths are kept in blocks of
 * bytes, each with a digest in front, and not as objects.
 */
export function joinedLinks(): JoinedLinks {
  const blocks: Uint8Array[] = [];
  /** By the number of the group: where its record begins, in bytes from the first block. */
  const places = new Map<number, number>();
  let used = 0;

  const put = (record: Uint8Array): number => {
    // A record lies in one block, which is longer if it has to be.
    const last = blocks.at(-1);
    if (last === undefined || used + record.length > last.length) {
      blocks.push(new Uint8Array(Math.max(BLOCK, record.length)));
      used = 0;
    }
    blocks.at(-1)!.set(record, used);
    const place = (blocks.length - 1) * BLOCK + used;
    // A block longer than usual is full.
    used = record.length > BLOCK ? Infinity : used + record.length;
    return place;
  };

  const recordAt = (place: number): { digest: Uint8Array; path: Uint8Array } => {
    const block = blocks[Math.floor(place / BLOCK)]!;
    const start = place % BLOCK;
    const length = new DataView(block.buffer).getUint32(start + DIGEST_LENGTH);
    const pathStart = start + DIGEST_LENGTH + 4;
    return {
      digest: block.subarray(start, start + DIGEST_LENGTH),
      path: block.slice(pathStart, pathStart + length),
    };
  };

  return {
    at(group) {
      const place = places.get(group);
      return place === undefined ? undefined : recordAt(place).path;
    },
    find(entry) {
      const place = places.get(entry.extra.links!);
      if (place === undefined) return undefined;
      const { digest, path } = recordAt(place);
      if (!equal(digest, digestOf(entry))) {
        throw new StorageError(
          "tree",
          "it is in a group of hard links with an entry of another type, size or content",
        );
      }
      return path;
    },
    add(entry, path) {
      const record = new Uint8Array(DIGEST_LENGTH + 4 + path.length);
      record.set(digestOf(entry));
      new DataView(record.buffer).setUint32(DIGEST_LENGTH, path.length);
      record.set(path, DIGEST_LENGTH + 4);
      places.set(entry.extra.links!, put(record));
    },
    drop(group) {
      places.delete(group);
    },
  };
}

function digestOf(entry: Entry): Uint8Array {
  const parts = [utf8(entry.type)];
  if (entry.type === "file") parts.push(utf8(`:${entry.size}:`), entry.hash);
  else if (entry.type === "link") parts.push(utf8(":"), entry.target);
  else if ("major" in entry) parts.push(utf8(`:${entry.major}:${entry.minor}`));
  return new Uint8Array(hash(...parts).subarray(0, DIGEST_LENGTH));
}
