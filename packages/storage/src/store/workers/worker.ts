/** What runs in each thread of the pool. */
import { type ErrorCode, StorageError } from "../../errors.ts";
import { type NaClChoice, loadNaCl } from "../../crypto/nacl/load-nacl.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { Reference } from "../../format/tree.ts";
import { openChildAt } from "../../crypto/seal.ts";
import { sealLeaf } from "../write/seal-child.ts";

/**
 * A job for a leaf. Its buffer is transferred to the thread and back without a copy: a call gives
 * the buffer away and continues with the one in the outcome, which is the same memory.
 */
export interface SealJob {
  readonly nacl: NaClChoice;
  /** The plaintext is at offset `CHILD_OVERHEAD`. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes of plaintext. */
  readonly length: number;
  readonly dedupSecret: Uint8Array | undefined;
  /** See `sealLeaf`. */
  readonly known: Reference | undefined;
}

export interface SealOutcome {
  /** Starts with the sealed leaf. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly reference: Reference;
  readonly storedBefore: boolean;
}

export interface OpenJob {
  readonly nacl: NaClChoice;
  /** Starts with the stored bytes. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes stored. */
  readonly length: number;
  readonly reference: Reference;
}

export interface OpenOutcome {
  readonly buffer: Uint8Array<ArrayBuffer>;
  /**
   * Where in the buffer the plaintext is; undefined if the bytes do not match the address; otherwise
   * the error, as data because errors lose their class between threads.
   */
  readonly plaintext:
    | { readonly start: number; readonly length: number }
    | { readonly code: ErrorCode; readonly message: string }
    | undefined;
}

/** Loads what a thread needs before its first job. */
export async function warmUp(nacl: NaClChoice): Promise<void> {
  await loadNaCl(nacl);
}

/** Seals a leaf as `sealLeaf` does. */
export async function seal(job: SealJob): Promise<SealOutcome> {
  const { buffer, length, dedupSecret, known } = job;
  const naCl = await loadNaCl(job.nacl);
  const plaintext = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + length);
  const leaf = { plaintext, buffer, dedupSecret, known };
  const { reference, storedBefore } = sealLeaf(naCl, leaf);
  return transferred({ buffer, reference, storedBefore });
}

/** Checks a leaf against its address, and opens it in place. */
export async function open(job: OpenJob): Promise<OpenOutcome> {
  const { buffer, length, reference } = job;
  const naCl = await loadNaCl(job.nacl);
  try {
    const plaintext = openChildAt(naCl, "leaf", reference, buffer.subarray(0, length));
    if (plaintext === undefined) return transferred({ buffer, plaintext });
    const start = plaintext.byteOffset - buffer.byteOffset;
    return transferred({ buffer, plaintext: { start, length: plaintext.length } });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return transferred({ buffer, plaintext: { code: error.code, message: error.message } });
  }
}

/** Marks the outcome's buffer for the pool to transfer rather than copy. */
function transferred<Outcome extends { readonly buffer: Uint8Array<ArrayBuffer> }>(
  outcome: Outcome,
): Outcome {
  return move({
    get [transferableSymbol]() {
      return outcome.buffer.buffer;
    },
    get [valueSymbol]() {
      return outcome;
    },
  }) as unknown as Outcome;
}
