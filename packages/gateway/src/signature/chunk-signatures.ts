/**
 * The chain of signatures over the chunks of one body. It begins with the signature of the request.
 */
export interface ChunkSignatures {
  /**
   * Checks the signature of the next chunk, in constant time.
   *
   * @param sha256 of the chunk's data, 64 lowercase hex digits
   * @param signature as sent
   * @throws S3Error `SignatureDoesNotMatch`
   */
  checkChunk(sha256: string, signature: string): void;
  /**
   * Checks the signature of the trailer, which follows the last chunk.
   *
   * @param sha256 of the canonical trailer: a line `name:value\n` for each header
   * @throws S3Error `SignatureDoesNotMatch`
   */
  checkTrailer(sha256: string, signature: string): void;
}
