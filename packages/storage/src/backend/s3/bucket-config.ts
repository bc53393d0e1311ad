import { usage } from "../../errors.ts";
import { checkedTimeouts, type Timeouts } from "../http/timeouts.ts";

/** Server-side encryption to request, in addition to the encryption of @idk/storage. */
export type Encryption =
  /** With keys of the provider: SSE-S3, SSE-B2. */
  | { readonly type: "AES256" }
  /** With a key of the provider's key management, by default its own. */
  | { readonly type: "aws:kms"; readonly keyId?: string | undefined }
  /** With this 32-byte key, which every request sends and the provider does not keep. Needs TLS. */
  | { readonly type: "SSE-C"; readonly key: Uint8Array };

/** An access key, with a session token if it is temporary. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When the function that provides them is called again. */
  readonly expiration?: Date | undefined;
}

/** A key prefix in a bucket, and everything known about its provider in advance. */
export interface BucketConfig {
  readonly provider: "s3" | "minio" | "b2";
  readonly bucket: string;
  /** Precedes every name in its key: empty, or ends with a slash. */
  readonly keyPrefix: string;
  /** An origin; undefined if the SDK determines it. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** Whether URLs have the bucket in the path rather than in the host name. */
  readonly pathStyle: boolean;
  /** Undefined for the SDK's default chain: environment variables, profiles, the machine's role. */
  readonly credentials: Credentials | (() => Promise<Credentials>) | undefined;
  readonly encryption: Encryption | undefined;
  readonly timeouts: Readonly<Record<keyof Timeouts, number>>;
  /** Whether uploads send `x-amz-checksum-sha256` from the first one on. */
  readonly sendChecksums: boolean;
  /** Whether the provider is known to verify every SHA-256 it keeps, so that no test is needed. */
  readonly trustChecksums: boolean;
  /** Whether the provider supports conditional puts. */
  readonly conditionalPut: boolean;
  /** Whether the provider keeps versions in every bucket. */
  readonly versioned: boolean;
}

/** The options that all providers have in common. */
export interface BucketOptions {
  readonly bucket: string;
  /** The key prefix of the blobs in the bucket, such as `backups/idk`. By default empty. */
  readonly prefix?: string | undefined;
  readonly encryption?: Encryption | undefined;
  readonly timeouts?: Timeouts | undefined;
}

/**
 * Checks the options that all providers have in common.
 *
 * @throws StorageError `usage`
 */
export function commonConfig(
  { bucket, prefix = "", encryption, timeouts }: BucketOptions,
  endpoint: string | undefined,
): Pick<BucketConfig, "bucket" | "keyPrefix" | "endpoint" | "encryption" | "timeouts"> {
  // An access point's name is an ARN. These characters would change the path of the URL.
  if (bucket === "" || /[\s?#%]/u.test(bucket)) throw usage("the bucket's name is malformed");
  const origin = endpoint === undefined ? undefined : originOf(endpoint);
  return {
    bucket,
    keyPrefix: keyPrefixOf(prefix),
    endpoint: origin,
    encryption: checkedEncryption(encryption, origin),
    timeouts: checkedTimeouts(timeouts),
  };
}

/** One slash at either end is optional. Servers reject or rewrite paths with unusual segments. */
function keyPrefixOf(prefix: string): string {
  const trimmed = prefix.replace(/^\//u, "").replace(/\/$/u, "");
  if (trimmed === "") return "";
  const segments = trimmed.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw usage("the prefix must not have empty segments, . or ..");
  }
  // Leaves room for a name: keys have at most 1024 bytes.
  if (Buffer.byteLength(trimmed) > 900) throw usage("the prefix is longer than 900 bytes");
  return `${trimmed}/`;
}

function originOf(endpoint: string): string {
  if (!URL.canParse(endpoint)) throw usage("the endpoint must be a URL, such as https://HOST:PORT");
  const { protocol, origin, username, password, pathname, search, hash } = new URL(endpoint);
  if (username !== "" || password !== "") {
    throw usage("the endpoint must not contain credentials; pass them as options");
  }
  if (!/^https?:$/u.test(protocol) || `${pathname}${search}${hash}` !== "/") {
    throw usage("the endpoint must be https://HOST[:PORT] or http://HOST[:PORT]");
  }
  return origin;
}

/** Copies an SSE-C key, so that the caller cannot change it later. */
function checkedEncryption(
  encryption: Encryption | undefined,
  origin: string | undefined,
): Encryption | undefined {
  if (encryption?.type === "aws:kms") requirePrintable("the ID of the KMS key", encryption.keyId);
  if (encryption?.type !== "SSE-C") return encryption;
  const { key } = encryption;
  if (!(key instanceof Uint8Array) || key.length !== 32) {
    throw usage("an SSE-C key must be a Uint8Array of 32 bytes");
  }
  // Servers reject it too, but by then the key has been sent in the clear.
  if (origin?.startsWith("http:")) {
    throw usage("SSE-C sends its key with every request, so it needs an https:// endpoint");
  }
  return { type: "SSE-C", key: Uint8Array.from(key) };
}

/**
 * Checks a value that becomes part of a header. Runtimes reject invalid values too, but quote them
 * in their errors, and the value may be a secret.
 *
 * @param what the value's name, for the message
 * @throws StorageError `usage`
 */
export function requirePrintable(what: string, value: string | undefined): void {
  if (value === undefined || /^[\u0020-\u007E]*$/u.test(value)) return;
  throw usage(`${what} has characters other than printable ASCII, such as a line break; check it`);
}

/** @throws StorageError `usage` */
export function requirePrintableKeys(keys: {
  readonly accessKeyId: string;
  readonly sessionToken?: string | undefined;
}): void {
  requirePrintable("the access key", keys.accessKeyId);
  requirePrintable("the session token", keys.sessionToken);
}
