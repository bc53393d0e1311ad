import { linkedAbort, throwIfAborted } from "../../abort.ts";
import {
  type Copier,
  type CopyMode,
  type CopyResult,
  type NamedBlob,
  createCopier,
} from "./copy-blob.ts";
import { CALLS_MAX } from "../flow/controller.ts";
import { CHILD_BLOB_MAX, HASH_LENGTH, ROOT_BLOB_MAX } from "../../format/limits.ts";
import { CHUNKS_AT_ONCE, checkConcurrency } from "../check-options.ts";
import { StorageError, usage } from "../../errors.ts";
import type { Measuring } from "../flow/measuring.ts";
import { createBlobGate } from "../flow/gate.ts";
import { type MemoryBudget, budgetOf } from "../flow/budget.ts";
import type { Backend } from "../../backend/backend.ts";
import type { CallOptions } from "../options.ts";
import { pMapIterable } from "p-map";
import { parseAddress } from "../../crypto/address.ts";
import { createBufferPool } from "../buffers.ts";
import { fromHex, toHex } from "../../bytes.ts";
import { wrapBackend } from "../../backend/wrap.ts";

/** Options of `replicate`. */
export interface ReplicateOptions extends CallOptions {
  /** Names of the blobs to copy, such as `Store.treeAddresses` yields; by default all blobs. */
  readonly names?: AsyncIterable<string> | Iterable<string> | undefined;
  /**
   * When roots are copied:
   *
   * - `last`, the default: after everything else, so that even if the copy is interrupted, no root
   *   reaches the target before its chunks. Their names are held in memory, 36 bytes each, and they
   *   are fetched twice, because only a blob's bytes reveal that it is a root.
   * - `if-complete`: as `last`, but only if nothing else failed. For copying one tree.
   * - `as-listed`: like any other blob. For stores with too many roots to hold their names; until
   *   the copy is complete, the target may have roots without their chunks.
   */
  readonly roots?: "last" | "if-complete" | "as-listed" | undefined;
  /**
   * Whether a blob of the right size counts as copied if the target does not verify checksums and
   * returns the right bytes for a random part of it. By default it is downloaded from the target and
   * checked, because anyone may have planted garbage under its name.
   */
  readonly trustSize?: boolean | undefined;
  /**
   * The most blobs in flight at once, 1 to 64, by default 64. Up to that, the number follows what is
   * measured: it begins with up to 4, grows while more are copied faster, as small ones are to or from a store
   * far away, and falls if a backend has to retry.
   */
  readonly concurrency?: number | undefined;
  /**
   * What the process may take, as `memory` of `createStore`; by default its 256 MiB for all stores and
   * copies that set none. A blob counts as four times its size, or the longest
   * until then if that is not known.
   */
  readonly memory?: number | MemoryBudget | undefined;
  /**
   * Whether to copy the markers too, as a repository of snapshots needs. Those that are there when
   * the copy begins and when all blobs are copied are stored at the end, and only if no blob failed:
   * so what they need is in the copy if nothing but a prune deletes from the source meanwhile, which
   * deletes markers first: if the report has some `removed` and no `markersRemoved`, something else may
   * have deleted them. Do not prune the target during the copy. Their names are held in memory, 56 bytes
   * each. By default false.
   */
  readonly markers?: boolean | undefined;
  /** Called after each blob with the report so far. */
  readonly onProgress?: ((progress: ReplicateReport) => void) | undefined;
  /** Called for each blob that is damaged, unreadable, missing or not a valid blob. */
  readonly onFailure?: ((failure: ReplicateFailure) => void) | undefined;
}

/** A blob that `replicate` could not copy. */
export interface ReplicateFailure {
  readonly name: string;
  /** Code `address`, `format`, `limit`, `not-found`, or `unavailable` or `permission` if it cannot be read. */
  readonly error: StorageError;
}

/** Numbers of blobs, at the end of `replicate` or so far. */
export interface ReplicateReport {
  readonly copied: number;
  /** Bytes of the blobs copied. */
  readonly copiedBytes: number;
  /** Blobs that the target already had. */
  readonly skipped: number;
  readonly failed: number;
  /** Roots not copied because something else failed; see `roots`. */
  readonly withheld: number;
  /** Blobs that were deleted after they were listed. */
  readonly removed: number;
  /** Markers stored, if they are to be copied; see `markers`. */
  readonly markers?: number;
  /** Markers that were deleted during the copy, and so are not stored; if no blob failed. */
  readonly markersRemoved?: number;
}

/**
 * Copies blobs unchanged from one backend to another, without any key. Each is checked: its bytes
 * match its name and start with a valid envelope. Blobs that the target already has are skipped, so
 * an interrupted copy can be resumed by calling this again. The target has a blob if it verified the
 * blob's checksum (or `trustSize` is set), its size is that of the source, and both return the same
 * 64 bytes at a random place: besides the HEAD request, two ranged reads for each blob that is
 * skipped, and a HEAD request at the source if `names` are given. If not, the target's blob is
 * downloaded and checked, or copied again.
 *
 * The target must exist. That includes a filesystem's directory, which a first put would create.
 *
 * Writing to the source during the copy does no harm, but new roots may be copied without their
 * chunks until the next copy.
 *
 * With write-only credentials for the target, everything is sent.
 *
 * @throws StorageError `usage`, `permission`, `unavailable`, `aborted`. `unavailable` also if the source
 *   does not list markers in ascending order. A blob that cannot be copied because of its own faults is
 *   counted as failed and does not stop the others. That includes blobs that the source refuses to deliver
 *   (`permission`), or fails to deliver (`unavailable`) although a HEAD request for them succeeds, provided
 *   that there are fewer than 8 of them in a row.
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
  const most = checkConcurrency(options.concurrency) ?? CALLS_MAX;
  const budget = budgetOf(options.memory);
  const { signal, stop } = linkedAbort(options.signal);
  const buffers = createBufferPool(() => gate.width());
  const unreadable = { inARow: 0 };
  const gate = createBlobGate(copier, budget, most);
  const report = { copied: 0, copiedBytes: 0, skipped: 0, failed: 0, withheld: 0, removed: 0 };
  const held = createNameList(HASH_LENGTH + SIZE_BYTES);
  const inFlight = new Set<Promise<unknown>>();

  function copier({ measure, retry }: Measuring): Copier {
    const copy = createCopier({
      from: observed(from, retry),
      to: observed(to, retry),
      trustSize,
      buffers,
      unreadable,
      signal,
    });
    return (blob, how) => measure(() => copy(blob, how), bytesOf);
  }

  /** Whether it was deleted after it was listed. If it is still listed, the store lost its bytes. */
  const isRemoved = async (name: string, { code }: StorageError): Promise<boolean> =>
    names === undefined && code === "not-found" && !(await isListed(from, name, signal));

  const count = async (name: string, result: CopyResult): Promise<void> => {
    if (result.outcome === "held") {
      held.push(name + result.bytes.toString(16).padStart(2 * SIZE_BYTES, "0"));
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

  const copyAll = async (blobs: AsyncIterable<NamedBlob>, how: CopyMode): Promise<void> => {
    const copyOne = async (blob: NamedBlob) => {
      const { name, size } = blob;
      const copying = gate
        .pass((copy, known) => copy({ name, size: known }, how), { signal, size })
        .then(async (result) => count(name, result));
      inFlight.add(copying);
      try {
        await copying;
      } finally {
        inFlight.delete(copying);
      }
    };
    for await (const _ of pMapIterable(blobs, copyOne, {
      concurrency: most,
      preserveOrder: false,
    }));
  };

  try {
    // First, so that everything that a marker means is among the blobs listed after it.
    const heads = options.markers === true ? await markersOf(from, to, signal) : undefined;
    const blobs = names ? named(names) : from.list("", { signal });
    const holdRoots = roots !== "as-listed";
    await copyAll(blobs, { knownMissing: false, holdRoots, longest: CHILD_BLOB_MAX });
    if (roots === "if-complete" && report.failed > 0) report.withheld = held.length;
    else {
      const how = { knownMissing: true, holdRoots: false, longest: ROOT_BLOB_MAX };
      await copyAll(heldBlobs(held), how);
    }
    if (heads === undefined) return report;
    let stored = 0;
    const putMarker = async (digits: string) => {
      const putting = to.putMarker!(markerOf(digits), { signal });
      inFlight.add(putting);
      await putting;
      stored += 1;
    };
    if (report.failed > 0) return { ...report, markers: 0 };
    // A prune deletes markers first, so it deleted nothing of what is still marked.
    const left = inBoth(heads, digitsOfMarkers(from, signal));
    const concurrency = Math.min(most, CHUNKS_AT_ONCE);
    for await (const _ of pMapIterable(left, putMarker, { concurrency, preserveOrder: false }));
    return { ...report, markers: stored, markersRemoved: heads.length - stored };
  } finally {
    stop();
    // Nothing is being written once this settles.
    await Promise.allSettled(inFlight);
  }
}

/** The backend, telling of each retry of a call that is part of a copy. */
function observed(backend: Backend, onRetry: () => void): Backend {
  return wrapBackend(backend, {
    put: (put) => (name, blob, given) => put(name, blob, { ...given, onRetry }),
    get: (get) => (name, buffer, given) => get(name, buffer, { ...given, onRetry }),
    getRange: (get) => (name, offset, into, given) =>
      get(name, offset, into, { ...given, onRetry }),
    head: (head) => (name, given) => head(name, { ...given, onRetry }),
  });
}

function bytesOf(result: CopyResult): number {
  return "bytes" in result ? result.bytes : 0;
}

async function isListed(backend: Backend, name: string, signal: AbortSignal): Promise<boolean> {
  for await (const found of backend.list(name, { signal })) if (found.name === name) return true;
  return false;
}

type AnyIterable<T> = AsyncIterable<T> | Iterable<T>;

async function* named(names: AnyIterable<string>): AsyncGenerator<NamedBlob> {
  for await (const name of names) yield { name: parseAddress(name) };
}

/** Of the size of a root, after its name. */
const SIZE_BYTES = 4;

async function* heldBlobs(held: Iterable<string>): AsyncGenerator<NamedBlob> {
  for (const digits of held) {
    const size = Number.parseInt(digits.slice(2 * HASH_LENGTH), 16);
    yield { name: digits.slice(0, 2 * HASH_LENGTH), size };
  }
}

const CHAIN_DIGITS = 32;
const GENERATION_DIGITS = 16;
const MARKER_BYTES = (CHAIN_DIGITS + GENERATION_DIGITS) / 2 + HASH_LENGTH;

/**
 * The digits of the names of all markers.
 *
 * @throws StorageError `usage` if one of the backends has no markers
 */
async function markersOf(from: Backend, to: Backend, signal: AbortSignal): Promise<NameList> {
  for (const { listMarkers, putMarker, description } of [from, to]) {
    if (!listMarkers || !putMarker) throw usage(`cannot copy markers: ${description} has none`);
  }
  const digits = createNameList(MARKER_BYTES);
  for await (const name of digitsOfMarkers(from, signal)) digits.push(name);
  return digits;
}

/** @throws StorageError `unavailable` if they are not in ascending order, for some would be left out then */
async function* digitsOfMarkers(from: Backend, signal: AbortSignal): AsyncGenerator<string> {
  let last = "";
  for await (const { name } of from.listMarkers!("", { signal })) {
    if (name <= last) {
      throw new StorageError(
        "unavailable",
        `${from.description} does not list markers in ascending order, so they cannot be copied: ` +
          `${name} came after ${last}. Report it to the maintainers of that server or backend`,
      );
    }
    last = name;
    yield name.replace(/[/-]/gu, "");
  }
}

/** Names that two lists have, both in ascending order, as listings are. */
async function* inBoth(
  first: Iterable<string>,
  second: AsyncIterable<string>,
): AsyncGenerator<string> {
  const rest = first[Symbol.iterator]();
  let next = rest.next();
  for await (const name of second) {
    while (next.done !== true && next.value < name) next = rest.next();
    if (next.done === true) return;
    if (next.value === name) yield name;
  }
}

function markerOf(digits: string): string {
  const generation = CHAIN_DIGITS + GENERATION_DIGITS;
  return `${digits.slice(0, CHAIN_DIGITS)}/${digits.slice(CHAIN_DIGITS, generation)}-${digits.slice(generation)}`;
}

/** Digits in order of arrival, at half a byte each; a string takes more than twice that. */
interface NameList extends Iterable<string> {
  readonly length: number;
  push(name: string): void;
}

const NAMES_PER_PART = 1024;

/** @param length bytes of each name, which is twice as many digits */
function createNameList(length: number): NameList {
  const parts: Uint8Array[] = [];
  let count = 0;
  return {
    get length() {
      return count;
    },
    push(name) {
      const at = count % NAMES_PER_PART;
      if (at === 0) parts.push(new Uint8Array(NAMES_PER_PART * length));
      parts.at(-1)!.set(fromHex(name), at * length);
      count += 1;
    },
    *[Symbol.iterator]() {
      for (let i = 0; i < count; i++) {
        const at = (i % NAMES_PER_PART) * length;
        yield toHex(parts[Math.floor(i / NAMES_PER_PART)]!.subarray(at, at + length));
      }
    },
  };
}
