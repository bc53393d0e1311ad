import type { Address } from "@idk/storage";
import type { Committed, Condition, Refusal } from "../../catalog/catalog.ts";
import type { Bucket, Key, ObjectRecord, Seq } from "../../catalog/records.ts";
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
}

/** How often a write is sealed again, if conditional writes of its key come between. */
const ATTEMPTS = 10;

/** An object to be written, as far as it is known before its identity root is sealed. */
export type UnsealedObject = Omit<ObjectRecord, "seq" | "root">;

/**
 * Runs a write: registers it, with a claim of the key if there is a condition, and ends both if the write
 * fails.
 *
 * @param upload that of a Complete
 * @throws S3Error as `Objects.putObject`
 */
export async function withWrite<T>(
  { catalog, run, writes, now }: ObjectsContext,
  { bucket, key, condition }: Target,
  work: (write: Write, isClaimed: boolean) => Promise<T>,
  upload?: Seq,
): Promise<T> {
  await run.ready();
  const isClaimed = condition !== undefined;
  const write = isClaimed ? await claim() : await writes.begin(upload);
  try {
    return await work(write, isClaimed);
  } finally {
    await write.end();
  }

  async function claim(): Promise<Write> {
    const claimed = await catalog.claim(bucket.id, key, condition!, now(), upload);
    if (claimed.outcome === "claimed") {
      const { seq } = claimed;
      return writes.adopt(seq, () => catalog.releaseClaim(bucket.id, key, seq, now()), upload);
    }
    if (claimed.outcome === "conflict") throw new S3Error("ConditionalRequestConflict");
    if (claimed.outcome === "no-bucket") throw new S3Error("NoSuchBucket");
    throw refused(claimed.outcome);
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
 * Seals an identity root and commits it, again with a new seq if a conditional write came between. If it
 * was refused, what was stored is deleted: the content after the root, so that there is no object without
 * its content. If the store or the catalog failed, nobody knows whether it was stored or committed:
 * everything stays, the write stays registered, and a sweep decides.
 *
 * @returns what `commit` returned, `retry` only if conditional writes kept coming between, and the record
 * @throws S3Error `ServiceUnavailable` if it was refused, and its root can neither be deleted nor be
 *   declared void: a rebuild would take it for an object
 */
export async function sealAndCommit<Outcome extends { readonly outcome: string }>(
  context: ObjectsContext,
  given: Commit<Outcome>,
): Promise<{ readonly committed: Outcome; readonly record: ObjectRecord }> {
  const { target, object, content, write, signal, commit, discardContent } = given;
  const { bucket, key } = target;
  for (let attempt = 1; ; attempt++) {
    try {
      await context.run.ready();
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
      await write.renew();
      await given.renewed?.();
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
      return new S3Error("SlowDown", "Conditional writes of this key keep coming between.");
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
