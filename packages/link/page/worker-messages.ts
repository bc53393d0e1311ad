/** What the page posts to its service worker, with a port. */
export type ToWorker =
  /** The page offers a download; everything else about it goes through the port. */
  | {
      readonly kind: "offer";
      readonly id: string;
      /** Any text. */
      readonly name: string | undefined;
      readonly size: number;
    }
  /**
   * Asks whether the worker still has the download, and keeps the worker running. The worker posts true
   * or false to the port.
   */
  | { readonly kind: "ping"; readonly id: string };

/**
 * What the worker posts to the port of a download: it is ready to answer the request for it; the browser
 * made the request; the browser has room for more bytes; it wants no more; it was given everything.
 */
export type FromWorker = "ready" | "started" | "pull" | "cancel" | "done";

/** What the page answers to each `pull`. `fail` may also come unasked. */
export type Answer = Uint8Array | "end" | "fail";

/** Where the service worker answers downloads, below its scope: this and their ID. */
export const SAVE_PATH = "save/";
