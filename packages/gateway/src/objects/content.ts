/**
 * Content of an object that is not inline in its identity root: a list of content roots, one after
 * the other. A body is cut into as many as suit the memory at hand, so a part of a multipart upload
 * may have several, too.
 */
export interface ContentRoot {
  /** 64 lowercase hex digits. */
  readonly address: string;
  /** Bytes of content, more than 0. */
  readonly size: number;
  /**
   * The addresses of the leaves below the root, 32 bytes each, one after the other; empty if the
   * content is inline in it. With them, garbage is deleted without an identity and without a request
   * to read.
   */
  readonly leaves: Uint8Array;
}

/** A part of an object that was uploaded in parts: its boundaries for `?partNumber`. */
export interface ObjectPart {
  /** 1 to 10,000, ascending. */
  readonly number: number;
  /** Bytes. */
  readonly size: number;
  /** MD5 of the part's bytes, 16 bytes. */
  readonly md5: Uint8Array;
  /** As sent by the client: the value of the part's checksum in base64. */
  readonly checksum?: string | undefined;
}

/** The content of an object with a manifest. */
export interface ManifestContent {
  readonly roots: readonly ContentRoot[];
  /** Empty for an object of a single PUT. */
  readonly parts: readonly ObjectPart[];
}
