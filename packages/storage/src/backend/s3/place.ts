import { usage } from "../../errors.ts";
import { requirePrintable } from "./printable.ts";

/** How the store is to encrypt at rest, on top of what it is given. */
export type Encryption =
  /** With keys of the store: SSE-S3, SSE-B2. */
  | { readonly type: "AES256" }
  /** With a key of its key management, by default the provider's own. */
  | { readonly type: "aws:kms"; readonly keyId?: string | undefined }
  /** With this key of 32 bytes, which travels with every call and is not kept there. Needs TLS. */
  | { readonly type: "SSE-C"; readonly key: Uint8Array };

/** Milliseconds. A call that exceeds one fails with `unavailable`, and may be tried again. */
export interface Timeouts {
  /**
   * For a connection to a server that has not answered yet, or not the last time. By default 10 s.
   * Where a proxy is set by the environment, `firstByte` alone counts.
   */
  readonly connect?: number | undefined;
  /**
   * From the beginning of a call, connecting included, to the answer's first byte. By default
   * 30 s. A `put` gets a second more for each 64 KiB, since nothing tells how an upload proceeds:
   * for the largest blob, of 16 MiB, that is four minutes and a quarter more.
   */
  readonly firstByte?: number | undefined;
  /** Between two pieces of an answer. By default 30 s. */
  readonly stall?: number | undefined;
}

/** Keys, with a session's token where they are temporary. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When a provider is asked again. */
  readonly expiration?: Date | undefined;
}

/** A folder in a bucket, and everything that is known of its provider beforehand. */
export interface Place {
  readonly provider: "s3" | "minio" | "b2";
  readonly bucket: string;
  /** What stands before every name: empty, or ends with a slash. */
  readonly folder: string;
  /** An origin; undefined where the SDK finds it out. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** Whether the bucket stands in the path rather than in the host's name. */
  readonly pathStyle: boolean;
  /** Undefined is the SDK's own chain: variables, profiles, the machine's role. */
  readonly credentials: Credentials | (() => Promise<Credentials>) | undefined;
  readonly encryption: Encryption | undefined;
  readonly timeouts: Readonly<Record<keyof Timeouts, number>>;
  /** Whether uploads carry `x-amz-checksum-sha256` from the first one on. */
  readonly checksums: boolean;
  /**
   * Whether the provider is known to keep no SHA-256 that it has not checked, so that those of its
   * blobs are believed without a trial.
   */
  readonly checksumsChecked: boolean;
  /** Whether the provider has conditional puts at all. */
  readonly conditionalPut: boolean;
  /** Whether the provider keeps versions in every bucket. */
  readonly versioned: boolean;
}

/** What every provider's options have. */
export interface PlaceOptions {
  readonly bucket: string;
  /** The folder for the blobs in the bucket, such as `backups/idk`. By default its top. */
  readonly prefix?: string | undefined;
  readonly encryption?: Encryption | undefined;
  readonly timeouts?: Timeouts | undefined;
}

const TIMEOUTS = { connect: 10_000, firstByte: 30_000, stall: 30_000 };

/**
 * Checks what all providers' options have in common.
 *
 * @throws StorageError `usage`
 */
export function commonPlace(
  { bucket, prefix = "", encryption, timeouts }: PlaceOptions,
  endpoint: string | undefined,
): Pick<Place, "bucket" | "folder" | "endpoint" | "encryption" | "timeouts"> {
  // An access point's name is an ARN. Anything with these characters would change the URL's path.
  if (bucket === "" || /[\s?#%]/u.test(bucket)) throw usage("the bucket's name is malformed");
  const origin = endpoint === undefined ? undefined : originOf(endpoint);
  const {
    connect = TIMEOUTS.connect,
    firstByte = TIMEOUTS.firstByte,
    stall = TIMEOUTS.stall,
  } = timeouts ?? {};
  for (const [name, value] of Object.entries({ connect, firstByte, stall })) {
    // Beyond 2^31 a timer fires at once.
    if (!(value > 0 && value < 2 ** 31)) throw usage(`timeouts.${name} must be milliseconds`);
  }
  return {
    bucket,
    folder: folderOf(prefix),
    endpoint: origin,
    encryption: checkedEncryption(encryption, origin),
    timeouts: { connect, firstByte, stall },
  };
}

/** A prefix with or without slashes around it. Servers refuse or rewrite paths with odd segments. */
function folderOf(prefix: string): string {
  const trimmed = prefix.replace(/^\//u, "").replace(/\/$/u, "");
  if (trimmed === "") return "";
  const segments = trimmed.split("/");
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw usage("the prefix must not have empty segments, . or ..");
  }
  // Together with a name: keys have at most 1024 bytes.
  if (Buffer.byteLength(trimmed) > 900) throw usage("the prefix is longer than 900 bytes");
  return `${trimmed}/`;
}

function originOf(endpoint: string): string {
  if (!URL.canParse(endpoint)) throw usage("the endpoint must be a URL, such as https://HOST:PORT");
  const { protocol, origin, username, password, pathname, search, hash } = new URL(endpoint);
  if (username !== "" || password !== "") {
    throw usage("the endpoint must not hold credentials; give them as options");
  }
  if (!/^https?:$/u.test(protocol) || `${pathname}${search}${hash}` !== "/") {
    throw usage("the endpoint must be https://HOST[:PORT] or http://HOST[:PORT]");
  }
  return origin;
}

/** What is to be asked for, which the caller cannot change any more. */
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
  // Servers refuse it too, but then the key has travelled in the clear.
  if (origin?.startsWith("http:")) {
    throw usage("SSE-C sends its key with every request, so it needs an https:// endpoint");
  }
  return { type: "SSE-C", key: Uint8Array.from(key) };
}
