import { throwIfAborted } from "../../abort.ts";
import { StorageError, usage } from "../../errors.ts";
import { retry as retryCall, type RetryOptions, retrySchedules, systemClock } from "../retry.ts";
import { type B2Options, b2Place } from "../b2.ts";
import { type MinioOptions, minioPlace } from "../minio.ts";
import { type S3Options, s3Place } from "../s3.ts";
import { minioProvisioner } from "./provision-minio.ts";
import { sdkProvisioner } from "./provision-sdk.ts";
import type { DefaultEncryption, Provisioner, ProvisionerOptions } from "./provisioner.ts";

export type { RetryOptions } from "../retry.ts";
export type { DefaultEncryption } from "./provisioner.ts";

/** A bucket, by the options of the backend that is to use it. */
export type BucketLocation =
  | ({ readonly provider: "s3" } & S3Options)
  | ({ readonly provider: "minio" } & MinioOptions)
  | ({ readonly provider: "b2" } & B2Options);

/** How the bucket is to be. What is not named stays as it is. */
export interface BucketSettings {
  /** Keeps what is overwritten or deleted by others. Deleting through this library stays for good. */
  readonly versioning?: boolean | undefined;
  /** Lets blobs be locked against deletion. Only a bucket that is being made can get it. */
  readonly objectLock?: boolean | undefined;
  /**
   * Days after which what was overwritten or deleted is removed, under the prefix. Blobs that are
   * there are never removed.
   */
  readonly lifecycleDays?: number | undefined;
  /**
   * What the bucket does with uploads that ask for nothing. Where AES256 is wished for, a stronger
   * one stays. MinIO takes `aws:kms` with a key's ID alone, and B2 does not take it.
   */
  readonly defaultEncryption?: DefaultEncryption | undefined;
}

export interface InitBucketOptions {
  readonly signal?: AbortSignal | undefined;
  /** For how long each request is made again that failed for a while only, as by `withRetry`. */
  readonly retry?: RetryOptions | undefined;
}

export type BucketSetting =
  | "bucket"
  | "versioning"
  | "object lock"
  | "lifecycle"
  | "default encryption";

/** What there is now: made by this call, or there before. */
export interface BucketReport {
  readonly made: readonly BucketSetting[];
  readonly there: readonly BucketSetting[];
}

/**
 * Makes the bucket where it is missing, and brings it into the state that is wished for. Calling
 * it again changes nothing. Each request has the time that the location's `timeouts` allow.
 *
 * @throws StorageError `permission`, `unavailable`, `aborted`; `usage` where the options are malformed, or
 *   object lock is wished for in a bucket that was made without, or encryption that the provider
 *   does not have
 */
export async function initBucket(
  location: BucketLocation,
  wishes: BucketSettings = {},
  { signal, retry = {} }: InitBucketOptions = {},
): Promise<BucketReport> {
  throwIfAborted(signal);
  const { lifecycleDays: days, defaultEncryption: encryption } = wishes;
  if (days !== undefined && !(Number.isInteger(days) && days > 0)) {
    throw usage("lifecycleDays must be a whole number of days from 1 on");
  }
  if (encryption !== undefined) checkEncryption(encryption, location.provider);
  const startSchedule = retrySchedules(retry, systemClock);
  const provisioner = await provisionerOf(location, {
    signal,
    retrying: (attempt) => retryCall(startSchedule("initBucket"), attempt, signal),
  });
  const made: BucketSetting[] = [];
  const there: BucketSetting[] = [];
  const ensure = async (
    setting: BucketSetting,
    has: () => Promise<boolean>,
    make: () => Promise<unknown>,
  ): Promise<void> => {
    if (await has()) {
      there.push(setting);
      return;
    }
    await make();
    made.push(setting);
  };
  try {
    const isNew = !(await provisioner.exists()) && (await provisioner.create(!!wishes.objectLock));
    (isNew ? made : there).push("bucket");
    if (wishes.objectLock) {
      if (!(await provisioner.hasObjectLock())) throw noLock(location.bucket);
      (isNew ? made : there).push("object lock");
    }
    const { hasVersioning, setVersioning, hasLifecycle, setLifecycle } = provisioner;
    if (wishes.versioning) await ensure("versioning", hasVersioning, setVersioning);
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
    return { made, there };
  } finally {
    provisioner.close();
  }
}

/** Before anything is made. */
function checkEncryption(
  encryption: DefaultEncryption,
  provider: BucketLocation["provider"],
): void {
  if (encryption.type !== "aws:kms") return;
  if (provider === "b2") throw usage("B2 has no key management, only AES256");
  if (provider === "minio" && !encryption.keyId) {
    throw usage(
      "MinIO has no key of its own for aws:kms: give the ID of one of its key management",
    );
  }
}

function noLock(bucket: string): StorageError {
  return new StorageError(
    "usage",
    `the bucket ${bucket} was made without object lock, and cannot get it now; take a new bucket`,
  );
}

function provisionerOf(
  location: BucketLocation,
  options: ProvisionerOptions,
): Promise<Provisioner> {
  if (location.provider === "minio") return minioProvisioner(minioPlace(location), options);
  const place = location.provider === "s3" ? s3Place(location) : b2Place(location);
  return sdkProvisioner(place, options);
}
