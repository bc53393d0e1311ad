import { assertLength, typeName } from "../../bytes.ts";
import { KEY_LENGTH } from "../../format/limits.ts";
import type { Reference } from "../../format/tree.ts";
import { usage } from "../../errors.ts";

/**
 * Where a put notes what it has stored, so that another put of the same content, with the same chunk
 * size, can continue after an interruption. What is noted is as secret as the content.
 *
 * Nothing is taken on trust. A leaf counts as stored only where the content at hand, sealed with the
 * key that was noted, gives the address that was noted, and the store has a blob of that name and
 * size. A journal that is out of date, damaged or forged costs time and does no harm.
 */
export interface PutJournal {
  /** What an earlier run stored as the leaf at this index, counted from 0, where that is known. */
  known(index: number): Promise<LeafReference | undefined>;
  /**
   * The store has the leaf, durably; called once for each leaf that was sent, in any order, and
   * several at once. What it throws ends the put.
   */
  stored(index: number, leaf: LeafReference): Promise<void>;
}

/** Where a leaf is, and the key that opens it. */
export interface LeafReference {
  /** 64 lowercase hex digits. */
  readonly address: string;
  /** 32 bytes. Secret. */
  readonly contentKey: Uint8Array;
}

/** A caller's journal, with what comes and goes checked and copied; without one, it knows nothing. */
export function checkedJournal(journal: PutJournal | undefined): PutJournal {
  if (journal === undefined) return NOTHING_KNOWN;
  if (typeof journal?.known !== "function" || typeof journal.stored !== "function") {
    throw usage(`journal must have the functions known and stored, got ${typeName(journal)}`);
  }
  return {
    async known(index) {
      const reference = await journal.known(index);
      return reference && copyOf(reference);
    },
    stored: async (index, reference) => journal.stored(index, copyOf(reference)),
  };
}

const NOTHING_KNOWN: PutJournal = {
  known: async () => undefined,
  stored: async () => {},
};

/** The tree is written with the reference later: nobody else may hold the same key's memory. */
function copyOf({ address, contentKey }: LeafReference): Reference {
  assertLength("a journal's contentKey", contentKey, KEY_LENGTH);
  return { address, contentKey: new Uint8Array(contentKey) };
}
