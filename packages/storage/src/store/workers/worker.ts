import { type ErrorCode, StorageError } from "../../errors.ts";
import { type NaClChoice, loadNaCl } from "../../crypto/load-nacl.ts";
import { CHILD_OVERHEAD } from "../../format/limits.ts";
import type { Reference } from "../../format/tree.ts";
import { addressOf } from "../../content/address.ts";
import { openChild } from "../../crypto/seal.ts";
import { sealLeaf } from "../write/seal-leaf.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";

/**
 * What is done with a leaf in another thread. Its buffer goes there and comes back without a copy:
 * a call gives the buffer away, and goes on with the one in the outcome, which is the same memory.
 */
export interface SealJob {
  readonly nacl: NaClChoice;
  /** The plaintext lies in it at offset 59. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes of plaintext. */
  readonly length: number;
  readonly dedupSecret: Uint8Array | undefined;
  /** See `sealLeaf`. */
  readonly known: Reference | undefined;
}

export interface SealOutcome {
  /** The sealed leaf lies at its front. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly reference: Reference;
  readonly storedBefore: boolean;
}

export interface OpenJob {
  readonly nacl: NaClChoice;
  /** What was stored lies at its front. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes that were stored. */
  readonly length: number;
  readonly reference: Reference;
}

export interface OpenOutcome {
  readonly buffer: Uint8Array<ArrayBuffer>;
  /**
   * Where the plaintext lies in the buffer; undefined where the bytes are not those of the address;
   * otherwise what is wrong with them. Errors lose their class on the way, so they go as data.
   */
  readonly plaintext:
    | { readonly start: number; readonly length: number }
    | { readonly code: ErrorCode; readonly message: string }
    | undefined;
}

/** Seals a leaf as `sealLeaf` does. */
export async function runSeal(job: SealJob): Promise<SealOutcome> {
  const { buffer, length, dedupSecret, known } = job;
  const naCl = await loadNaCl(job.nacl);
  const plaintext = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + length);
  const { reference, storedBefore } = sealLeaf(naCl, plaintext, buffer, dedupSecret, known);
  return { buffer, reference, storedBefore };
}

/** Checks a leaf against its address, and opens it in place. */
export async function runOpen(job: OpenJob): Promise<OpenOutcome> {
  const { buffer, length, reference } = job;
  const naCl = await loadNaCl(job.nacl);
  const blob = buffer.subarray(0, length);
  if (addressOf(blob) !== reference.address) return { buffer, plaintext: undefined };
  try {
    const plaintext = openChild(naCl, "leaf", reference.contentKey, blob);
    const start = plaintext.byteOffset - buffer.byteOffset;
    return { buffer, plaintext: { start, length: plaintext.length } };
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { buffer, plaintext: { code: error.code, message: error.message } };
  }
}

/** What runs in each thread of the pool. */

/** Loads what a thread needs, before there is anything to do. */
export async function warmUp(nacl: NaClChoice): Promise<void> {
  await loadNaCl(nacl);
}

export async function seal(job: SealJob): Promise<SealOutcome> {
  return returned(await runSeal(job));
}

export async function open(job: OpenJob): Promise<OpenOutcome> {
  return returned(await runOpen(job));
}

/** Tells the pool which memory of the outcome to hand over rather than copy. */
function returned<Outcome extends { readonly buffer: Uint8Array<ArrayBuffer> }>(
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
