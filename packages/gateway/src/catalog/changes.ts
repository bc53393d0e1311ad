import type { Catalog } from "./catalog.ts";
import { all, type Dialect, type Plan } from "./database/port.ts";
import { confirmBucket, createBucket, deleteBucket } from "./plans/buckets.ts";
import { confirmGarbage, confirmTombstones, endLease, purge, takeLease } from "./plans/cleanup.ts";
import { insertGarbage } from "./plans/contents.ts";
import {
  addMark,
  beginLineage,
  bindStore,
  importMark,
  recordSnapshot,
  setComplete,
  settle,
} from "./plans/lineage.ts";
import {
  claim,
  commitPut,
  deleteObject,
  deleteObjects,
  releaseClaim,
  setTags,
} from "./plans/objects.ts";
import { importRows } from "./plans/transfer.ts";
import { abortUpload, completeUpload, createUpload, putPart } from "./plans/uploads.ts";
import {
  beat,
  beginSnapshot,
  endWrites,
  forgetDeadWrites,
  oldestWrite,
  stopCompletes,
} from "./plans/writes.ts";
import type { ExportedRow, Garbage, Time } from "./records.ts";

/** What a method of the catalog is given. */
type Of<Method extends keyof Catalog> = Parameters<Catalog[Method]>;

function makeChanges(dialect: Dialect) {
  return {
    createBucket: (...given: Of<"createBucket">) => createBucket(dialect, ...given),
    confirmBucket,
    deleteBucket: (...given: Of<"deleteBucket">) => deleteBucket(dialect, ...given),

    setTags,
    claim: (...given: Of<"claim">) => claim(dialect, ...given),
    releaseClaim: (...given: Of<"releaseClaim">) => releaseClaim(dialect, ...given),
    commitPut: (...given: Of<"commitPut">) => commitPut(dialect, ...given),
    deleteObject: (...given: Of<"deleteObject">) => deleteObject(dialect, ...given),
    deleteObjects: (...given: Of<"deleteObjects">) => deleteObjects(dialect, ...given),

    createUpload: (...given: Of<"createUpload">) => createUpload(dialect, ...given),
    putPart: (...given: Of<"putPart">) => putPart(dialect, ...given),
    stopCompletes,
    abortUpload: (...given: Of<"abortUpload">) => abortUpload(dialect, ...given),
    completeUpload: (...given: Of<"completeUpload">) => completeUpload(dialect, ...given),

    beat,
    endWrites,
    oldestWrite,
    forgetDeadWrites,

    addGarbage: (garbage: readonly Garbage[]) => all(...insertGarbage(garbage)),
    confirmGarbage,
    confirmTombstones,
    purge,

    takeLease,
    endLease,

    beginLineage,
    bindStore,
    addMark: (...given: Of<"addMark">) => addMark(dialect, ...given),
    importMark,
    settle: (...given: Of<"settle">) => settle(dialect, ...given),
    beginSnapshot: (...given: Of<"beginSnapshot">) => beginSnapshot(dialect, ...given),
    recordSnapshot,
    setComplete,

    importRows: (rows: readonly ExportedRow[], now: Time) => importRows(dialect, rows, now),
  };
}

/**
 * All transactions that change a catalog, by name. A database runs them where its writer is, which may be
 * another thread: what they are given and return can be cloned.
 */
export type Changes = ReturnType<typeof makeChanges>;
export const changesOf: (dialect: Dialect) => Changes = makeChanges;
export type ChangeName = keyof Changes;

/** What a change returns. */
type Done<Name extends ChangeName> = ReturnType<Changes[Name]> extends Plan<infer T> ? T : never;

/** Runs a change in a transaction that is durable when the promise resolves. */
export type RunChange = <Name extends ChangeName>(
  name: Name,
  ...given: Parameters<Changes[Name]>
) => Promise<Done<Name>>;

/** The plan of a change. */
export function planOf(
  changes: Changes,
  name: ChangeName,
  given: readonly unknown[],
): Plan<unknown> {
  return (changes[name] as (...given: readonly unknown[]) => Plan<unknown>)(...given);
}
