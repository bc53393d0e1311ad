import { randomBytes } from "node:crypto";
import { type Address, type Backend, createStore, type Identity, loadNaCl } from "@idk/storage";
import { parallelBlobs } from "@idk/storage/blobs";
import { type Catalog, CatalogError } from "../../catalog/catalog.ts";
import type { Bucket, ContentRoot, ExportedRow, Mark } from "../../catalog/records.ts";
import { macKeysOf } from "../identity/mac.ts";
import { listStoredMarks, listStores, storeMarker } from "../lineage/marks.ts";
import { LineageError } from "../lineage/run.ts";
import { type MarkedBackend, requireMarkers } from "../lineage/store-time.ts";
import { createAddressSet } from "../maintenance/address-set.ts";
import { inspectRoot, type Inspector, isMissing } from "../maintenance/inspect-root.ts";
import type { FoundSnapshot } from "../maintenance/lineage.ts";
import { createCandidates } from "./candidates.ts";
import { createRowSpool } from "./row-spool.ts";
import { allRows, noteRecord, type Survey, usableSnapshot } from "./survey.ts";

/** Options of `rebuildCatalog`. */
export interface RebuildOptions {
  /** The store's backend, below `s3/`. */
  readonly backend: Backend;
  /** A new one, without buckets. */
  readonly catalog: Catalog;
  /** Those that open the roots. */
  readonly identities: readonly Identity[];
  /** The key of gateways without an identity, if they were given one that is not of these identities. */
  readonly macKey?: Uint8Array | undefined;
  /** Uses the newest snapshot, and opens only what was stored since. By default true. */
  readonly useSnapshot?: boolean | undefined;
  /** For a file of rows, which is deleted; by default the system's folder for such files. */
  readonly temporaryFolder?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A blob that is at fault, or an object. */
export interface RebuildFault {
  readonly address: Address;
  readonly message: string;
}

/** What a rebuild found. */
export interface RebuildReport {
  readonly buckets: number;
  readonly objects: number;
  /** The snapshot that was used. */
  readonly snapshot: Address | undefined;
  /** Roots that open, but were not made by a gateway. They are refused. At most 1,000. */
  readonly forged: readonly Address[];
  readonly forgedCount: number;
  /**
   * Roots of writes that were passed over for an older object of their key, because content of theirs is
   * missing: of failed writes, or of objects that the store has lost. At most 1,000.
   */
  readonly passedOver: readonly Address[];
  readonly passedOverCount: number;
  /** Blobs that could not be read or opened, and objects whose content is missing. At most 1,000. */
  readonly faults: readonly RebuildFault[];
  readonly faultCount: number;
  /**
   * False if blobs could not be read or opened, because they may be objects, or if a key has no object that
   * is whole. The catalog is then marked as incomplete, and nothing is written or deleted by it until it
   * is rebuilt, or accepted.
   */
  readonly isComplete: boolean;
}

const REPORTED_MAX = 1000;
const BATCH = 500;
/** What was stored so long before a snapshot, and before the writes in progress then began, is in it. */
const MARGIN = 60 * 60_000;
/** More numbers than were given out after the last one that is in the store. */
const SKIPPED = 2 ** 24;

/**
 * Makes a catalog from what is sealed in the store, by the rules in maintenance/lineage.ts. No gateway may
 * write to the store meanwhile. One that goes on afterwards is refused as soon as the new catalog is used.
 *
 * @throws CatalogError `usage` if the catalog is not new; LineageError if it cannot be told which store
 *   it is; StorageError `usage` if its backend has no markers
 */
export async function rebuildCatalog(options: RebuildOptions): Promise<RebuildReport> {
  const { catalog, identities, macKey, useSnapshot = true, signal } = options;
  const backend = requireMarkers(options.backend);
  const { store: bound } = await catalog.lineage();
  if (bound !== undefined || (await catalog.listBuckets({ limit: 1 })).length > 0) {
    throw new CatalogError(
      "usage",
      "cannot rebuild into a catalog that was used; name a new one, or move its file away",
    );
  }
  const macKeys = macKeysOf(identities, macKey);
  if (macKeys === undefined) throw new CatalogError("usage", "a rebuild needs an identity");
  await catalog.setComplete(false);

  const roots = createStore({ backend, identities, workers: 0 });
  const openers = { backend, naCl: await loadNaCl(), identities, macKeys, roots };
  const store = await findStore(backend, openers, signal);
  // Before the listing: what is stored later comes with marks that the catalog does not know.
  const marks = await listStoredMarks(backend, macKeys, store, signal);
  const inspector: Inspector = { ...openers, accepts: (other) => other === store };
  const counts = { forgedCount: 0, faultCount: 0, unread: 0, buckets: 0, objects: 0 };
  const forged: Address[] = [];
  const faults: RebuildFault[] = [];
  const fault = (address: Address, message: string): void => {
    counts.faultCount += 1;
    counts.unread += 1;
    if (faults.length < REPORTED_MAX) faults.push({ address, message });
  };

  await using files = new AsyncDisposableStack();
  const objects = await createRowSpool(options.temporaryFolder);
  files.defer(async () => objects.close());
  const candidates = await createCandidates(options.temporaryFolder);
  files.defer(async () => candidates.close());
  const survey: Survey = {
    listed: createAddressSet(),
    objects,
    buckets: new Map(),
    fallbacks: new Map(),
    candidates,
    deletedBuckets: new Set(),
    highest: 0,
  };
  try {
    const newest = await usableSnapshot(inspector, signal);
    const snapshot = useSnapshot ? newest : undefined;
    const since = snapshot === undefined ? 0 : begunBy(snapshot) - MARGIN;
    const listed = backend.list("", { signal });
    await parallelBlobs(backend).each(listed, async ({ name, size, storedAt }, from) => {
      const address = name as Address;
      survey.listed.add(address);
      if (storedAt !== undefined && storedAt < since) return;
      const inspected = await inspectRoot(
        { ...inspector, backend: from },
        { address, size },
        signal,
      );
      if (inspected.kind === "forged") {
        counts.forgedCount += 1;
        if (forged.length < REPORTED_MAX) forged.push(address);
      } else if (inspected.kind === "unknown") {
        // A blob that was deleted meanwhile is not there.
        if (!isMissing(inspected.error)) fault(address, inspected.error.message);
      } else if (inspected.kind === "record") {
        try {
          await noteRecord(survey, address, inspected);
        } catch (error) {
          fault(address, error instanceof Error ? error.message : String(error));
        }
      }
    });

    const rows = (): AsyncIterable<ExportedRow> => allRows(roots, snapshot, survey, signal);
    const isWhole = (contents: readonly ContentRoot[]): Promise<boolean> =>
      isAllThere(roots, survey, contents, signal);
    Object.assign(counts, await importAll(catalog, survey, rows, isWhole));
    const broken = survey.candidates.broken(REPORTED_MAX);
    for (const root of broken.roots) fault(root as Address, "content of it is missing");
    counts.faultCount += broken.count - broken.roots.length;
    await adopt(catalog, { store, marks, newest, highest: survey.highest });
    const isComplete = counts.unread === 0;
    // With the wrong identity, nothing can be read, and nothing is marked.
    if (isComplete) await backend.putMarker(storeMarker(macKeys, store), { signal });
    await catalog.setComplete(isComplete);
    const passedOver = survey.candidates.passedOver(REPORTED_MAX);
    const { buckets, objects, forgedCount, faultCount } = counts;
    return {
      buckets,
      objects,
      snapshot: snapshot?.address,
      forged,
      forgedCount,
      passedOver: passedOver.roots as Address[],
      passedOverCount: passedOver.count,
      faults,
      faultCount,
      isComplete,
    };
  } finally {
    await survey.objects.close();
    await survey.candidates.close();
  }
}

/** Before the roots that a snapshot may not have, although they were stored before it: of writes in progress. */
function begunBy({ time, manifest: { began = time } }: FoundSnapshot): number {
  return Math.min(time, began);
}

/**
 * The store's ID, by its marker. If that is lost, by what was sealed for the store, all of which has to agree.
 *
 * @throws LineageError
 */
async function findStore(
  backend: MarkedBackend,
  openers: Omit<Inspector, "accepts">,
  signal: AbortSignal | undefined,
): Promise<string> {
  const [marked, ...others] = await listStores(backend, openers.macKeys, signal);
  if (others.length > 0) throw new LineageError("the store has markers of several stores");
  if (marked !== undefined) return marked;
  const named = new Set<string>();
  const listed = backend.list("", { signal });
  await parallelBlobs(backend).each(listed, async ({ name, size }, from) => {
    const blob = { address: name, size };
    for (const store of await storesOf({ ...openers, backend: from }, blob, signal))
      named.add(store);
  });
  if (named.size > 1) {
    throw new LineageError(
      "the store has lost its marker, and has roots of several stores: restore its markers, below `heads/`",
    );
  }
  const [only] = named;
  return only ?? randomBytes(16).toString("hex");
}

/** The store that a root was made for, if it says so. */
async function storesOf(
  openers: Omit<Inspector, "accepts">,
  blob: { readonly address: string; readonly size: number },
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const named: string[] = [];
  // Asked once the record is authentic; what it names is accepted.
  const inspector = { ...openers, accepts: (store: string) => named.push(store) > 0 };
  await inspectRoot(inspector, blob, signal);
  return named;
}

/** Makes the catalog the store's: it remembers its marks and snapshot, and goes on after all its numbers. */
async function adopt(
  catalog: Catalog,
  found: {
    readonly store: string;
    readonly marks: readonly Mark[];
    readonly newest: FoundSnapshot | undefined;
    readonly highest: number;
  },
): Promise<void> {
  const { store, marks, newest } = found;
  await catalog.settle(Math.max(found.highest, newest?.seq ?? 0) + SKIPPED);
  for (const { number, nonce } of marks) await catalog.importMark({ number, nonce });
  if (newest !== undefined) {
    await catalog.recordSnapshot({ seq: newest.seq, time: newest.time, name: newest.address });
  }
  await catalog.bindStore(store);
}

/**
 * Whether content is all there. An upload of a snapshot may have been aborted since, and its content be
 * deleted in part: the leaves go first.
 */
async function isAllThere(
  roots: Inspector["roots"],
  { listed }: Survey,
  contents: readonly ContentRoot[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    for (const { address } of contents) {
      for await (const blob of roots.treeAddresses(address, { signal })) {
        if (!listed.has(blob)) return false;
      }
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Imports the rows that each key gets, buckets first.
 *
 * @param isWhole whether content of a part is all there
 */
async function importAll(
  catalog: Catalog,
  survey: Survey,
  rows: () => AsyncIterable<ExportedRow>,
  isWhole: (contents: readonly ContentRoot[]) => Promise<boolean>,
): Promise<{ buckets: number; objects: number }> {
  const { candidates, deletedBuckets, listed } = survey;
  const buckets = new Map(survey.buckets);
  for await (const row of rows()) if (row.type === "bucket") buckets.set(row.bucket.id, row.bucket);
  for (const [id, bucket] of survey.fallbacks) if (!buckets.has(id)) buckets.set(id, bucket);
  /** Of two buckets of a name, the later one: the other one was deleted. */
  const byName = new Map<string, Bucket>();
  for (const bucket of buckets.values()) {
    if (deletedBuckets.has(bucket.id)) continue;
    const other = byName.get(bucket.name);
    if (other === undefined || other.id < bucket.id) byName.set(bucket.name, bucket);
  }
  const present = new Set([...byName.values()].map(({ id }) => id));
  const uploads = new Set<number>();

  for await (const row of rows()) {
    if (row.type !== "object") continue;
    const { object, contents } = row;
    if (!present.has(object.bucket) || !candidates.counts(object)) continue;
    candidates.offer(
      object,
      contents.every(({ address }) => listed.has(address)),
    );
  }

  let batch: ExportedRow[] = [];
  let weight = 0;
  const add = async (row: ExportedRow): Promise<void> => {
    batch.push(row);
    weight += 1 + (row.type === "object" || row.type === "part" ? row.contents.length : 0);
    if (weight >= BATCH) await flush();
  };
  const flush = async (): Promise<void> => {
    if (batch.length > 0) await catalog.importRows(batch);
    batch = [];
    weight = 0;
  };
  let objects = 0;
  for (const bucket of byName.values()) await add({ type: "bucket", bucket });
  for await (const row of rows()) {
    if (row.type === "object") {
      const { object } = row;
      if (!present.has(object.bucket) || !candidates.counts(object)) continue;
      if (!candidates.take(object)) continue;
      objects += 1;
      await add(row);
    } else if (row.type === "upload" && present.has(row.upload.bucket)) {
      uploads.add(row.upload.seq);
      await add(row);
    } else if (row.type === "part" && uploads.has(row.upload)) {
      if (await isWhole(row.contents)) await add(row);
    }
  }
  await flush();
  return { buckets: present.size, objects };
}
