import { createHash } from "node:crypto";
import { StorageError } from "../../errors.ts";
import type { Encryption, Place } from "./place.ts";

/** What a bucket can do by itself: it has no customer's key. */
export type DefaultEncryption = Exclude<Encryption, { readonly type: "SSE-C" }>;

/** What goes for every call of a provisioner. */
export interface ProvisionerOptions {
  readonly signal: AbortSignal | undefined;
  /** Makes a call again that failed for a while only. */
  readonly retrying: <T>(attempt: () => Promise<T>) => Promise<T>;
}

/** How one provider's client does it. `has…` tells whether the bucket is that way already. */
export interface Provisioner {
  exists(): Promise<boolean>;
  /** @returns false where someone with the same account has made it meanwhile */
  create(objectLock: boolean): Promise<boolean>;
  hasVersioning(): Promise<boolean>;
  setVersioning(): Promise<void>;
  hasObjectLock(): Promise<boolean>;
  hasLifecycle(days: number): Promise<boolean>;
  setLifecycle(days: number): Promise<void>;
  hasEncryption(wish: DefaultEncryption): Promise<boolean>;
  setEncryption(wish: DefaultEncryption): Promise<void>;
  close(): void;
}

/**
 * The name of the rule for a place, among those of others and of other places in the bucket. Names
 * have at most 255 characters, which a prefix may exceed.
 */
export function ruleIdOf({ folder }: Place): string {
  const digest = createHash("sha256").update(folder).digest("hex");
  return `idk-remove-old-versions-${digest.slice(0, 16)}`;
}

/** The default of a bucket, as the protocol has it. */
export interface EncryptionRule {
  readonly SSEAlgorithm?: string | undefined;
  readonly KMSMasterKeyID?: string | undefined;
}

export function encryptionRule(wish: DefaultEncryption): {
  SSEAlgorithm: DefaultEncryption["type"];
  KMSMasterKeyID?: string;
} {
  const keyId = wish.type === "aws:kms" ? wish.keyId : undefined;
  return { SSEAlgorithm: wish.type, ...(keyId === undefined ? {} : { KMSMasterKeyID: keyId }) };
}

/** Whether a default does what is wished for. There is none that does less than AES256. */
export function fulfils(rule: EncryptionRule | undefined, wish: DefaultEncryption): boolean {
  const { SSEAlgorithm: algorithm, KMSMasterKeyID: key } = rule ?? {};
  if (algorithm === undefined || wish.type === "AES256") return algorithm !== undefined;
  // There is also aws:kms:dsse, which encrypts twice.
  return algorithm.startsWith(wish.type) && (wish.keyId === undefined || wish.keyId === key);
}

/** Errors that say that a bucket was never given a setting. */
export const NEVER_SET: ReadonlySet<string> = new Set([
  "NoSuchLifecycleConfiguration",
  "ServerSideEncryptionConfigurationNotFoundError",
  "ObjectLockConfigurationNotFoundError",
]);

export function taken(bucket: string): StorageError {
  return new StorageError(
    "permission",
    `the bucket ${bucket} belongs to someone else; names are shared by all, so take another one`,
  );
}
