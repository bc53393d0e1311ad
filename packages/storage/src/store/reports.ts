import type { Address } from "../content/address.ts";
import type { Metadata } from "../format/metadata.ts";
import type { CallOptions, Progress, ReadOptions } from "./options.ts";

export interface BlobStat {
  readonly address: Address;
  /** Bytes of content, decoded. */
  readonly size: number;
  /**
   * Bytes of content as it is stored, encoded as the metadata's `enc` says; absent where it is not
   * encoded.
   */
  readonly encodedSize?: number | undefined;
  readonly metadata: Metadata;
  /** 0 where the content stands in the root, otherwise the levels of the tree: 1 to 3. */
  readonly depth: number;
  /** Bytes per chunk; 0 where the content stands in the root. */
  readonly chunkSize: number;
  /** Leaves of the tree. */
  readonly chunks: number;
  readonly recipients: number;
  /** Zero bytes that hide the length, in the stream of chunks. */
  readonly padding: number;
  /** Bytes of root, nodes and leaves in the store. */
  readonly storedBytes: number;
  /** How the store encrypts the root at rest, in the provider's words; absent where it is silent. */
  readonly encryption?: string | undefined;
}

export interface DeleteTreeOptions extends ReadOptions {
  /** Go ahead although chunks may be shared. */
  readonly force?: boolean | undefined;
  /** Told after each blob that was removed, the root first, how many that makes. */
  readonly onProgress?: ((progress: DeleteReport) => void) | undefined;
}

export interface DeleteReport {
  /** Blobs that were asked to be removed, the root included. */
  readonly blobs: number;
}

export interface VerifyOptions extends ReadOptions {
  /** Open the root and check all that is below it; takes an identity. */
  readonly deep?: boolean | undefined;
  /**
   * Take the store's word where it attests the SHA-256 that a blob had at upload, and read only
   * what it does not vouch for. Finds no bit rot. Not together with `deep`.
   */
  readonly attested?: boolean | undefined;
  /** Chunks checked at once, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  /** With `deep`: told the content checked so far, as of a get, after each chunk of a tree. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface VerifyReport {
  readonly address: Address;
  /** Undefined where the blob was not read: its name and size do not tell. */
  readonly kind: "root" | "child" | undefined;
  /** Blobs and bytes checked. */
  readonly blobs: number;
  readonly bytes: number;
  /**
   * Whether the store's word was taken: it received bytes whose SHA-256 is the name. False
   * where the bytes were read and checked here, with their envelope.
   */
  readonly attested: boolean;
}

export interface ListOptions extends CallOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
}

export interface ListedAddress {
  readonly address: Address;
  /** Bytes stored. */
  readonly size: number;
  /** When, in milliseconds since 1970, by the store's word; absent where it does not say. */
  readonly storedAt?: number | undefined;
}

export interface ScanOptions extends ReadOptions {
  /** Leading hex digits of the addresses. */
  readonly prefix?: string | undefined;
  /** Blobs looked at together, 1 to 64, by default 16. */
  readonly concurrency?: number | undefined;
}

/** One blob of a scan. */
export type ScannedBlob = ListedAddress &
  (
    | {
        /** A root that one of the identities opens. */
        readonly kind: "opened";
        /** Without what the store says of its encryption, which would be a request more. */
        readonly stat: BlobStat;
      }
    | {
        /** A root for others. */
        readonly kind: "closed";
        readonly recipients: number;
      }
    | {
        /** A chunk or node, or at least nothing that can be a root. */
        readonly kind: "child";
      }
    | {
        readonly kind: "failed";
        /** As `get` throws it: `not-found` where it was removed since it was listed. */
        readonly error: unknown;
      }
  );

/** What a blob shows without a key. */
export interface BlobInspection {
  readonly address: Address;
  /** Whether it has recipients, or is a chunk or node of some tree, whose own header is the same. */
  readonly kind: "root" | "child";
  /** Of the format. */
  readonly version: number;
  /** Bytes of the blob: those in front of what is sealed, its tag of 16, and what is sealed. */
  readonly storedBytes: number;
  /** The format's mark, the version and the header. */
  readonly prefixBytes: number;
  /** Bytes sealed: content or references, metadata of a root, and what hides their length. */
  readonly sealedBytes: number;
  /** To the key it was sealed with: 32 bytes that tell nothing of it. */
  readonly commitment: Uint8Array;
  /** Of a root: the public half of a key made for it alone, 32 bytes. */
  readonly ephemeral?: Uint8Array | undefined;
  /** Of a root: how many keys open it, 1 to 1024. Whose they are does not show. */
  readonly recipients?: number | undefined;
  /**
   * Whether the store attests that it received bytes with this address; undefined where it keeps no
   * SHA-256, or that is not known of it yet.
   */
  readonly attested: boolean | undefined;
  /** When it was stored, in milliseconds since 1970, by the store's word. */
  readonly storedAt: number | undefined;
  /** How the store encrypts it at rest, in the provider's words. */
  readonly encryption: string | undefined;
}
