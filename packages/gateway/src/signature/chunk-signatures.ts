import {
  type Scope,
  equalInConstantTime,
  sha256Hex,
  sign,
  signatureDoesNotMatch,
  stringToSign,
} from "./v4.ts";

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

const EMPTY_SHA256 = sha256Hex("");

/**
 * @param key of the scope
 * @param amzDate of the request
 * @param seed the request's signature
 */
export function chunkSignatures(
  key: Uint8Array,
  amzDate: string,
  scope: Scope,
  seed: string,
): ChunkSignatures {
  let previous = seed;
  const check = (kind: string, lines: readonly string[], signature: string): void => {
    const text = stringToSign(kind, amzDate, scope, [previous, ...lines]);
    const expected = sign(key, text);
    if (!equalInConstantTime(expected, signature)) {
      throw signatureDoesNotMatch(scope.accessKey, { StringToSign: text });
    }
    previous = expected;
  };
  return {
    checkChunk(sha256, signature) {
      check("AWS4-HMAC-SHA256-PAYLOAD", [EMPTY_SHA256, sha256], signature);
    },
    checkTrailer(sha256, signature) {
      check("AWS4-HMAC-SHA256-TRAILER", [sha256], signature);
    },
  };
}
