/** What runs in each thread of the pool. */
import { type ErrorCode, StorageError, loadNaCl } from "@idk/storage";
import { type AttributePolicy, attributeSetter } from "../target/attributes.ts";
import { type FileTable, decodeTable } from "./file-table.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { memoryKeeper, memoryOfRuntime } from "../../threads/memory.ts";
import { codeOf } from "../../files/errors.ts";
import { openChild } from "@idk/storage/blobs";
import { openHost } from "../../files/open-host.ts";
import { writePiece } from "../contents/write-file.ts";

/** A pack to open and files to write from it. Its buffer is given away, and returned with the outcome. */
export interface FileJob {
  readonly policy: AttributePolicy;
  readonly verify: boolean;
  readonly deletes: boolean;
  readonly contentKey: Uint8Array;
  /** Begins with the sealed pack, whose address was checked. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  readonly length: number;
  readonly files: FileTable;
}

/** An error as data, because errors lose their class between threads. */
export interface ThreadFault {
  readonly message: string;
  readonly storage: ErrorCode | undefined;
  readonly code: string | undefined;
  /** Of a call to the system that failed. */
  readonly syscall: string | undefined;
}

export interface FileOutcome {
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Where in the buffer the plaintext is, or why there is none. */
  readonly plaintext: { readonly start: number; readonly length: number } | ThreadFault;
  readonly faults: readonly { readonly at: number; readonly fault: ThreadFault }[];
  readonly warnings: readonly { readonly at: number; readonly message: string }[];
}

/** Loads what a thread needs before its first job. */
export async function warmUp(): Promise<void> {
  await Promise.all([loadNaCl(), hostOfThread()]);
  freeMemory = memoryKeeper(await memoryOfRuntime());
}

/** Of this thread, whose memory no other can free. */
let freeMemory: () => void = () => {};

let opening: ReturnType<typeof openHost> | undefined;

function hostOfThread(): ReturnType<typeof openHost> {
  opening ??= openHost();
  return opening;
}

export async function write(job: FileJob): Promise<FileOutcome> {
  const { buffer, length, contentKey, policy, verify, deletes } = job;
  const [naCl, host] = await Promise.all([loadNaCl(), hostOfThread()]);
  const faults: { at: number; fault: ThreadFault }[] = [];
  const warnings: { at: number; message: string }[] = [];
  let plaintext: Uint8Array;
  try {
    plaintext = openChild(naCl, { kind: "leaf", contentKey, blob: buffer.subarray(0, length) });
  } catch (error) {
    return transferred({ buffer, plaintext: faultOf(error), faults, warnings });
  }
  const attributes = attributeSetter(host, policy);
  let at = 0;
  for (const file of decodeTable(job.files)) {
    try {
      const warn = (message: string): unknown => warnings.push({ at, message });
      const folder = { fd: file.folder, path: EMPTY };
      writePiece({ host, attributes, verify, deletes }, folder, file, plaintext, warn);
    } catch (error) {
      faults.push({ at, fault: faultOf(error) });
    }
    at += 1;
  }
  freeMemory();
  const start = plaintext.byteOffset - buffer.byteOffset;
  const where = { start, length: plaintext.length };
  return transferred({ buffer, plaintext: where, faults, warnings });
}

const EMPTY = new Uint8Array(0);

function faultOf(error: unknown): ThreadFault {
  return {
    message: error instanceof Error ? error.message : String(error),
    storage: error instanceof StorageError ? error.code : undefined,
    code: codeOf(error),
    syscall: error instanceof Error && "syscall" in error ? String(error.syscall) : undefined,
  };
}

/** Marks the buffer for the pool to transfer rather than copy. */
function transferred(outcome: FileOutcome): FileOutcome {
  return move({
    get [transferableSymbol]() {
      return outcome.buffer.buffer;
    },
    get [valueSymbol]() {
      return outcome;
    },
  }) as unknown as FileOutcome;
}
