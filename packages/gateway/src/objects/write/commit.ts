import type { Address } from "@idk/storage";
import type { Committed, Condition, Refusal } from "../../catalog/catalog.ts";
import type { Bucket, Key, ObjectRecord, Seq } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import { discard, type ObjectsContext } from "../context.ts";
import { authenticate } from "../identity/mac.ts";
import { encodeRecord, type RootRecord } from "../identity/records.ts";
import type { Write } from "./writes.ts";

/** A write of a key: what is being written, apart from the seq. */
export interface Target {
  readonly bucket: Bucket;
  readonly key: Key;
  readonly condition: Condition | undefined;
}

/** An object to be written, as far as it is known before its identity root is sealed. */
export type UnsealedObject = Omit<ObjectRecord, "seq" | "root">;

/**
 * Runs a write: takes a seq, with a claim of the key if there is a condition, and ends both if the write
 * fails.
 *
 * @throws S3Error as `Objects.putObject`
 */
export async function withWrite<T>(
  { catalog, writes, now, warn }: ObjectsContext,
  { bucket, key, condition }: Target,
  work: (write: Write, isClaimed: boolean) => Promise<T>,
): Promise<T> {
  const isClaimed = condition !== undefined;
  const seq = isClaimed ? await claim() : await catalog.nextSeq();
  const write = writes.begin(seq, isClaimed);
  let committed = false;
  try {
    const result = await work(write, isClaimed);
    committed = true;
    return result;
  } finally {
    write.end(committed);
    if (isClaimed && !committed) {
      await catalog.releaseClaim(bucket.id, key, seq).catch((error: unknown) => {
        warn("a claim that failed stays until it expires", error);
      });
    }
  }

  async function claim(): Promise<Seq> {
    const claimed = await catalog.claim(bucket.id, key, condition!, now());
    if (claimed.outcome === "claimed") return claimed.seq;
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
  /** Deletes the content of a manifest that was not committed. */
  discardContent(): Promise<unknown>;
}

/**
 * Seals an identity root and commits it, again with a new seq if a conditional write came between. If it
 * was refused, what was stored is deleted: the content after the root, so that there is no object without
 * its content. If the store or the catalog failed, nobody knows whether it was stored or committed:
 * everything stays, and a sweep decides.
 *
 * @returns what `commit` returned, never `retry`, and the record
 */
export async function sealAndCommit<Outcome extends { readonly outcome: string }>(
  context: ObjectsContext,
  { target, object, content, write, signal, commit, discardContent }: Commit<Outcome>,
): Promise<{ readonly committed: Outcome; readonly record: ObjectRecord }> {
  const { bucket, key } = target;
  let { seq } = write;
  for (;;) {
    const identity: RootRecord = {
      type: "object",
      ...object,
      seq,
      bucket: bucket.id,
      bucketName: bucket.name,
      key,
      catalog: context.catalogId,
    };
    const root = await putRecord(context, identity, content, signal);
    const drop = async (): Promise<void> => {
      if (await discard(context, [root])) await discardContent();
    };
    if (!write.isAlive()) {
      await drop();
      throw new S3Error("ServiceUnavailable", "The write lasted too long without its catalog.");
    }
    const record = { ...object, seq, root };
    const committed = await commit(record);
    const { outcome } = committed;
    if (outcome !== "retry") {
      if (outcome !== "stored" && outcome !== "superseded") await drop();
      return { committed, record };
    }
    await discard(context, [root]);
    seq = await context.catalog.nextSeq();
  }
}

/** Seals a root with a record and its MAC, and stores it. */
export function putRecord(
  { roots, macKeys }: ObjectsContext,
  record: RootRecord,
  content: Uint8Array,
  signal?: AbortSignal,
): Promise<Address> {
  const encoded = encodeRecord(record);
  const metadata = { s3: encoded, mac: authenticate(macKeys, encoded, content) };
  return roots.put(content, { metadata, signal });
}

/** The error for an outcome other than `stored` and `superseded`. */
export function notCommitted(
  outcome: Exclude<Committed["outcome"], "stored" | "superseded">,
): S3Error {
  switch (outcome) {
    case "lost":
    case "retry":
      return new S3Error("ConditionalRequestConflict");
    case "source-changed":
      return new S3Error("NoSuchKey", "The source of the copy was replaced or deleted meanwhile.");
    case "no-bucket":
      return new S3Error("NoSuchBucket");
    case "no-upload":
    default:
      return new S3Error("NoSuchUpload");
  }
}
