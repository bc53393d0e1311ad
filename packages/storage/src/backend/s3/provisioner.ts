import { createHash } from "node:crypto";
import { StorageError } from "../../errors.ts";
import type { Place } from "./place.ts";

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
  hasEncryption(): Promise<boolean>;
  setEncryption(): Promise<void>;
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
