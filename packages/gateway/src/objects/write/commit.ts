import { setTimeout } from "node:timers/promises";
import type { Address } from "@idk/storage";
import type { ClaimOptions, Committed, Condition, Refusal } from "../../catalog/catalog.ts";
import type {
  Bucket,
  Key,
  ObjectRecord,
  OpenedObject,
  Seq,
  StoredObject,
} from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import { discard, type ObjectsContext } from "../context.ts";
import { authenticate } from "../identity/mac.ts";
import type { Deletion } from "../identity/manifest.ts";
import { encodeRecord, type NewRecord } from "../identity/records.ts";
import type { Write } from "./writes.ts";

/** A write of a key: what is being written, apart from the seq. */
export interface Target {
  readonly bucket: Bucket;
  readonly key: Key;
  readonly condition: Condition | undefined;
  /** The version of the key that the write is made of, and replaces. */
  readonly changes?: StoredObject | undefined;
  /** The write, if it was begun by `changeObject`. */
  readonly change?: Change | undefined;
  /** Ends the wait for a version that is reserved. */
  readonly signal?: AbortSignal | undefined;
}

/** How often a write is sealed again, if other writes of its key come between. */
const ATTEMPTS = 10;

/**
 * Milliseconds to wait for a version that another write has reserved. Correctness does not depend on it: a
 * write that reserves the version earlier makes the other one take a new number, if its process still runs.
 * It doubles each time a write is renewed, so that two writes do not keep renewing while the store is slow.
 */
const PATIENCE = 1000;
/** Between two looks at such a version, in ms, at most. Random, so that two writes do not keep meeting. */
const PAUSE_MAX = 100;

/** An object to be written, as far as it is known before its identity root is sealed. */
export type UnsealedObject = Omit<ObjectRecord, "seq" | "root">;

/** A write that has reserved the version of its key that it replaces. */
export interface Change {
  readonly write: Write;
  readonly isClaimed: boolean;
  /** That version; undefined if there is no object. */
  readonly source: OpenedObject | undefined;
}

/** Begins a write that is made of what its key has; see `Objects.changeObject`. */
export function changeObject<T>(
  context: ObjectsContext,
  target: Target,
  make: (change: Change) => Promise<T>,
): Promise<T> {
  return runWrite(context, target, make, { reserves: true });
}

/**
 * Runs a write: registers it, with a claim of the key if there is a condition, and ends both if the write
 * fails.
 *
 * @param upload that of a Complete
 * @throws S3Error as `Objects.putObject`; `OperationAborted` if the version that it is made of is not there
 *   any more
 */
export async function withWrite<T>(
  context: ObjectsContext,
  target: Target,
  work: (write: Write, isClaimed: boolean) => Promise<T>,
  upload?: Seq,
): Promise<T> {
  const { change, changes } = target;
  if (change !== undefined) return work(change.write, change.isClaimed);
  const begun = async ({ write, isClaimed }: Change): Promise<T> => work(write, isClaimed);
  return runWrite(context, target, begun, { upload, reserves: changes !== undefined });
}

async function runWrite<T>(
  { catalog, run, writes, now }: ObjectsContext,
  { bucket, key, condition, changes: first, signal }: Target,
  work: (change: Change) => Promise<T>,
  { upload, reserves = false }: Pick<ClaimOptions, "upload" | "reserves">,
): Promise<T> {
  await run.ready();
  const isClaimed = condition !== undefined;
  let patience = PATIENCE / 2;
  const { seq, reserved: source } =
    isClaimed || reserves
      ? await claim(undefined, first)
      : { seq: await catalog.beginWrite(now(), upload), reserved: undefined };
  const write = writes.adopt(seq, {
    renew: async (...given) => (await claim(...given)).seq,
    ...(isClaimed && {
      release: (seq, options) => catalog.releaseClaim(bucket.id, key, seq, now(), options),
    }),
  });
  try {
    return await work({ write, isClaimed, source });
  } finally {
    await write.end();
  }

  async function claim(
    renews: ClaimOptions["renews"],
    changes: StoredObject | undefined,
  ): Promise<{ readonly seq: Seq; readonly reserved: OpenedObject | undefined }> {
    let by: Seq | undefined;
    patience *= 2;
    for (let since = performance.now(); ;) {
      const isImpatient = performance.now() - since > patience;
      const isRenewed = renews !== undefined;
      const options = { upload, renews, changes, isImpatient, reserves: reserves || isRenewed };
      const claimed = await catalog.claim(bucket.id, key, condition, now(), options);
      switch (claimed.outcome) {
        case "claimed":
          return claimed;
        case "reserved":
          // Another one: they make progress.
          if (claimed.by !== by) since = performance.now();
          ({ by } = claimed);
          await setTimeout(Math.random() * PAUSE_MAX, undefined, { signal });
          break;
        case "conflict":
          throw new S3Error("ConditionalRequestConflict");
        case "source-changed":
          throw sourceChanged();
        case "no-bucket":
          throw new S3Error("NoSuchBucket");
        case "absent":
        case "failed":
        default:
          throw refused(claimed.outcome);
      }
    }
  }
}

/** The error for a condition that does not hold. */
export function refused(outcome: Refusal["outcome"]): S3Error {
  return new S3Error(outcome === "absent" ? "NoSuchKey" : "PreconditionFailed");
}

/** An object to seal and commit. */
export interface Commit<Outcome> {
  readonly target: Target;
  readonly object: UnsealedObject;
  /** That of an inline object, or the manifest. */
  readonly content: Uint8Array;
  readonly write: Write;
  readonly signal: AbortSignal | undefined;
  commit(record: ObjectRecord): Promise<Outcome>;
  /** Called when the write took a new number, before a root with it is stored. */
  renewed?(): Promise<void>;
  /** Deletes the content of a manifest that was not committed. */
  discardContent(): Promise<unknown>;
}

/**
 * Seals an identity root and commits it, again with a new seq if another write claimed or reserved its key. If it
 * was refused, what was stored is deleted: the content after the root, so that there is no object without
 * its content. If the store or the catalog failed, nobody knows whether it was stored or committed:
 * everything stays, the write stays registered, and a sweep decides.
 *
 * @returns what `commit` returned, `retry` only if others kept coming between, and the record
 * @throws S3Error as `withWrite`; `ServiceUnavailable` if it was refused, and its root can neither be deleted nor be
 *   declared void: a rebuild would take it for an object
 */
export async function sealAndCommit<Outcome extends { readonly outcome: string }>(
  context: ObjectsContext,
  given: Commit<Outcome>,
): Promise<{ readonly committed: Outcome; readonly record: ObjectRecord }> {
  const { target, object, content, write, signal, commit, discardContent } = given;
  const { bucket, key, changes } = target;
  for (let attempt = 1; ; attempt++) {
    try {
      await context.run.ready();
      if (attempt > 1) {
        await write.renew(changes);
        await given.renewed?.();
      }
      if (!write.isAlive()) throw expired();
    } catch (error) {
      await discardContent();
      throw error;
    }
    const { seq } = write;
    const identity: NewRecord = {
      type: "object",
      ...object,
      seq,
      bucket: bucket.id,
      bucketName: bucket.name,
      key,
      catalog: context.catalogId,
    };
    write.mayHaveRoot = true;
    const root = await putRecord(context, identity, content, signal);
    const drop = async (keepsContent: boolean): Promise<void> => {
      const isGone = await discard(context, [root]);
      if (!isGone) await declareVoid(context, { bucket: bucket.id, key, seq }, root);
      else if (!keepsContent) await discardContent();
      write.mayHaveRoot = false;
    };
    if (!write.isAlive()) {
      await drop(false);
      throw expired();
    }
    const record = { ...object, seq, root };
    const committed = await commit(record);
    const { outcome } = committed;
    if (outcome === "stored" || outcome === "superseded") write.committed();
    else if (outcome === "retry" && attempt < ATTEMPTS) {
      // The next root is over the same content.
      await drop(true);
      continue;
    } else await drop(false);
    return { committed, record };
  }
}

/** Of a root that cannot be deleted, by credentials that cannot delete or a lock on objects. */
async function declareVoid(
  { catalog, voidWrites, now }: ObjectsContext,
  { bucket, key, seq }: Pick<Deletion, "bucket" | "key" | "seq">,
  root: Address,
): Promise<void> {
  try {
    await voidWrites([{ bucket, key, seq, isVoid: true }]);
    await catalog.addGarbage([{ address: root, kind: "identity", due: now() }]);
  } catch (cause) {
    throw new S3Error("ServiceUnavailable", "A write that was refused cannot be undone.", {
      cause,
    });
  }
}

/** The error for a write that the catalog has not heard of for too long. */
export function expired(): S3Error {
  return new S3Error("ServiceUnavailable", "The write lasted too long without its catalog.");
}

/** Seals a root with a record and its MAC, and stores it. */
export function putRecord(
  { roots, macKeys, run }: ObjectsContext,
  record: NewRecord,
  content: Uint8Array,
  signal?: AbortSignal,
): Promise<Address> {
  const encoded = encodeRecord({ ...record, store: run.store() });
  const metadata = { s3: encoded, mac: authenticate(macKeys, encoded, content) };
  return roots.put(content, { metadata, signal });
}

/** The error for a source of a copy that was replaced or deleted meanwhile: the caller looks what is there now. */
export function sourceChanged(): S3Error {
  return new S3Error(
    "OperationAborted",
    "The source of the copy was replaced or deleted meanwhile.",
  );
}

/** The error for an outcome other than `stored` and `superseded`. */
export function notCommitted(
  outcome: Exclude<Committed["outcome"], "stored" | "superseded">,
): S3Error {
  switch (outcome) {
    case "lost":
      return new S3Error("ConditionalRequestConflict");
    case "retry":
      return new S3Error("SlowDown", "Other writes of this key keep coming between.");
    case "expired":
      return expired();
    case "source-changed":
      return sourceChanged();
    case "no-bucket":
      return new S3Error("NoSuchBucket");
    case "no-upload":
    default:
      return new S3Error("NoSuchUpload");
  }
}
