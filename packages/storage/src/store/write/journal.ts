import { assertLength, typeName } from "../../bytes.ts";
import { KEY_LENGTH } from "../../format/limits.ts";
import type { Reference } from "../../format/tree.ts";
import { usage } from "../../errors.ts";

/**
 * Records what a put has stored, so that another put of the same content, with the same chunk size,
 * can resume after an interruption. The entries are as secret as the content.
 *
 * Nothing is trusted. A leaf counts as stored only if the content, sealed with the recorded key,
 * gives the recorded address, and the store has a blob of that name and size and returns 64 bytes of
 * it, at a random place. A journal that is outdated, damaged or forged costs time but does no harm.
 */
export interface PutJournal {
  /** The leaf that an earlier run stored at this index, counted from 0; undefined if not recorded. */
  known(index: number): Promise<LeafReference | undefined>;
  /**
   * Records that the leaf is stored durably. Called once for each leaf that was sent, in any order
   * and concurrently. If it throws, the put fails with that error.
   */
  stored(index: number, leaf: LeafReference): Promise<void>;
}

/** The address of a leaf, and the key that opens it. */
export interface LeafReference {
  /** 64 lowercase hex digits. */
  readonly address: string;
  /** 32 bytes. Secret. */
  readonly contentKey: Uint8Array;
}

/** The caller's journal, with every entry checked and copied; an empty one if there is none. */
export function checkedJournal(journal: PutJournal | undefined): PutJournal {
  if (journal === undefined) return EMPTY;
  if (typeof journal?.known !== "function" || typeof journal.stored !== "function") {
    throw usage(`journal must have the functions known and stored, got ${typeName(journal)}`);
  }
  return {
    async known(index) {
      const reference = await journal.known(index);
      // Databases return null for what they do not have.
      return reference ? copyOf(reference) : undefined;
    },
    stored: async (index, reference) => journal.stored(index, copyOf(reference)),
  };
}

const EMPTY: PutJournal = {
  known: async () => undefined,
  stored: async () => {},
};

/** The reference is written into the tree later, so no one else may hold the key's memory. */
function copyOf({ address, contentKey }: LeafReference): Reference {
  assertLength("a journal's contentKey", contentKey, KEY_LENGTH);
  return { address, contentKey: new Uint8Array(contentKey) };
}
