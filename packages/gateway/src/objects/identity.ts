/** Digests of a whole object that a client asked to keep, in base64, by S3's names in lower case. */
export interface Checksums {
  readonly type: "FULL_OBJECT" | "COMPOSITE";
  /** By algorithm: `crc32`, `crc32c`, `crc64nvme`, `sha1`, `sha256`; composite ones end in `-N`. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * What an object is apart from its bytes: the columns of its row, sealed with a MAC in its identity
 * root too, so that the catalog can be rebuilt from the store alone.
 */
export interface ObjectIdentity {
  readonly bucket: string;
  /** UTF-8, 1 to 1,024 bytes, as the client sent it. */
  readonly key: Uint8Array;
  /** From the catalog; of two roots of one key the higher one counts. */
  readonly seq: number;
  /** Milliseconds since 1970: Last-Modified. */
  readonly time: number;
  /** Bytes of content. */
  readonly size: number;
  /** Without quotes: 32 hex digits, then `-N` if the object was uploaded in N parts. */
  readonly etag: string;
  readonly checksums?: Checksums | undefined;
  /** Headers to return, lower-case names: `content-type`, `cache-control`, `x-amz-meta-…`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Object tags. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}
