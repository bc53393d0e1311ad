import { throwIfAborted } from "../../../abort.ts";
import { StorageError, usage } from "../../../errors.ts";
import { type B2Options, b2Config } from "../../b2.ts";
import { type MinioOptions, minioConfig } from "../../minio.ts";
import { retry, type RetryOptions, retrySchedules, systemClock } from "../../retry.ts";
import { type S3Options, s3Config } from "../../s3.ts";
import { awsProvisioner } from "./aws.ts";
import { minioProvisioner } from "./minio.ts";
import type { DefaultEncryption, Provisioner, ProvisionerOptions } from "./provisioner.ts";

export type { RetryOptions } from "../../retry.ts";
export type { DefaultEncryption } from "./provisioner.ts";

/** A bucket, described by the options of the backend that will use it. */
export type BucketLocation =
  | ({ readonly provider: "s3" } & S3Options)
  | ({ readonly provider: "minio" } & MinioOptions)
  | ({ readonly provider: "b2" } & B2Options);

/** The bucket's settings. An omitted setting is left unchanged. */
export interface BucketSettings {
  /** Keeps objects that other tools overwrite or delete. Deletes by this library stay permanent. */
  readonly versioning?: boolean | undefined;
  /** Allows blobs to be locked against deletion. Can only be set when a bucket is created. */
  readonly objectLock?: boolean | undefined;
  /**
   * Days after which overwritten and deleted versions under the prefix are removed. Current blobs
   * are never removed.
   */
  readonly lifecycleDays?: number | undefined;
  /**
   * The encryption of uploads that do not request any. If this is AES256, a stronger existing
   * default is kept. MinIO requires a key ID with `aws:kms`, and B2 does not support `aws:kms`.
   */
  readonly defaultEncryption?: DefaultEncryption | undefined;
  /**
   * The origin of a page that may read blobs in a browser, such as `https://example.com`. Other rules
   * of the bucket stay.
   */
  readonly corsOrigin?: string | undefined;
}

/** Options of `initBucket`. */
export interface InitBucketOptions {
  readonly signal?: AbortSignal | undefined;
  /** How each request that fails with a transient error is retried, as by `withRetry`. */
  readonly retry?: RetryOptions | undefined;
}

/** A part of a bucket that `initBucket` makes or finds. */
export type BucketSetting =
  | "bucket"
  | "versioning"
  | "object lock"
  | "lifecycle"
  | "default encryption"
  | "cors";

/** What this call has made, and what was there before. */
export interface BucketReport {
  readonly made: readonly BucketSetting[];
  readonly there: readonly BucketSetting[];
}

/**
 * Creates the bucket if it does not exist, and applies the settings. Idempotent. Each request has
 * the location's `timeouts`.
 *
 * @throws StorageError `permission`, `unavailable`, `aborted`; `usage` if the options are malformed,
 *   if object lock is requested for a bucket that was created without it, for encryption that the
 *   provider does not support, or for an origin if the server has no CORS rules for buckets
 */
export async function initBucket(
  location: BucketLocation,
  settings: BucketSettings = {},
  { signal, retry: retryOptions = {} }: InitBucketOptions = {},
): Promise<BucketReport> {
  throwIfAborted(signal);
  const { lifecycleDays: days, defaultEncryption: encryption, corsOrigin: origin } = settings;
  if (days !== undefined && !(Number.isInteger(days) && days > 0)) {
    throw usage("lifecycleDays must be a whole number of days, 1 or more");
  }
  if (encryption !== undefined) checkEncryption(encryption, location.provider);
  if (origin !== undefined) checkOrigin(origin);
  const startSchedule = retrySchedules(retryOptions, systemClock);
  const provisioner = await provisionerFor(location, {
    signal,
    retrying: (attempt) => retry(startSchedule("initBucket"), attempt, { signal }),
  });
  const made: BucketSetting[] = [];
  const there: BucketSetting[] = [];
  const ensure = async (
    setting: BucketSetting,
    has: () => Promise<boolean>,
    set: () => Promise<unknown>,
  ): Promise<void> => {
    if (await has()) {
      there.push(setting);
      return;
    }
    await set();
    made.push(setting);
  };
  try {
    const isNew =
      !(await provisioner.exists()) && (await provisioner.create(!!settings.objectLock));
    (isNew ? made : there).push("bucket");
    if (settings.objectLock) {
      if (!(await provisioner.hasObjectLock())) throw noObjectLock(location.bucket);
      (isNew ? made : there).push("object lock");
    }
    const { hasVersioning, setVersioning, hasLifecycle, setLifecycle } = provisioner;
    if (settings.versioning) await ensure("versioning", hasVersioning, setVersioning);
    if (days !== undefined) {
      await ensure(
        "lifecycle",
        () => hasLifecycle(days),
        () => setLifecycle(days),
      );
    }
    if (encryption !== undefined) {
      await ensure(
        "default encryption",
        () => provisioner.hasEncryption(encryption),
        () => provisioner.setEncryption(encryption),
      );
    }
    if (origin !== undefined) {
      await ensure(
        "cors",
        () => provisioner.hasCors(origin),
        () => provisioner.setCors(origin),
      );
    }
    return { made, there };
  } finally {
    provisioner.close();
  }
}

function checkOrigin(origin: string): void {
  if (URL.canParse(origin) && /^https?:/u.test(origin) && new URL(origin).origin === origin) return;
  throw usage("the origin of a page is https://HOST[:PORT], without a path");
}

/** Runs before anything is created. */
function checkEncryption(
  encryption: DefaultEncryption,
  provider: BucketLocation["provider"],
): void {
  if (encryption.type !== "aws:kms") return;
  if (provider === "b2") throw usage("B2 has no key management; use AES256");
  if (provider === "minio" && !encryption.keyId) {
    throw usage("MinIO has no default key for aws:kms; pass the ID of a key in its key management");
  }
}

function noObjectLock(bucket: string): StorageError {
  return new StorageError(
    "usage",
    `the bucket ${bucket} was created without object lock, which cannot be enabled later; use a new bucket`,
  );
}

function provisionerFor(
  location: BucketLocation,
  options: ProvisionerOptions,
): Promise<Provisioner> {
  if (location.provider === "minio") return minioProvisioner(minioConfig(location), options);
  const config = location.provider === "s3" ? s3Config(location) : b2Config(location);
  return awsProvisioner(config, options);
}
