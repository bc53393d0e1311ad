/** What runs in each thread of the pool. */
import { type NaClChoice, loadNaCl, StorageError } from "@idk/storage";
import {
  type Codec,
  type Compress,
  type CompressedBatch,
  type SealTask,
  compressBatch,
  sealVerified,
  zstdCompress,
} from "./jobs.ts";
import { loadLz4BlockEncoder } from "@idk/storage/blobs";
import { memoryKeeper, memoryOfRuntime } from "../../threads/memory.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";

type Bytes = Uint8Array<ArrayBuffer>;

/** Jobs give their buffers away, and the outcome returns the same memory. */
export interface CompressJob {
  readonly buffer: Bytes;
  readonly lengths: Uint32Array;
  readonly codec: Codec;
}

export interface CompressOutcome extends CompressedBatch {
  readonly buffer: Bytes;
}

export interface SealJob extends SealTask {
  readonly nacl: NaClChoice;
  readonly blob: Bytes;
}

export interface SealOutcome {
  readonly blob: Bytes;
  /** Or why there is none, as text because errors lose their class between threads. */
  readonly address: string | { readonly message: string };
}

/** Loads what a thread needs before its first job. */
export async function warmUp({ nacl }: { readonly nacl: NaClChoice }): Promise<void> {
  await loadNaCl(nacl);
  freeMemory = memoryKeeper(await memoryOfRuntime());
}

/** Of this thread, whose memory no other can free. */
let freeMemory: () => void = () => {};

const loaded: Partial<Record<Codec, Compress>> = { zstd: zstdCompress };

export async function compress({ buffer, lengths, codec }: CompressJob): Promise<CompressOutcome> {
  freeMemory();
  const encode = (loaded[codec] ??= await loadLz4BlockEncoder());
  const outcome = { buffer, ...compressBatch(buffer, lengths, codec, encode) };
  return transferred(outcome, [buffer.buffer]);
}

export async function seal(job: SealJob): Promise<SealOutcome> {
  freeMemory();
  const { blob } = job;
  const naCl = await loadNaCl(job.nacl);
  let address: SealOutcome["address"];
  try {
    address = sealVerified(naCl, job, freeMemory);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    address = { message: error.message };
  }
  return transferred({ blob, address }, [blob.buffer]);
}

/** Marks buffers for the pool to transfer rather than copy. */
function transferred<Outcome extends object>(
  outcome: Outcome,
  buffers: readonly ArrayBuffer[],
): Outcome {
  return move({
    get [transferableSymbol]() {
      return buffers as unknown as ArrayBuffer;
    },
    get [valueSymbol]() {
      return outcome;
    },
  }) as unknown as Outcome;
}
