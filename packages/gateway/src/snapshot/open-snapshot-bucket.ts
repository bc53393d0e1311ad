import { createHash } from "node:crypto";
import { type Address, parseAddress } from "@idk/storage";
import type { Catalog } from "../catalog/catalog.ts";
import { openCatalog } from "../catalog/open-catalog.ts";
import type { ExportedRow } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";
import { createBudget } from "../objects/memory/budget.ts";
import type { Objects } from "../objects/objects.ts";
import { newList, removeList, removeUnusedLists } from "./list-files.ts";
import { readWithin } from "./read-within.ts";

/** A file of a snapshot. */
export interface SnapshotFile {
  /** Names joined by slashes, as bytes. */
  readonly path: Uint8Array;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** SHA-256 of the content. */
  readonly sha256: Uint8Array;
}

/** A snapshot to serve. */
export interface SnapshotSource {
  /** The name of the bucket. */
  readonly bucket: string;
  /** When the snapshot was made, in milliseconds since 1970. */
  readonly time: number;
  /** The region to tell clients, by default `us-east-1`. */
  readonly region?: string | undefined;
  /** Bytes of memory for content in flight, by default 160 MiB. */
  readonly memoryBytes?: number | undefined;
  files(): AsyncIterable<SnapshotFile>;
  /** The bytes of a file: start inclusive, end exclusive. */
  content(
    path: Uint8Array,
    range: { readonly start: number; readonly end: number } | undefined,
    signal: AbortSignal | undefined,
  ): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** A snapshot as a bucket that can only be read. */
export interface SnapshotBucket {
  readonly catalog: Catalog;
  readonly objects: Objects;
  /** Resolves once all files are listed, which takes minutes for millions. Until then, some are missing. */
  readonly listed: Promise<ListedFiles>;
  /** Ends listing, and deletes the list of files. */
  close(): Promise<void>;
}

/** How many files were listed. */
export interface ListedFiles {
  readonly files: number;
  /** Files whose paths cannot be keys: they are longer than 1,024 bytes, or not UTF-8. */
  readonly skipped: number;
}

const KEY_MAX = 1024;
const BATCH = 500;
const MEMORY_DEFAULT = 160 * 2 ** 20;

/**
 * Lists the files of a snapshot in a catalog of its own, for lists in S3's order, which is not that of
 * folders: `a-b` comes before `a/b`, and a folder's name before what sorts after it.
 *
 * @param folder for the list, a file that only this user can read; lists of processes that were killed are
 *   deleted from it
 */
export async function openSnapshotBucket(
  source: SnapshotSource,
  folder: string,
): Promise<SnapshotBucket> {
  await removeUnusedLists(folder);
  const file = newList(folder);
  const catalog = await openCatalog(file);
  const closing = new AbortController();
  const listed = importFiles(catalog, source, closing.signal);
  // Whoever waits for it sees the error.
  listed.catch(() => {});
  return {
    catalog,
    objects: readOnly(source),
    listed,
    async close() {
      closing.abort(new Error("the snapshot is no longer served"));
      await listed.catch(() => {});
      await catalog.close();
      await removeList(file);
    },
  };
}

async function importFiles(
  catalog: Catalog,
  source: SnapshotSource,
  signal: AbortSignal,
): Promise<ListedFiles> {
  const [id, owner] = [1, "idk"] as const;
  const { region = "us-east-1" } = source;
  const bucket = { id, name: source.bucket, owner, region, time: source.time };
  let [files, skipped, seq] = [0, 0, id];
  let batch: ExportedRow[] = [{ type: "bucket", bucket }];
  for await (const file of source.files()) {
    signal.throwIfAborted();
    if (!isKey(file.path)) {
      skipped += 1;
      continue;
    }
    files += 1;
    seq += 1;
    batch.push(rowOf(file, id, seq));
    if (batch.length < BATCH) continue;
    await catalog.importRows(batch);
    batch = [];
  }
  await catalog.importRows(batch);
  return { files, skipped };
}

function rowOf(
  { path, size, time, sha256 }: SnapshotFile,
  bucket: number,
  seq: number,
): ExportedRow {
  const digest = Buffer.from(sha256);
  return {
    type: "object",
    contents: [],
    parts: [],
    object: {
      bucket,
      seq,
      size,
      time,
      key: path,
      // With a dash, no client takes it for an MD5.
      etag: `${digest.toString("hex").slice(0, 32)}-1`,
      checksums: { sha256: digest.toString("base64") },
      kind: "inline",
      root: rootOf(path),
      headers: {},
      tags: [],
      parts: 0,
    },
  };
}

/** A snapshot has no root for a file. The catalog needs an address, which is not used. */
function rootOf(path: Uint8Array): Address {
  return parseAddress(createHash("sha256").update(path).digest("hex"));
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function isKey(path: Uint8Array): boolean {
  if (path.length > KEY_MAX) return false;
  return Buffer.from(decoder.decode(path)).equals(path);
}

/** Objects of which only reading works. The gateway refuses the rest before it comes here. */
function readOnly({ content, memoryBytes = MEMORY_DEFAULT }: SnapshotSource): Objects {
  const budget = createBudget(memoryBytes);
  const refuse = async (): Promise<never> => {
    throw new S3Error("AccessDenied", "A snapshot cannot be changed.");
  };
  return {
    canRead: true,
    readObject({ object: { key, size } }, range = { start: 0, end: size }, options = {}) {
      const isWhole = range.start === 0 && range.end === size;
      // Only of a whole file the hash is compared.
      const open = (start: number) =>
        content(
          key,
          isWhole && start === 0 ? undefined : { start, end: range.end },
          options.signal,
        );
      return readWithin(budget, open, range, options);
    },
    readForCopy: () => {
      throw new S3Error("AccessDenied", "A snapshot cannot be changed.");
    },
    putObject: refuse,
    putPart: refuse,
    completeUpload: refuse,
    abortUpload: refuse,
    changeObject: refuse,
    copyObject: refuse,
    setTags: refuse,
    copyPart: refuse,
    deleteObjects: refuse,
    createBucket: refuse,
    deleteBucket: refuse,
    maintenance: { collect: refuse, sweep: refuse, snapshot: refuse, check: refuse },
    metrics: () => ({
      budgetBytes: budget.bytes,
      budgetUsed: budget.used(),
      budgetWaiting: budget.waiting(),
      preemptions: budget.preemptions(),
    }),
    close: async () => {},
  };
}
