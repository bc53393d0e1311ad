import type { Address } from "../../crypto/address.ts";
import type { Progress, ReadOptions } from "../options.ts";

/** Options of `verify`. */
export interface VerifyOptions extends ReadOptions {
  /** Bytes of the blob, as a listing reported them: a short one then takes less memory. */
  readonly size?: number | undefined;
  /** Opens the root and checks everything below it; requires an identity. */
  readonly deep?: boolean | undefined;
  /**
   * Relies on the SHA-256 that the server verified at upload, and downloads only blobs that have
   * none. Does not detect bit rot. Cannot be combined with `deep`.
   */
  readonly serverChecksums?: boolean | undefined;
  /**
   * Opens the root and checks that the store has every blob below it, with the size that the tree
   * requires; requires an identity. Downloads the root and the nodes, and makes a HEAD request for
   * each chunk. If the server verified the SHA-256 at upload, it has to report the right one. Does
   * not detect bit rot. Cannot be combined with `deep` or `serverChecksums`.
   */
  readonly complete?: boolean | undefined;
  /**
   * With `deep` or `complete`: chunks checked concurrently, 1 to 64; by default the store's. At most
   * four trees have their chunks checked at the same time; other calls wait.
   */
  readonly concurrency?: number | undefined;
  /**
   * With `deep` or `complete`: called after each chunk with the content checked so far, counted as
   * for a get; with `complete`, a chunk that occurs twice counts once.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What `verify` has checked. */
export interface VerifyReport {
  readonly address: Address;
  /** Undefined if the blob was not downloaded: name and size do not reveal its kind. */
  readonly kind: "root" | "child" | undefined;
  /** Blobs and bytes checked. */
  readonly blobs: number;
  readonly bytes: number;
  /**
   * True if the check relied on the SHA-256 that the server verified at upload; false if the bytes
   * and their envelope were downloaded and checked here. With `complete`, whether this holds for every
   * chunk; false if there are none.
   */
  readonly verifiedByServer: boolean;
  /**
   * With `complete`: how many distinct chunks the store has, and for how many of them the server
   * verified the SHA-256. Of the others, only the size was checked.
   */
  readonly completeness?:
    | { readonly chunks: number; readonly verifiedByServer: number }
    | undefined;
}
