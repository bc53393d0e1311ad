import { toHex, utf8 } from "../../../bytes.ts";
import { sha256 } from "../../../crypto/hash.ts";
import { StorageError } from "../../../errors.ts";
import type { BucketConfig, Encryption } from "../bucket-config.ts";

/** A bucket's default encryption; it cannot be SSE-C, because the bucket does not have the key. */
export type DefaultEncryption = Exclude<Encryption, { readonly type: "SSE-C" }>;

/** Options for every request of a provisioner. */
export interface ProvisionerOptions {
  readonly signal: AbortSignal | undefined;
  /** Retries a request that fails with a transient error. */
  readonly retrying: <T>(attempt: () => Promise<T>) => Promise<T>;
}

/** Bucket operations with a provider's client. `has…` returns whether a setting is in effect. */
export interface Provisioner {
  exists(): Promise<boolean>;
  /** @returns false if another client of the same account has created it in the meantime */
  create(objectLock: boolean): Promise<boolean>;
  hasVersioning(): Promise<boolean>;
  setVersioning(): Promise<void>;
  hasObjectLock(): Promise<boolean>;
  hasLifecycle(days: number): Promise<boolean>;
  setLifecycle(days: number): Promise<void>;
  hasEncryption(encryption: DefaultEncryption): Promise<boolean>;
  setEncryption(encryption: DefaultEncryption): Promise<void>;
  /** Whether pages of this origin may read blobs. */
  hasCors(origin: string): Promise<boolean>;
  setCors(origin: string): Promise<void>;
  close(): void;
}

/**
 * The ID of the lifecycle rule for this key prefix; the bucket may have other rules, also for other
 * prefixes. IDs have at most 255 characters, fewer than a prefix may have.
 */
export function ruleIdOf({ keyPrefix }: BucketConfig): string {
  const digest = toHex(sha256(utf8(keyPrefix)));
  return `idk-remove-old-versions-${digest.slice(0, 16)}`;
}

/** A bucket's default encryption in the protocol's terms. */
export interface EncryptionRule {
  readonly SSEAlgorithm?: string | undefined;
  readonly KMSMasterKeyID?: string | undefined;
}

export function encryptionRule(encryption: DefaultEncryption): {
  SSEAlgorithm: DefaultEncryption["type"];
  KMSMasterKeyID?: string;
} {
  const keyId = encryption.type === "aws:kms" ? encryption.keyId : undefined;
  return {
    SSEAlgorithm: encryption.type,
    ...(keyId === undefined ? {} : { KMSMasterKeyID: keyId }),
  };
}

/** Whether a rule satisfies the setting. Every algorithm is at least as strong as AES256. */
export function satisfies(
  rule: EncryptionRule | undefined,
  encryption: DefaultEncryption,
): boolean {
  const { SSEAlgorithm: algorithm, KMSMasterKeyID: key } = rule ?? {};
  if (algorithm === undefined || encryption.type === "AES256") return algorithm !== undefined;
  // aws:kms:dsse encrypts twice.
  return (
    algorithm.startsWith(encryption.type) &&
    (encryption.keyId === undefined || encryption.keyId === key)
  );
}

/** Error codes of a GET for a setting that the bucket does not have. */
export const NOT_CONFIGURED: ReadonlySet<string> = new Set([
  "NoSuchLifecycleConfiguration",
  "ServerSideEncryptionConfigurationNotFoundError",
  "ObjectLockConfigurationNotFoundError",
]);

export function nameTaken(bucket: string): StorageError {
  return new StorageError(
    "permission",
    `the bucket name ${bucket} is taken by another account; choose another name`,
  );
}
