import { StorageError } from "../../errors.ts";
import { concat, toHex } from "../../bytes.ts";
import { sha256 } from "../../crypto/hash.ts";
import type { BlobInfo, Capabilities } from "../backend.ts";
import { textOf } from "./http/xml.ts";
import { queryBucket } from "./objects/bucket.ts";
import { deleteBlob, deleteVersion } from "./objects/delete.ts";
import { headBlob } from "./objects/head.ts";
import { listBlobs } from "./objects/list.ts";
import {
  checksumHeader,
  isMismatch,
  isUnsupportedHeader,
  sendUpload,
  type Upload,
} from "./objects/upload.ts";
import type { BucketContext } from "./bucket-context.ts";

/**
 * How every tree leaf starts (docs/format.md, "Envelope" and "Header"): "IDK", version 1, the length
 * of the header, and a header with a 32-byte field named "c".
 */
const LEAF_PREFIX = Uint8Array.of(0x49, 0x44, 0x4b, 1, 0, 37, 0xa1, 0x61, 0x63, 0x58, 32);

/** The 32 bytes of that field, a 16-byte tag, and 32 bytes of content. */
const LEAF_REST = 32 + 16 + 32;

/**
 * A blob for testing what a server supports. If a crash leaves it behind, it looks like a leaf of
 * someone else's tree and not like a damaged blob. It is random, so that concurrent tests of
 * one server use different names and do not delete each other's blob.
 */
export function trialBlob(): Uint8Array {
  return concat(LEAF_PREFIX, crypto.getRandomValues(new Uint8Array(LEAF_REST)));
}

/** The one for credentials that may not delete: always the same, so that at most one is left behind. */
const LASTING_TRIAL = new Uint8Array(Buffer.concat([LEAF_PREFIX, Buffer.alloc(LEAF_REST)]));

/** What a trial has found. */
export interface Trial {
  readonly found: Capabilities;
  /**
   * The credentials permitted none of the requests. That may be their fault rather than the bucket's: they
   * have expired, or a clock is wrong. So the next trial may find more.
   */
  readonly isRefused: boolean;
}

/**
 * Determines by trial what the server supports. What the credentials do not permit to test counts
 * as not supported.
 *
 * A blob is stored only after a test has shown that it can be deleted. A server that ignores a wrong
 * checksum stores one all the same, and without the right to delete it stays: the same one for all
 * programs that test. Its name is its address, so that a crash does not leave a damaged blob behind.
 *
 * @param bytes the trial blob; the same one for each attempt, so that the next attempt deletes what
 *   a failed one left behind
 */
export async function findCapabilities(bucket: BucketContext, bytes: Uint8Array): Promise<Trial> {
  const permissions = { any: false };
  const deletion = await ifPermitted(tryDelete(bucket, digestOf(bytes)), permissions);
  const upload = uploadOf(deletion === undefined ? LASTING_TRIAL : bytes);
  const checksum = await ifPermitted(tryWrongChecksum(bucket, upload), permissions);
  if (checksum !== undefined) {
    // A server that accepts the header without verifying it would return what a writer claimed.
    bucket.features.sendChecksums = checksum === "verified";
    bucket.features.trustChecksums = checksum === "verified";
  }
  const { info, conditionalPut, versions } =
    checksum === undefined || deletion === undefined
      ? await inspectBucket(bucket, deletion, permissions)
      : await tryPut(bucket, upload, deletion);
  const found = {
    verifiesChecksums: info?.sha256 !== undefined,
    conditionalPut,
    versions,
    encryption: info?.encryption,
  };
  return { found, isRefused: !permissions.any };
}

function uploadOf(bytes: Uint8Array): Upload {
  const sha256 = digestOf(bytes);
  return { name: sha256, bytes, sha256, signal: undefined };
}

interface Findings {
  readonly info: BlobInfo | undefined;
  readonly conditionalPut: boolean;
  readonly versions: boolean | undefined;
}

/**
 * The result, or undefined if the credentials do not permit the request.
 *
 * @param permissions where it is noted if they do
 */
async function ifPermitted<T>(
  work: Promise<T>,
  permissions?: { any: boolean },
): Promise<T | undefined> {
  try {
    const result = await work;
    if (permissions !== undefined) permissions.any = true;
    return result;
  } catch (error) {
    if (error instanceof StorageError && error.code === "permission") return undefined;
    throw error;
  }
}

/** Uploads with a wrong checksum, which the server should reject. */
async function tryWrongChecksum(
  bucket: BucketContext,
  upload: Upload,
): Promise<"verified" | "ignored" | "unsupported"> {
  const wrong = checksumHeader(digestOf(new Uint8Array()));
  const rejection = await sendUpload(
    bucket,
    upload,
    wrong,
    (response) => isMismatch(response) || isUnsupportedHeader(response),
  );
  if (rejection === undefined) return "ignored";
  return isMismatch(rejection) ? "verified" : "unsupported";
}

/** What a delete has shown. */
interface Deletion {
  /** The bucket says that it keeps versions. */
  readonly isVisiblyVersioned: boolean;
  /** It keeps them, whether it says so or not. */
  readonly isVersioned: boolean;
}

/** Tests that blobs can be deleted, on a name that does not exist. Throws if they cannot. */
async function tryDelete(bucket: BucketContext, name: string): Promise<Deletion> {
  const versioned = await isVisiblyVersioned(bucket);
  const isVersioned = await deleteBlob(bucket, name, undefined, versioned);
  if (!versioned) return { isVisiblyVersioned: false, isVersioned };
  // There was no version to delete. Servers reject an unknown version ID in various ways; only a
  // missing permission matters.
  await deleteVersion(bucket, name, "none", undefined).catch((error: unknown) => {
    const harmless = error instanceof StorageError && error.code !== "permission";
    if (!harmless || error.transient) throw error;
  });
  return { isVisiblyVersioned: true, isVersioned: true };
}

/**
 * Whether the bucket is seen to keep versions. If so, no plain DELETE is tried, because it leaves a
 * delete marker that the credentials may not be permitted to delete.
 */
async function isVisiblyVersioned(bucket: BucketContext): Promise<boolean> {
  return keepsVersions(bucket).catch((error: unknown) => {
    // Some credentials do not permit the request, and some servers do not support it.
    if (error instanceof StorageError && !error.transient) return false;
    throw error;
  });
}

/** Stores a blob, inspects it, tries a conditional put, and deletes it. */
async function tryPut(
  bucket: BucketContext,
  upload: Upload,
  { isVisiblyVersioned: versioned }: Deletion,
): Promise<Findings> {
  const headers = bucket.features.sendChecksums ? checksumHeader(upload.sha256) : {};
  let versions: boolean | undefined;
  let info: BlobInfo | undefined;
  let conditionalPut: boolean;
  try {
    await sendUpload(bucket, upload, headers);
    info = await ifPermitted(headBlob(bucket, upload.name, undefined));
    conditionalPut = await tryConditionalPut(bucket, upload, headers);
  } finally {
    // Credentials that may delete may still not be permitted to delete versions. The blob is then
    // hidden by a delete marker, which is the best possible outcome.
    versions = await ifPermitted(deleteBlob(bucket, upload.name, undefined, versioned));
  }
  return { info, conditionalPut, versions: versions ?? true };
}

async function tryConditionalPut(
  bucket: BucketContext,
  upload: Upload,
  headers: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (!bucket.config.conditionalPut) return false;
  const rejection = await sendUpload(
    bucket,
    upload,
    { ...headers, "if-none-match": "*" },
    ({ status }) => status === 412 || status === 501 || status === 400,
  );
  return rejection?.status === 412;
}

/** What can be determined without a write: from the bucket and from a few of its blobs. */
async function inspectBucket(
  bucket: BucketContext,
  deletion: Deletion | undefined,
  permissions: { any: boolean },
): Promise<Findings> {
  const info = await ifPermitted(inspectBlobs(bucket), permissions);
  // Of some providers it is known without a request, which shows no permission.
  const asked = bucket.config.versioned ? undefined : permissions;
  const versions = deletion?.isVersioned ?? (await ifPermitted(keepsVersions(bucket), asked));
  return { info, conditionalPut: false, versions };
}

/** How many blobs to inspect for a checksum, because other writers may have stored some without. */
const MAX_INSPECTED = 4;

/** The first blob with a checksum, or else the last one inspected. */
async function inspectBlobs(bucket: BucketContext): Promise<BlobInfo | undefined> {
  let info: BlobInfo | undefined;
  let inspected = 0;
  for await (const { name } of listBlobs(bucket, "", "", undefined)) {
    info = (await headBlob(bucket, name, undefined)) ?? info;
    inspected += 1;
    if (info?.sha256 !== undefined || inspected === MAX_INSPECTED) return info;
    // Without trust no checksum is ever read.
    if (!bucket.features.trustChecksums) return info;
  }
  return info;
}

async function keepsVersions(bucket: BucketContext): Promise<boolean> {
  const { config } = bucket;
  if (config.versioned) return true;
  const result = await queryBucket(bucket, {
    query: { versioning: "" },
    operation: "GetBucketVersioning",
    action: `get the versioning state of ${config.bucket}`,
    signal: undefined,
  });
  // Suspended counts too, because existing versions remain.
  return Boolean(textOf(result, "Status"));
}

function digestOf(bytes: Uint8Array): string {
  return toHex(sha256(bytes));
}
