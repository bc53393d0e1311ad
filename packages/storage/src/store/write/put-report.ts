/** What a put found in the store already, and what it had to send; see `PutOptions.onReport`. */
export interface PutReport {
  /** Bytes of content as they are stored: encoded, where the content is. */
  readonly bytes: number;
  /** Leaves that the content was cut into; 0 where it stands in the root. */
  readonly chunks: number;
  /** Of these, the ones that were sent, and the bytes of content in them or in a root that was. */
  readonly newChunks: number;
  readonly newBytes: number;
  /**
   * The ones that were not sent because the store has them, by its attestation or by a journal, and
   * the bytes of content in them or in such a root. New and skipped bytes together are all bytes of content.
   */
  readonly skippedChunks: number;
  readonly skippedBytes: number;
  /**
   * Everything that was sent, leaves, nodes and the root, and its bytes as they are stored: sealed
   * and padded. Each blob is one request, unless it had to be made again.
   */
  readonly sentBlobs: number;
  readonly sentBytes: number;
}

/** Counts the blobs of one put as they are stored, or found there. */
export interface PutTally {
  leaf(sent: boolean, blobLength: number, contentLength: number): void;
  node(sent: boolean, blobLength: number): void;
  /** @param contentLength of content that stands in the root */
  root(sent: boolean, blobLength: number, contentLength: number): void;
  report(): PutReport;
}

export function createPutTally(): PutTally {
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
