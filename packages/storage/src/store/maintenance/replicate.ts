import { linkedAbort, throwIfAborted } from "../../abort.ts";
import { type CopyMode, type CopyResult, type NamedBlob, createCopier } from "./copy-blob.ts";
import { FORMAT_DEFAULTS, concurrencyOf } from "../context.ts";
import { type StorageError, usage } from "../../errors.ts";
import type { Backend } from "../../backend/backend.ts";
import type { CallOptions } from "../options.ts";
import { pMapIterable } from "p-map";
import { parseAddress } from "../../content/address.ts";
import { HASH_LENGTH } from "../../format/limits.ts";
import { fromHex, toHex } from "../../bytes.ts";

export interface ReplicateOptions extends CallOptions {
  /** Names of the blobs to copy, such as `Store.treeAddresses` gives; by default all of the source. */
  readonly names?: AsyncIterable<string> | Iterable<string> | undefined;
  /**
   * When roots are copied:
   *
   * - `last`, the default: after everything else, so that whatever interrupts the copy, no root is
   *   at the target before its chunks. Their names wait in memory, 32 bytes each, and they are
   *   fetched twice, since a root is known as one only by its bytes.
   * - `if-complete`: the same, but only where nothing else failed. For the copy of one tree.
   * - `as-listed`: like any blob. For stores of so many roots that their names are too much;
   *   until the copy is done, roots may be at the target whose chunks are not.
   */
  readonly roots?: "last" | "if-complete" | "as-listed" | undefined;
  /**
   * Whether a blob of the right size at a target that attests nothing counts as copied. By default
   * it is fetched from there and checked, since anyone may have planted garbage under its name.
   */
  readonly trustSize?: boolean | undefined;
  /** Blobs in flight at once, 1 to 64, by default 4. Memory is up to 16 MiB for each. */
  readonly concurrency?: number | undefined;
  /** Told the state after each blob. */
  readonly onProgress?: ((progress: ReplicateReport) => void) | undefined;
  /** Told of each blob that is not copied because it is damaged, unreadable, missing or no blob. */
  readonly onFailure?: ((failure: ReplicateFailure) => void) | undefined;
}

export interface ReplicateFailure {
  readonly name: string;
  /** Its code is `address`, `format`, `limit`, `not-found` or, where it cannot be read, `unavailable`. */
  readonly error: StorageError;
}

export interface ReplicateReport {
  readonly copied: number;
  /** Bytes of the blobs copied. */
  readonly copiedBytes: number;
  /** Blobs that the target had. */
  readonly skipped: number;
  readonly failed: number;
  /** Roots not copied because something else failed; see `roots`. */
  readonly withheld: number;
  /** Blobs that were listed, and that somebody removed before their turn. */
  readonly removed: number;
}

/**
 * Copies blobs from one place to another as they are, without any key. Each is checked on its way:
 * its bytes match its name and begin with an envelope of the format. What the target has already is
 * skipped, so that a copy that was interrupted goes on when it is called again.
 *
 * The target exists: a filesystem's directory too, which is otherwise made by the first put.
 *
 * Writing to the source meanwhile does no harm, but new roots may be copied without their chunks,
 * until the next copy brings them.
 *
 * Who may only write to the target cannot ask what it has: everything is sent then.
 *
 * @throws StorageError `usage`, `permission`, `unavailable`, `aborted`. A blob that cannot be copied
 *   for its own faults is counted, and does not stop the others. One that the source does not give
 *   (`unavailable`) is such, as long as the source tells its size and fails less than 8 in a row.
 */
export async function replicate(
  from: Backend,
  to: Backend,
  options: ReplicateOptions = {},
): Promise<ReplicateReport> {
  throwIfAborted(options.signal);
  const { roots = "last", names, trustSize = false } = options;
  if (roots !== "last" && roots !== "if-complete" && roots !== "as-listed") {
    throw usage('roots must be "last", "if-complete" or "as-listed"');
  }
  const concurrency = concurrencyOf(FORMAT_DEFAULTS, options.concurrency);
  const { signal, stop } = linkedAbort(options.signal);
  const copy = createCopier({ from, to, trustSize, concurrency, signal });
  const report = { copied: 0, copiedBytes: 0, skipped: 0, failed: 0, withheld: 0, removed: 0 };
  const held = createNameList();
  const inFlight = new Set<Promise<unknown>>();

  /** Whether it was listed and is gone. A store that still lists it has lost its bytes. */
  const isRemoved = async (name: string, { code }: StorageError): Promise<boolean> =>
    names === undefined && code === "not-found" && !(await isListed(from, name, signal));

  const count = async (name: string, result: CopyResult): Promise<void> => {
    if (result.outcome === "held") {
      held.push(name);
      return;
    }
    if (result.outcome === "failed") {
      if (await isRemoved(name, result.error)) {
        report.removed += 1;
        options.onProgress?.({ ...report });
        return;
      }
      options.onFailure?.({ name, error: result.error });
    }
    if (result.outcome === "copied") report.copiedBytes += result.bytes;
    report[result.outcome] += 1;
    options.onProgress?.({ ...report });
  };

  const copyAll = async (blobs: AnyIterable<NamedBlob>, how: CopyMode): Promise<void> => {
    const copyOne = async (blob: NamedBlob) => {
      const copying = copy(blob, how);
      inFlight.add(copying);
      try {
        await count(blob.name, await copying);
      } finally {
        inFlight.delete(copying);
      }
    };
    for await (const _ of pMapIterable(blobs, copyOne, { concurrency, preserveOrder: false }));
  };

  try {
    const blobs = names ? named(names) : from.list("", { signal });
    await copyAll(blobs, { targetLacks: false, holdRoots: roots !== "as-listed" });
    if (roots === "if-complete" && report.failed > 0) report.withheld = held.length;
    else await copyAll(named(held), { targetLacks: true, holdRoots: false });
    return report;
  } finally {
    stop();
    // When this settles nothing is being written any more.
    await Promise.allSettled(inFlight);
  }
}

async function isListed(backend: Backend, name: string, signal: AbortSignal): Promise<boolean> {
  for await (const found of backend.list(name, { signal })) if (found.name === name) return true;
  return false;
}

type AnyIterable<T> = AsyncIterable<T> | Iterable<T>;

async function* named(names: AnyIterable<string>): AsyncGenerator<NamedBlob> {
  for await (const name of names) yield { name: parseAddress(name) };
}

/** Names in the order in which they came, at 32 bytes each: a text takes three times that. */
export interface NameList extends Iterable<string> {
  readonly length: number;
  push(name: string): void;
}

const NAMES_PER_PART = 1024;

export function createNameList(): NameList {
  const parts: Uint8Array[] = [];
  let count = 0;
  return {
    get length() {
      return count;
    },
    push(name) {
      const at = count % NAMES_PER_PART;
      if (at === 0) parts.push(new Uint8Array(NAMES_PER_PART * HASH_LENGTH));
      parts.at(-1)!.set(fromHex(name), at * HASH_LENGTH);
      count += 1;
    },
    *[Symbol.iterator]() {
      for (let i = 0; i < count; i++) {
        const at = (i % NAMES_PER_PART) * HASH_LENGTH;
        yield toHex(parts[Math.floor(i / NAMES_PER_PART)]!.subarray(at, at + HASH_LENGTH));
      }
    },
  };
}
