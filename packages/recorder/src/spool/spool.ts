import { type Backend, StorageError } from "@idk/storage";
import { blobFile, deleteFile, type SpooledBlob, writeWhole } from "./files.ts";
import type { RecentBlobs } from "./recent.ts";

/** The part of a spool that one run writes. */
export interface Spool {
  /** Bytes of all blobs in the folder, those of others as of the last listing. */
  bytes(): number;
  /** A place for the blobs of one segment, to be sealed into; by default of this run. */
  segment(seq: number, run?: string): SpoolSegment;
  /** Called after a blob of this run was uploaded and deleted. */
  deleted(size: number): void;
  /** Takes note of what others have in the folder. */
  setOtherBytes(bytes: number): void;
}

/** A segment on its way into the spool. */
export interface SpoolSegment {
  readonly put: Backend["put"];
  /** The blobs that were put, in order. */
  readonly blobs: readonly SpooledBlob[];
  /** Deletes what was put, after a put failed. */
  discard(): Promise<void>;
}

/**
 * @param limit bytes of all blobs in the folder
 * @param recent gets a copy of what is written
 */
export function createSpool(
  folder: string,
  ownRun: string,
  limit: number,
  recent: RecentBlobs,
): Spool {
  let [own, others] = [0, 0];
  return {
    bytes: () => own + others,
    deleted: (size) => {
      own -= size;
    },
    setOtherBytes: (bytes) => {
      others = bytes;
    },
    segment(seq, run = ownRun) {
      const blobs: SpooledBlob[] = [];
      let parts = 0;
      const put: Backend["put"] = async (address, bytes) => {
        const size = bytes.length;
        if (own + others + size > limit) {
          throw new StorageError("unavailable", `the spool ${folder} has reached its limit`);
        }
        const file = blobFile(run, seq, parts, address);
        parts += 1;
        own += size;
        try {
          await writeWhole(folder, file, bytes);
        } catch (cause) {
          own -= size;
          throw new StorageError("unavailable", `cannot write the spool ${folder}`, { cause });
        }
        recent.keep(file, bytes);
        blobs.push({ run, segment: seq, file, address, size });
      };
      return {
        put,
        blobs,
        async discard() {
          // Before any file, because deleting one may fail.
          for (const { file } of blobs) {
            const copy = recent.take(file);
            if (copy !== undefined) recent.giveBack(copy);
          }
          for (const { file, size } of blobs) {
            await deleteFile(folder, file);
            own -= size;
          }
        },
      };
    },
  };
}
