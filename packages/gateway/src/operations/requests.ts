import type { Texts } from "../catalog/records.ts";
import { S3Error } from "../errors.ts";
import type { RequestHeaders } from "../signature/request.ts";
import { notImplemented } from "./not-implemented.ts";

/** Lists of access control that change nothing, because there is one account. */
const ACLS = new Set(["private", "bucket-owner-full-control", "bucket-owner-read"]);

/**
 * Refuses to let others in: a client that asks for it must not believe that it was done.
 *
 * @throws S3Error `NotImplemented`, `InvalidArgument`
 */
export function refuseGrants(headers: RequestHeaders): void {
  const acl = headers.get("x-amz-acl");
  if (acl !== undefined && !ACLS.has(acl)) {
    throw notImplemented("Access control lists other than private are not implemented.");
  }
  for (const name of headers.keys()) {
    if (!name.startsWith("x-amz-grant-")) continue;
    throw notImplemented("Access control lists are not implemented.");
  }
}

/** Classes of S3. All are the same here, and reported as STANDARD. */
const STORAGE_CLASSES = new Set([
  "STANDARD",
  "REDUCED_REDUNDANCY",
  "STANDARD_IA",
  "ONEZONE_IA",
  "INTELLIGENT_TIERING",
  "GLACIER_IR",
]);

const ENCRYPTION = "x-amz-server-side-encryption";

/** Headers that ask for what a gateway cannot do. */
const UNSUPPORTED: readonly (readonly [prefix: string, what: string])[] = [
  ["x-amz-object-lock-", "Object lock is not implemented."],
  [
    "x-amz-server-side-encryption-",
    "Encryption with keys of the client or of a key service is not implemented: the gateway seals everything by itself.",
  ],
  [
    "x-amz-copy-source-server-side-encryption-",
    "Encryption with keys of the client is not implemented: the gateway seals everything by itself.",
  ],
  ["x-amz-write-offset-bytes", "Appending is not implemented."],
];

/**
 * Refuses what a request to write an object asks for and does not get.
 *
 * @throws S3Error `NotImplemented`, `InvalidStorageClass`, `InvalidArgument`
 */
export function refuseUnsupported(headers: RequestHeaders): void {
  refuseGrants(headers);
  for (const name of headers.keys()) {
    const found = UNSUPPORTED.find(([prefix]) => name.startsWith(prefix));
    if (found !== undefined) throw notImplemented(found[1]);
  }
  const encryption = headers.get(ENCRYPTION);
  if (encryption !== undefined && encryption !== "AES256") {
    throw notImplemented("Encryption with a key service is not implemented.");
  }
  const storageClass = headers.get("x-amz-storage-class");
  if (storageClass !== undefined && !STORAGE_CLASSES.has(storageClass)) {
    throw new S3Error("InvalidStorageClass");
  }
}

/**
 * Encryption as the answer to a write names it: clients that asked for it may insist to be told.
 *
 * @param kept headers of the object
 */
export function encryptionHeaders({ [ENCRYPTION]: value }: Texts): Record<string, string> {
  return value === undefined ? {} : { [ENCRYPTION]: value };
}

/**
 * Refuses keys of the client, which would not be used: in a read, as AWS does for objects that were not
 * encrypted with one.
 *
 * @throws S3Error `InvalidRequest`
 */
export function refuseClientKeys(headers: RequestHeaders): void {
  for (const name of headers.keys()) {
    if (!name.startsWith("x-amz-server-side-encryption-customer-")) continue;
    throw new S3Error(
      "InvalidRequest",
      "The encryption parameters are not applicable to this object.",
    );
  }
}
