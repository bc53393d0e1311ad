import { randomUUID } from "node:crypto";
import type { Catalog, Deleted } from "./catalog.ts";
import { createContentsCache } from "./contents-cache.ts";
import type { Database } from "./database/database.ts";
import { batches } from "./database/port.ts";
import { openPostgres } from "./database/postgres.ts";
import { openSqlite } from "./database/sqlite.ts";
import { findBucket, listBuckets, pendingBuckets } from "./plans/buckets.ts";
import { counts, dueGarbage, findKnown, pendingTombstones } from "./plans/cleanup.ts";
import { parseUploadId } from "./plans/convert.ts";
import { lineage, listMarks } from "./plans/lineage.ts";
import { listObjects, listUploads } from "./plans/listing.ts";
import { findObject, listObjectParts, openObject, readParts } from "./plans/objects.ts";
import { exportRows } from "./plans/transfer.ts";
import { findCompleted, findUpload, openUpload } from "./plans/uploads.ts";
import { fateOf, writeRow } from "./plans/writes.ts";

/** How many deletions of a list one transaction has. */
const DELETIONS = 50;

/**
 * Opens a catalog, or makes it.
 *
 * @param place `postgres://user:password@host:port/database`, or the path of a SQLite file.
 * @param options.connections The most connections to PostgreSQL, for writes and for reads each; by
 *   default 8.
 * @throws CatalogError `version` if a newer program has made it, `unavailable` if it cannot be reached.
 */
export async function openCatalog(
  place: string,
  { connections = 8 }: { readonly connections?: number } = {},
): Promise<Catalog> {
  const database = /^postgres(?:ql)?:/u.test(place)
    ? await openPostgres(place, connections)
    : await openSqlite(place);
  try {
    return await createCatalog(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The catalog over an open database. */
export async function createCatalog(database: Database): Promise<Catalog> {
  const { dialect, read, query, write } = database;
  await write("beginLineage", randomUUID());
  const contents = createContentsCache();
  return {
    nextSeq: () => database.nextSeq(),

    createBucket: (bucket) => write("createBucket", bucket),
    pendingBuckets: () => query(pendingBuckets),
    confirmBucket: (id) => write("confirmBucket", id),
    findBucket: (name) => query(() => findBucket(name)),
    deleteBucket: async (id, now) => {
      for (;;) {
        const outcome = await write("deleteBucket", id, now);
        if (outcome !== "more") return outcome;
      }
    },
    listBuckets: (options = {}) => query(() => listBuckets(options)),

    findObject: (bucket, key) => query(() => findObject(bucket, key)),
    openObject: (bucket, key) => read(() => openObject(bucket, key, contents)),
    listObjectParts: (object, after, limit) => read(() => listObjectParts(object, after, limit)),
    setTags: (object, tags) => write("setTags", object, tags),

    claim: (...given) => write("claim", ...given),
    releaseClaim: (...given) => write("releaseClaim", ...given),
    commitPut: (put) => write("commitPut", put),
    deleteObject: (bucket, key, options) => write("deleteObject", bucket, key, options),
    deleteObjects: async (bucket, deletions, options) => {
      const results: Deleted[] = [];
      for (const batch of batches(deletions, DELETIONS)) {
        results.push(...(await write("deleteObjects", bucket, batch, options)));
      }
      return results;
    },
    listObjects: (options) =>
      (options.delimiter === undefined ? query : read)(() => listObjects(dialect, options)),

    createUpload: (upload) => write("createUpload", upload),
    findUpload: (bucket, key, id) => query(() => findUpload(bucket, key, id)),
    putPart: (put) => write("putPart", put),
    listParts: ({ seq }, after, limit) => query(() => readParts(seq, after, limit)),
    openUpload: (upload) => read(() => openUpload(upload)),
    listUploads: (options) =>
      read(() => listUploads(dialect, options, parseUploadId(options.afterId ?? "")?.seq ?? 0)),
    stopCompletes: ({ seq }) => write("stopCompletes", seq),
    abortUpload: (...given) => write("abortUpload", ...given),
    completeUpload: (complete) => write("completeUpload", complete),
    findCompleted: (bucket, key, id) => query(() => findCompleted(bucket, key, id)),

    beginWrite: (...given) => database.nextSeq(writeRow(...given)),
    beat: (seqs, now) => write("beat", seqs, now),
    endWrites: (seqs) => write("endWrites", seqs),
    oldestWrite: (now) => write("oldestWrite", now),
    forgetDeadWrites: (before) => write("forgetDeadWrites", before),
    fateOf: (bucket, key, seq) => read(() => fateOf(bucket, key, seq)),

    addGarbage: async (garbage) => {
      if (garbage.length > 0) await write("addGarbage", garbage);
    },
    dueGarbage: (now, limit, after) => query(() => dueGarbage(now, limit, after)),
    confirmGarbage: (addresses) => write("confirmGarbage", addresses),
    findKnown: (addresses) => read(() => findKnown(addresses, true)),
    findNamed: (addresses) => read(() => findKnown(addresses, false)),

    pendingTombstones: (after, limit) => query(() => pendingTombstones(after, limit)),
    confirmTombstones: (seqs) => write("confirmTombstones", seqs),

    takeLease: (name, holder, now, duration) => write("takeLease", name, holder, now, duration),
    endLease: (name, holder) => write("endLease", name, holder),

    lineage: () => query(lineage),
    bindStore: (store) => write("bindStore", store),
    addMark: (nonce, skipped) => write("addMark", nonce, skipped),
    importMark: (mark) => write("importMark", mark),
    listMarks: () => query(listMarks),
    settle: (seq) => write("settle", seq),
    beginSnapshot: (now) => write("beginSnapshot", now),
    recordSnapshot: (snapshot) => write("recordSnapshot", snapshot),
    setComplete: (isComplete) => write("setComplete", isComplete),

    exportRows: () => exportRows(database),
    importRows: (imported) => write("importRows", imported, Date.now()),

    counts: () => query(counts),
    purge: async (now) => {
      while (await write("purge", now));
    },
    ping: async () => {
      await query(lineage);
    },
    queued: () => database.queued(),
    close: () => database.close(),
  };
}
