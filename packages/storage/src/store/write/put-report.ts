import type { CallOptions } from "../options.ts";

/** What a put had to send, and what the store already had; see `PutOptions.onReport`. */
export interface PutReport {
  /** Bytes of content as stored: after compression. */
  readonly bytes: number;
  /** Leaves that the content was cut into; 0 if it is inline in the root. */
  readonly chunks: number;
  /** Leaves that were sent, and the bytes of content in them or in a root that was sent. */
  readonly newChunks: number;
  readonly newBytes: number;
  /**
   * Leaves that were not sent because the store has them, by a checksum that the server verified or
   * by a journal, and by a part of their bytes, and the bytes of content in them or in such a root.
   * `newBytes` and `skippedBytes` add up to `bytes`.
   */
  readonly skippedChunks: number;
  readonly skippedBytes: number;
  /**
   * Blobs sent (leaves, nodes and the root), and their bytes as stored: sealed and padded. Each blob
   * is one request, unless it had to be retried.
   */
  readonly sentBlobs: number;
  readonly sentBytes: number;
}

/** Counts the blobs of one put as they are sent or skipped. */
export interface PutCounters {
  leaf(sent: boolean, blobLength: number, contentLength: number): void;
  node(sent: boolean, blobLength: number): void;
  /** @param contentLength of inline content; 0 if there is a tree */
  root(sent: boolean, blobLength: number, contentLength: number): void;
  report(): PutReport;
}

export interface CountedOptions extends CallOptions {
  readonly counters?: PutCounters | undefined;
}

export function createPutCounters(): PutCounters {
  const counted = { newChunks: 0, newBytes: 0, skippedChunks: 0, skippedBytes: 0 };
  const requests = { sentBlobs: 0, sentBytes: 0 };
  const blob = (sent: boolean, length: number): void => {
    if (!sent) return;
    requests.sentBlobs += 1;
    requests.sentBytes += length;
  };
  const content = (sent: boolean, length: number): void => {
    counted[sent ? "newBytes" : "skippedBytes"] += length;
  };
  return {
    leaf(sent, blobLength, contentLength) {
      blob(sent, blobLength);
      content(sent, contentLength);
      counted[sent ? "newChunks" : "skippedChunks"] += 1;
    },
    node: blob,
    root(sent, blobLength, contentLength) {
      blob(sent, blobLength);
      content(sent, contentLength);
    },
    report: () => ({
      bytes: counted.newBytes + counted.skippedBytes,
      chunks: counted.newChunks + counted.skippedChunks,
      ...counted,
      ...requests,
    }),
  };
}
